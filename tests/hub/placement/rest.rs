//! A settled hub gets no write.

use berth_testkit::cluster::{AsAdmin, fresh};
use berth_testkit::{eventually, when};
use serde_json::json;

use crate::placement::hub::Hub;
use crate::reconcilers::Reconcilers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_placement_is_not_written_also_by_a_successor() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    let all: Vec<_> = clusters.iter().collect();
    let mut placing = hub.start().await;
    hub.place(json!({})).await;
    hub.selects(&all).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    // Of p: the object, its clusters, the status.
    settled(&hub, &placing, 3).await;
    // What placements do not read.
    for name in &clusters {
        let strange = json!({"metadata": {"labels": {"strange": "x"}}});
        hub.change(name, strange).await;
    }
    settled(&hub, &placing, 3 + 2).await;
    placing.kill().await;
    let successor = hub.start().await;
    settled(&hub, &successor, 0).await;
}

/// Has the controller set up a later placement without clusters, which takes two writes. Then it has seen all earlier changes, and
/// has made as many other writes.
async fn settled(hub: &Hub, placing: &Reconcilers, others: u64) {
    later(hub).await;
    let writes = eventually("the count of the last write", async || {
        when(placing.writes(), |it| *it >= others + 2)
    })
    .await;
    assert_eq!(writes, others + 2);
}

/// Waits until the controller has set up a later placement without clusters.
async fn later(hub: &Hub) {
    let name = fresh("later");
    hub.place_as(&name, json!({"numberOfClusters": 0})).await;
    hub.settled(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_change_is_repaired_and_a_pause_is_respected() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let all: Vec<_> = clusters.iter().collect();
    let _placing = hub.start().await;
    hub.place(json!({})).await;
    hub.selects(&all).await;
    let decision = format!("{}/p-decision-1", hub.decisions());
    let emptied = json!({"status": {"decisions": []}});
    hub.patch(&format!("{decision}/status"), emptied.clone())
        .await;
    hub.selects(&all).await;
    hub.delete(&decision).await;
    hub.selects(&all).await;
    let pause = |value: Option<&str>| json!({"metadata": {"annotations": {"cluster.open-cluster-management.io/experimental-scheduling-disable": value}}});
    hub.patch(&hub.placement("p"), pause(Some("true"))).await;
    later(&hub).await;
    hub.patch(&format!("{decision}/status"), emptied).await;
    later(&hub).await;
    hub.selects(&[]).await;
    hub.patch(&hub.placement("p"), pause(None)).await;
    hub.selects(&all).await;
}
