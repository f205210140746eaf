//! Rollouts that a user pauses.

use serde_json::json;

use berth_testkit::cluster::AsAdmin;

use super::hub::Hub;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_rollout_goes_on_when_it_is_resumed() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    hub.replicate("a", json!({"type": "All"})).await;
    hub.makes("a", 1, &clusters).await;
    let pause = |value| json!({"metadata": {"annotations": {"berth.open-cluster-management.io/rollout-paused": value}}});
    hub.patch(&hub.set("a"), pause(json!("the disks of rack 7")))
        .await;
    hub.template("a", 2).await;
    let expected = "False Paused";
    hub.condition_with("a", "PlacementRolledOut", expected, "the disks of rack 7")
        .await;
    // The status of a cluster is reported, and the removal of a cluster is carried out: the controller is at work.
    hub.report(&clusters[0], "a", "A+ V+").await;
    hub.select("p", &clusters[..2]).await;
    hub.makes("a", 1, &clusters[..2]).await;
    assert_eq!(hub.made("a", 2).await, [""; 0]);
    hub.patch(&hub.set("a"), pause(json!(null))).await;
    hub.makes("a", 2, &clusters[..2]).await;
    let (type_, expected) = ("PlacementRolledOut", "False Progressing");
    let said = hub.condition("a", type_, expected).await;
    assert!(!said.contains("paused"), "{said}");
}
