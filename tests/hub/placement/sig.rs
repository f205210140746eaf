//! PlacementDecisions of SIG-Multicluster: with the gate `SIGPlacementDecision`, beside OCM's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_manifests::files;
use berth_testkit::cluster::AsAdmin;
use berth_testkit::{eventually, when};
use futures::TryStreamExt;
use kube::api::{ApiResource, DynamicObject, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::placement::hub::Hub;

const KEY: &str = "multicluster.x-k8s.io/decision-key";
const INDEX: &str = "multicluster.x-k8s.io/decision-index";

impl Hub {
    /// A hub with the role of the gate, and with the CRD.
    pub async fn with_slices() -> Self {
        let hub = Self::new().await;
        hub.remove_other_placements().await;
        hub.apply(&[files::SIG_PLACEMENT_DECISIONS_ROLE.path]).await;
        hub.serve_slices().await;
        hub
    }

    /// Removes the placements of earlier tests on this hub: the controller would write slices for them, too.
    async fn remove_other_placements(&self) {
        const PLACEMENTS: &str = "/apis/cluster.open-cluster-management.io/v1beta1/placements";
        let list = self.admin.get(PLACEMENTS).await.unwrap();
        for placement in list.ok()["items"].as_array().unwrap() {
            let [namespace, name] =
                ["namespace", "name"].map(|it| placement["metadata"][it].as_str().unwrap());
            let path = PLACEMENTS.replace(
                "placements",
                &format!("namespaces/{namespace}/placements/{name}"),
            );
            self.admin.delete(&path).await.unwrap().ok();
        }
    }

    async fn apply(&self, manifests: &[&'static str]) {
        self.cluster.apply_manifests(manifests).await;
    }

    async fn serve_slices(&self) {
        self.apply(&[files::CRD_INVENTORY_PLACEMENT_DECISIONS.path])
            .await;
    }

    /// The path of the slices in the namespace.
    fn slices(&self) -> String {
        let namespace = &self.namespace;
        format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{namespace}/placementdecisions")
    }

    fn slice(&self, name: &str) -> String {
        format!("{}/{name}", self.slices())
    }

    /// The slices by name.
    async fn stored_slices(&self) -> BTreeMap<String, Value> {
        let list = self.admin.get(&self.slices()).await.unwrap();
        let items = list.ok()["items"].as_array().unwrap().iter();
        let named = items.map(|it| {
            (
                it["metadata"]["name"].as_str().unwrap().to_owned(),
                it.clone(),
            )
        });
        named.collect()
    }

    /// Waits until the slices list these clusters, each once, and are numbered from 0. Returns them.
    pub async fn publishes(&self, clusters: &[&String]) -> BTreeMap<String, Value> {
        let mut expected: Vec<_> = clusters.iter().map(|it| (*it).clone()).collect();
        expected.sort_unstable();
        eventually(&format!("slices for {expected:?}"), async || {
            when(self.stored_slices().await, |slices| {
                let mut listed: Vec<_> = slices.values().flat_map(listed_in).collect();
                listed.sort_unstable();
                let indexes: BTreeSet<_> = slices.values().filter_map(index_of).collect();
                listed == expected && indexes.into_iter().eq(0..slices.len())
            })
        })
        .await
    }
}

fn index_of(slice: &Value) -> Option<usize> {
    slice["metadata"]["labels"][INDEX].as_str()?.parse().ok()
}

/// The clusters of a slice.
fn listed_in(slice: &Value) -> Vec<String> {
    let decisions = slice["decisions"].as_array().into_iter().flatten();
    let names = decisions.map(|it| it["clusterProfileRef"]["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// Follows the slices of a placement by its label, and notes the clusters that are missing after they were listed once.
struct Consumer(JoinHandle<Seen>);

#[derive(Debug, Default)]
struct Seen {
    slices: BTreeMap<String, Vec<String>>,
    listed: BTreeSet<String>,
    missed: Vec<String>,
    largest: usize,
}

impl Consumer {
    /// Begins with an empty namespace. `staying`: the clusters that stay selected once they are. It ends when a slice lists `last`.
    async fn start(hub: &Hub, staying: &[String], last: String) -> Self {
        let kind = GroupVersionKind::gvk("multicluster.x-k8s.io", "v1alpha1", "PlacementDecision");
        let resource = ApiResource::from_gvk(&kind);
        let client = hub.admin.client.clone();
        let api = kube::Api::<DynamicObject>::namespaced_with(client, &hub.namespace, &resource);
        let version = api
            .list(&Default::default())
            .await
            .unwrap()
            .metadata
            .resource_version
            .unwrap();
        let staying: BTreeSet<_> = staying.iter().cloned().collect();
        Self(tokio::spawn(async move {
            let of_placement = WatchParams::default()
                .timeout(250)
                .labels(&format!("{KEY}=p"));
            let events = api.watch(&of_placement, &version).await.unwrap();
            let mut events = std::pin::pin!(events);
            let mut seen = Seen::default();
            while let Some(event) = events.try_next().await.unwrap() {
                seen.note(event, &staying);
                if seen.slices.values().flatten().any(|it| *it == last) {
                    return seen;
                }
            }
            panic!("the watch ended before {last} was listed: {seen:?}");
        }))
    }
}

impl Seen {
    fn note(&mut self, event: WatchEvent<DynamicObject>, staying: &BTreeSet<String>) {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let clusters = listed_in(&object.data);
                self.largest = self.largest.max(clusters.len());
                self.slices.insert(object.metadata.name.unwrap(), clusters);
            }
            WatchEvent::Deleted(object) => {
                self.slices.remove(&object.metadata.name.unwrap());
            }
            other => panic!("{other:?}"),
        }
        let now: BTreeSet<_> = self.slices.values().flatten().cloned().collect();
        self.listed.extend(staying.intersection(&now).cloned());
        self.missed.extend(self.listed.difference(&now).cloned());
    }
}

/// Waits until the controller has set up a later placement without clusters. Then it has seen all earlier changes.
async fn later(hub: &Hub, name: &str) {
    hub.place_as(name, json!({"numberOfClusters": 0})).await;
    hub.settled(name).await;
    let slice = format!("{name}-decision-1");
    eventually("its slice", async || {
        when(hub.stored_slices().await, |it| it.contains_key(&slice))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slice_has_the_form_of_ocms_controller_and_goes_with_its_placement() {
    let hub = Hub::with_slices().await;
    let clusters = hub.clusters(2).await;
    let _placing = hub.start_with_sig_decisions().await;
    hub.place(json!({})).await;
    let slices = hub.publishes(&clusters.iter().collect::<Vec<_>>()).await;
    let slice = &slices["p-decision-1"];
    assert_eq!(
        slice["metadata"]["labels"],
        json!({
            "x-k8s.io/cluster-manager": "open-cluster-management",
            "multicluster.x-k8s.io/placement-key": "p",
            KEY: "p",
            INDEX: "0",
        })
    );
    let refs = clusters.iter();
    let refs =
        refs.map(|name| json!({"clusterProfileRef": {"name": name, "namespace": hub.namespace}}));
    assert_eq!(slice["decisions"], refs.collect::<Value>());
    assert_eq!(slice["schedulerName"], "open-cluster-management");
    let owner = &slice["metadata"]["ownerReferences"][0];
    assert_eq!(owner["kind"], "Placement");
    assert_eq!(owner["name"], "p");
    assert_eq!(owner["controller"], true);
    hub.delete(&hub.placement("p")).await;
    if hub.cluster.has_background_work() {
        eventually("the slices gone", async || {
            when(hub.stored_slices().await, BTreeMap::is_empty)
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_clusters_come_and_go_none_is_missing_though_the_controller_is_killed() {
    let hub = Hub::with_slices().await;
    let clusters = hub.clusters(205).await;
    let (first, rest) = clusters.split_at(60);
    let (going, last) = rest.split_at(140);
    // It is selected at the very end.
    let end = &last[0];
    hub.taint(end, true).await;
    let consumer = Consumer::start(&hub, first, end.clone()).await;
    let mut placing = hub.start_with_sig_decisions().await;
    hub.place(json!({})).await;
    let others: Vec<_> = clusters.iter().filter(|it| *it != end).collect();
    let slices = hub.publishes(&others).await;
    let sizes: Vec<_> = slices.values().map(|it| listed_in(it).len()).collect();
    assert_eq!(sizes, [100, 100, 4]);
    // The number of slices goes down and up again.
    for (round, are_tainted) in [(0, true), (1, false), (2, true)] {
        for (index, name) in going.iter().enumerate() {
            hub.taint(name, are_tainted).await;
            if index % 60 == 59 {
                // At any point.
                tokio::time::sleep(Duration::from_millis(5 * round)).await;
                placing.kill().await;
                placing = hub.start_with_sig_decisions().await;
            }
        }
    }
    let left: Vec<_> = first.iter().chain(&last[1..]).collect();
    let slices = hub.publishes(&left).await;
    assert_eq!(slices.len(), 1);
    hub.taint(end, false).await;
    let seen = consumer.0.await.unwrap();
    assert_eq!(seen.missed, [""; 0]);
    assert_eq!(seen.listed.len(), first.len());
    assert_eq!(seen.largest, 100);
    // OCM's PlacementDecisions list the same.
    let all: Vec<_> = left.into_iter().chain([end]).collect();
    hub.publishes(&all).await;
    hub.selects(&all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_kind_all_else_works_until_it_is_there() {
    let hub = Hub::new().await;
    hub.apply(&[files::SIG_PLACEMENT_DECISIONS_ROLE.path]).await;
    let clusters = hub.clusters(1).await;
    let _placing = hub.start_with_sig_decisions().await;
    hub.place(json!({})).await;
    hub.selects(&[&clusters[0]]).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    hub.serve_slices().await;
    hub.publishes(&[&clusters[0]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_change_is_repaired_and_their_own_objects_are_left_alone() {
    let hub = Hub::with_slices().await;
    let clusters = hub.clusters(2).await;
    let all: Vec<_> = clusters.iter().collect();
    // Another scheduler, with the same placement key and a name of ours.
    let foreign = json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "PlacementDecision",
        "metadata": {"name": "p-decision-1", "labels": {"multicluster.x-k8s.io/placement-key": "p"}},
        "decisions": [],
        "schedulerName": "other",
    });
    let answer = hub.admin.post(&hub.slices(), &foreign).await.unwrap();
    assert_eq!(answer.code, 201, "{answer:?}");
    let _placing = hub.start_with_sig_decisions().await;
    hub.place(json!({})).await;
    let is_ours = |slices: &BTreeMap<String, Value>| {
        let slice = slices.get("p-decision-2");
        slice.is_some_and(|it| listed_in(it) == clusters && index_of(it) == Some(0))
    };
    let listed = async || {
        let what = "a slice beside that of another scheduler";
        eventually(what, async || when(hub.stored_slices().await, is_ours)).await
    };
    let slices = listed().await;
    let theirs = slices["p-decision-1"].clone();
    assert_eq!(theirs["schedulerName"], "other");
    let ours = hub.slice("p-decision-2");
    hub.patch(&ours, json!({"decisions": []})).await;
    listed().await;
    hub.patch(
        &ours,
        json!({"metadata": {"labels": {KEY: null, INDEX: "7"}}}),
    )
    .await;
    listed().await;
    hub.delete(&ours).await;
    let slices = listed().await;
    assert_eq!(slices["p-decision-1"], theirs);
    hub.selects(&all).await;
    // A paused placement is left alone.
    let pause = |value: Option<&str>| json!({"metadata": {"annotations": {"cluster.open-cluster-management.io/experimental-scheduling-disable": value}}});
    hub.patch(&hub.placement("p"), pause(Some("true"))).await;
    later(&hub, "first").await;
    hub.patch(&ours, json!({"decisions": []})).await;
    later(&hub, "second").await;
    assert!(listed_in(&hub.stored_slices().await["p-decision-2"]).is_empty());
    hub.patch(&hub.placement("p"), pause(None)).await;
    listed().await;
    // A fault keeps the slices, as it keeps OCM's decisions.
    let broken = json!({"spec": {"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["x("]}}}]}});
    hub.patch(&hub.placement("p"), broken).await;
    hub.condition("PlacementMisconfigured", "Misconfigured")
        .await;
    listed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_placement_is_not_written_also_by_a_successor() {
    let hub = Hub::with_slices().await;
    let clusters = hub.clusters(3).await;
    let mut placing = hub.start_with_sig_decisions().await;
    hub.place(json!({})).await;
    hub.publishes(&clusters.iter().collect::<Vec<_>>()).await;
    hub.counts(clusters.len()).await;
    placing.kill().await;
    let before = hub.stored_slices().await;
    let successor = hub.start_with_sig_decisions().await;
    // Two writes, and the slice.
    later(&hub, "later").await;
    let writes = eventually("the count of the last write", async || {
        when(successor.writes(), |it| *it >= 3)
    })
    .await;
    assert_eq!(writes, 3);
    let after = hub.stored_slices().await;
    assert_eq!(after["p-decision-1"], before["p-decision-1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_gate_there_are_no_slices() {
    let hub = Hub::with_slices().await;
    let clusters = hub.clusters(1).await;
    let placing = hub.start().await;
    hub.place(json!({})).await;
    hub.selects(&[&clusters[0]]).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    // The object, its clusters, the status.
    let writes = eventually("the count of the last write", async || {
        when(placing.writes(), |it| *it >= 3)
    })
    .await;
    assert_eq!(writes, 3);
    assert!(hub.stored_slices().await.is_empty());
}
