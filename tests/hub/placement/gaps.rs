//! A watcher of the decisions never misses a cluster that stays selected.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use berth_testkit::{eventually, when};
use futures::TryStreamExt;
use kube::api::{ApiResource, DynamicObject, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::placement::hub::{Hub, clusters_of};

/// Follows the decisions of a namespace, and notes the clusters that are missing after they were listed once: for those who read the
/// lists, and for those who read the groups, too.
pub struct Watcher {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
pub struct Seen {
    objects: BTreeMap<String, (String, String, Vec<String>)>,
    /// Those of the watched clusters that were listed.
    listed: BTreeSet<String>,
    pub missed: Vec<String>,
    /// Those of the watched clusters that were in a group.
    grouped: BTreeSet<String>,
    pub missed_in_groups: Vec<String>,
    largest: usize,
    pub events: usize,
}

impl Watcher {
    /// Begins with an empty namespace. `staying`: the clusters that stay selected once they are.
    pub async fn start(hub: &Hub, staying: &[String]) -> Self {
        let kind = GroupVersionKind::gvk(
            "cluster.open-cluster-management.io",
            "v1beta1",
            "PlacementDecision",
        );
        let resource = ApiResource::from_gvk(&kind);
        let client = hub.admin.client.clone();
        let api = kube::Api::<DynamicObject>::namespaced_with(client, &hub.namespace, &resource);
        let version = api
            .list(&Default::default())
            .await
            .unwrap()
            .metadata
            .resource_version;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (noted, staying): (_, BTreeSet<_>) = (seen.clone(), staying.iter().cloned().collect());
        let task = tokio::spawn(async move {
            let version = version.unwrap();
            let events = api
                .watch(&WatchParams::default().timeout(250), &version)
                .await
                .unwrap();
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.try_next().await.unwrap() {
                noted.lock().unwrap().note(event, &staying);
            }
        });
        Self { seen, task }
    }

    /// Waits until the watcher sees what the hub has, and returns what it saw.
    pub async fn finish(self, hub: &Hub) -> Seen {
        let stored = hub.listed().await;
        eventually("the watcher's view of the hub", async || {
            let objects = self.seen.lock().unwrap().objects.clone();
            when(objects, |it| *it == stored)
        })
        .await;
        self.task.abort();
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl Seen {
    fn note(&mut self, event: WatchEvent<DynamicObject>, staying: &BTreeSet<String>) {
        self.events += 1;
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let name = object.metadata.name.clone().unwrap();
                let clusters = clusters_of(&json!({"status": object.data["status"]}));
                self.largest = self.largest.max(clusters.len());
                let labels = object.metadata.labels.unwrap_or_default();
                let label = |key: &str| {
                    let key = format!("cluster.open-cluster-management.io/decision-group-{key}");
                    labels[&key].clone()
                };
                self.objects
                    .insert(name, (label("index"), label("name"), clusters));
            }
            WatchEvent::Deleted(object) => {
                self.objects.remove(&object.metadata.name.unwrap());
            }
            other => panic!("{other:?}"),
        }
        let now: BTreeSet<_> = self.objects.values().flat_map(|it| it.2.clone()).collect();
        self.listed.extend(staying.intersection(&now).cloned());
        self.missed.extend(self.listed.difference(&now).cloned());
        let now = self.in_groups();
        self.grouped.extend(staying.intersection(&now).cloned());
        self.missed_in_groups
            .extend(self.grouped.difference(&now).cloned());
    }

    /// What OCM's consumers see: as many indexes from 0 on as there are different ones. Of two names for an index they see either.
    fn in_groups(&self) -> BTreeSet<String> {
        let mut groups: BTreeMap<usize, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
        for (index, name, clusters) in self.objects.values() {
            let group = groups.entry(index.parse().unwrap()).or_default();
            let group = group.entry(name).or_default();
            group.extend(clusters.iter().cloned());
        }
        let walked = (0..groups.len()).filter_map(|index| groups.get(&index));
        let sure = walked.map(|names| {
            let mut names = names.values().cloned();
            let first = names.next().unwrap();
            names.fold(first, |both, name| &both & &name)
        });
        sure.flatten().collect()
    }
}

/// Regroups a placement again and again: labels move every cluster through all groups.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_clusters_change_groups_none_is_missing_though_the_controller_is_killed() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(12).await;
    let (going, staying) = clusters.split_at(3);
    let watcher = Watcher::start(&hub, staying).await;
    let mut placing = hub.start().await;
    let selector = |value: &str| json!({"labelSelector": {"matchLabels": {"part": value}}});
    let group = |value: &str| json!({"groupName": format!("part-{value}"), "groupClusterSelector": selector(value)});
    let groups = ["a", "b"].map(group);
    hub.place(json!({"decisionStrategy": {"groupStrategy": {
        "clustersPerDecisionGroup": 5, "decisionGroups": groups,
    }}}))
    .await;
    hub.selects(&clusters.iter().collect::<Vec<_>>()).await;
    for round in 0..9_usize {
        for (index, name) in clusters.iter().enumerate() {
            let part = ["a", "b", "c"][(index + round) % 3];
            hub.change(name, json!({"metadata": {"labels": {"part": part}}}))
                .await;
        }
        for (index, name) in going.iter().enumerate() {
            hub.taint(name, (index + round) % 2 == 0).await;
        }
        // At any point.
        tokio::time::sleep(Duration::from_millis(7 * round as u64 % 31)).await;
        placing.kill().await;
        placing = hub.start().await;
    }
    for name in going {
        hub.taint(name, true).await;
    }
    hub.selects(&staying.iter().collect::<Vec<_>>()).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    let seen = watcher.finish(&hub).await;
    assert_eq!(seen.missed, [""; 0], "after {} events", seen.events);
    assert_eq!(
        seen.missed_in_groups, [""; 0],
        "after {} events",
        seen.events
    );
    assert_eq!(seen.listed.len(), staying.len());
    for (index, name, clusters) in hub.listed().await.into_values() {
        assert!(clusters.is_sorted(), "{clusters:?}");
        let parts = clusters.iter().map(|it| clusters_part(&hub, it));
        for part in futures::future::join_all(parts).await {
            let expected = if part == "c" {
                String::new()
            } else {
                format!("part-{part}")
            };
            assert_eq!(name, expected, "the group {index}");
        }
    }
}

async fn clusters_part(hub: &Hub, name: &str) -> String {
    let path = format!("/apis/cluster.open-cluster-management.io/v1/managedclusters/{name}");
    let cluster = hub.admin.get(&path).await.unwrap();
    cluster.ok()["metadata"]["labels"]["part"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_a_hundred_clusters_take_several_decisions() {
    let hub = Hub::new().await;
    let mut clusters = hub.clusters(105).await;
    let watcher = Watcher::start(&hub, &clusters[..100]).await;
    let placing = hub.start().await;
    hub.place(json!({})).await;
    hub.selects(&clusters.iter().collect::<Vec<_>>()).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    let sizes: Vec<_> = hub
        .listed()
        .await
        .into_values()
        .map(|it| it.2.len())
        .collect();
    assert_eq!(sizes, [100, 5]);
    let before = (hub.listed().await, placing.writes());
    // The first one by name comes last: the others stay where they are.
    let first = hub.cluster(&hub.set, json!({})).await;
    clusters.push(first.clone());
    hub.selects(&clusters.iter().collect::<Vec<_>>()).await;
    let listed = hub.listed().await;
    assert_eq!(listed["p-decision-1"], before.0["p-decision-1"]);
    let gone = clusters.split_off(100);
    for name in &gone {
        hub.remove(name).await;
    }
    hub.selects(&clusters.iter().collect::<Vec<_>>()).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    let seen = watcher.finish(&hub).await;
    assert_eq!(seen.missed, [""; 0]);
    assert_eq!(seen.missed_in_groups, [""; 0]);
    assert_eq!(seen.largest, 100);
}
