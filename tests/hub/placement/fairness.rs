//! Many placements of one namespace do not delay those of another.

use futures::future::join_all;
use serde_json::{Value, json};

use berth_testkit::cluster::fresh;
use berth_testkit::{eventually, when};

use crate::placement::hub::{Hub, clusters_of};

/// Placements of the busy namespace.
const MANY: usize = 150;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_with_many_changing_placements_does_not_delay_another() {
    let mut hub = Hub::new().await;
    let (busy, busy_set) = (hub.namespace.clone(), hub.set.clone());
    let theirs = hub.cluster(&busy_set, json!({})).await;
    let _placing = hub.start().await;
    let creations = (0..MANY).map(|number| {
        let hub = &hub;
        async move { hub.place_as(&format!("p{number}"), json!({})).await }
    });
    join_all(creations).await;
    listing(&hub, &theirs, MANY).await;

    hub.another_namespace(fresh("quiet")).await;
    hub.set = fresh("set");
    hub.set(&hub.set).await;
    hub.bind(&hub.set).await;
    let ours = hub.cluster(&hub.set, json!({})).await;
    hub.place(json!({})).await;
    hub.selects(&[&ours]).await;

    hub.taint(&theirs, true).await;
    hub.taint(&ours, true).await;
    hub.selects(&[]).await;
    let own = versions(&hub).await;
    hub.namespace = busy;
    listing(&hub, &theirs, 0).await;
    let all = versions(&hub).await;
    let later = all.iter().filter(|it| **it > own[0]).count();
    assert!(
        later > MANY / 2,
        "{later} of {MANY} placements were written after the one of another namespace"
    );
}

/// Waits until as many PlacementDecisions of the namespace list the cluster.
async fn listing(hub: &Hub, cluster: &str, count: usize) {
    eventually(&format!("{count} decisions for {cluster}"), async || {
        let items = decisions(hub).await;
        let lists = |it: &&Value| clusters_of(it).iter().any(|it| it == cluster);
        when(items.iter().filter(lists).count(), |it| *it == count)
    })
    .await;
}

async fn decisions(hub: &Hub) -> Vec<Value> {
    let list = hub.admin.get(&hub.decisions()).await.unwrap();
    list.ok()["items"].as_array().unwrap().clone()
}

/// The resourceVersions of the PlacementDecisions of the namespace.
async fn versions(hub: &Hub) -> Vec<u64> {
    let version = |it: &Value| it["metadata"]["resourceVersion"].as_str()?.parse().ok();
    decisions(hub).await.iter().filter_map(version).collect()
}
