//! Rollouts, with agents that the test plays.

use berth_testkit::cluster::AsAdmin;
use berth_testkit::process::once;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use super::hub::{Hub, template};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_advances_as_clusters_succeed() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(6).await;
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": 2}});
    hub.replicate("a", strategy).await;
    for step in [0..2, 2..4, 4..6] {
        hub.makes("a", 1, &clusters[..step.end]).await;
        for cluster in &clusters[step] {
            // The last column: an agent without the condition Progressing.
            hub.report(cluster, "a", "A+ V+").await;
        }
    }
    hub.condition("a", "PlacementRolledOut", "True Complete")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_stop_a_rollout() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    let strategy =
        json!({"type": "Progressive", "progressive": {"maxConcurrency": 2, "maxFailures": 1}});
    hub.replicate("a", strategy).await;
    hub.makes("a", 1, &clusters[..2]).await;
    for cluster in &clusters[..2] {
        hub.report(cluster, "a", "A+ V+ P+ D+").await;
    }
    hub.condition("a", "ManifestworkApplied", "False NotAsExpected")
        .await;
    // Both failures have been seen by then.
    let (type_, expected) = ("PlacementRolledOut", "False Progressing");
    hub.condition_with("a", type_, expected, "has stopped")
        .await;
    assert_eq!(hub.works("a").await.len(), 2);
    let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", hub.namespace);
    let set = hub.admin.get(&hub.set("a")).await.unwrap();
    let uid = &set.ok()["metadata"]["uid"];
    once(&hub.admin, &events, "RolloutStopped", |it| {
        let mut events = it["items"].as_array().into_iter().flatten();
        events.any(|it| {
            let regarding = &it["regarding"];
            it["reason"] == "RolloutStopped"
                && it["type"] == "Warning"
                && it["reportingController"] == "manifestworkreplicaset-controller"
                && regarding["kind"] == "ManifestWorkReplicaSet"
                && regarding["uid"] == *uid
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_alone_advances_a_rollout() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    let strategy = json!({"type": "Progressive", "progressive": {
        "maxConcurrency": 1, "minSuccessTime": "2s", "progressDeadline": "2s", "maxFailures": 1,
    }});
    hub.replicate("a", strategy).await;
    hub.makes("a", 1, &clusters[..1]).await;
    hub.report(&clusters[0], "a", "A+ V+ P-").await;
    // It soaks; the second one times out, since its agent is silent.
    hub.makes("a", 1, &clusters[..2]).await;
    hub.makes("a", 1, &clusters).await;
}

/// Argo CD and Helm change the template and a label in one write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_labels_does_not_count_as_one_of_the_template() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": 1}});
    hub.replicate("a", strategy).await;
    for at in 0..3 {
        hub.makes("a", 1, &clusters[..=at]).await;
        hub.report(&clusters[at], "a", "A+ V+").await;
    }
    hub.condition("a", "PlacementRolledOut", "True Complete")
        .await;
    let change = json!({
        "metadata": {"labels": {"a": "2"}},
        "spec": {"manifestWorkTemplate": template(2)},
    });
    hub.patch(&hub.set("a"), change).await;
    eventually("the label of each work", async || {
        let is_labelled = |it: &Value| it["metadata"]["labels"]["a"] == "2";
        when(hub.works("a").await, |works| works.iter().all(is_labelled))
    })
    .await;
    for at in 0..3 {
        hub.makes("a", 2, &clusters[..=at]).await;
        let words = format!("{at} of 3 clusters have succeeded");
        hub.condition_with("a", "PlacementRolledOut", "False Progressing", &words)
            .await;
        hub.report(&clusters[at], "a", "A+ V+").await;
    }
    hub.condition("a", "PlacementRolledOut", "True Complete")
        .await;
}
