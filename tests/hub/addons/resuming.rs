//! Kills, successors, and what OCM's add-on manager left.

use std::time::Duration;

use berth_testkit::cluster::AsAdmin;
use berth_testkit::{eventually, when};
use serde_json::json;

use super::hub::{Hub, SHORT};

/// The controller is killed again and again while clusters come and go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_controller_goes_on_where_it_was() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(6).await;
    hub.place("p", &clusters).await;
    hub.install("a").await;
    for round in 0..10_u64 {
        let mut managing = hub.start_with(SHORT).await;
        let from = usize::try_from(round % 3).unwrap();
        hub.select("p", &clusters[from..from + 3]).await;
        // Somewhere within its first writes: where is not important, that it is elsewhere in each round is.
        tokio::time::sleep(Duration::from_millis(round * 25)).await;
        managing.kill().await;
    }
    let _managing = hub.start_with(SHORT).await;
    hub.select("p", &clusters[2..4]).await;
    hub.has("a", &clusters[2..4]).await;
    for cluster in &clusters[2..4] {
        hub.manage(cluster, "a").await;
        hub.apply(cluster, "a", true).await;
    }
    hub.progression(
        "a",
        0,
        "False Completed",
        "selected clusters 2. configured addons 2/2",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_add_on_is_not_written_also_by_a_successor() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    hub.place("p", &clusters).await;
    let mut managing = hub.start().await;
    hub.install("a").await;
    hub.has("a", &clusters).await;
    for cluster in &clusters {
        hub.manage(cluster, "a").await;
        hub.apply(cluster, "a", true).await;
    }
    hub.progression("a", 0, "False Completed", "2/2").await;
    // Without configs the progression does not wait for the clusters.
    for cluster in &clusters {
        hub.condition(cluster, "a", "Progressing", "False Completed")
            .await;
    }
    managing.kill().await;
    let before = (
        hub.read(&hub.add_on("a")).await,
        hub.read(&hub.on(&clusters[0], "a")).await,
    );
    let successor = hub.start().await;
    // A later add-on is installed after the first one was looked at.
    hub.install("later").await;
    hub.has("later", &clusters).await;
    hub.progression("later", 0, "False Completed", "").await;
    let after = (
        hub.read(&hub.add_on("a")).await,
        hub.read(&hub.on(&clusters[0], "a")).await,
    );
    assert_eq!(after, before);
    let writes = eventually("two new ones", async || {
        when(successor.writes_by_kind(), |it| {
            it.keys().any(|kind| kind.contains(" create "))
        })
    });
    let writes = writes.await;
    let refused: Vec<_> = writes.keys().filter(|it| it.ends_with(" 403")).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

/// OCM's add-on manager left these statuses and owners. Neither is written again, and nothing of it is deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ocm_wrote_stays() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    hub.place("p", &clusters[..1]).await;
    let p = hub.of("p", json!({"type": "All"}), json!([]));
    hub.define("a", None, json!([hub.reference("d")]), Some(json!([p])))
        .await;
    let definition = hub.read(&hub.add_on("a")).await;
    let owner = json!({
        // OCM wrote this version before it had another one.
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn", "name": hub.named("a"),
        "uid": definition["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    });
    let config = json!({"namespace": hub.namespace, "name": "d", "specHash": "1"});
    let (group, resource) = ("addon.open-cluster-management.io", "addondeploymentconfigs");
    let since = "2026-01-01T00:00:00Z";
    let condition = |type_: &str, status: &str, reason: &str, message: &str| json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since});
    let done =
        "selected clusters 1. configured addons 1/1 completed with no errors, 0 failed 0 timeout.";
    let status = json!({"status": {
        "defaultConfigReferences": [{"group": group, "resource": resource, "desiredConfig": config}],
        "installProgressions": [{
            "namespace": hub.namespace, "name": "p",
            "conditions": [condition("Progressing", "False", "Completed", done)],
            "configReferences": [{
                "group": group, "resource": resource,
                "desiredConfig": config, "lastAppliedConfig": config, "lastKnownGoodConfig": config,
            }],
        }],
    }});
    hub.patch(&format!("{}/status", hub.add_on("a")), status)
        .await;
    for cluster in &clusters {
        hub.enable(cluster, "a", json!({"ownerReferences": [owner]}), json!({}))
            .await;
        let status = json!({"status": {
            "configReferences": [{
                "group": group, "resource": resource, "lastObservedGeneration": 1,
                "desiredConfig": config, "lastAppliedConfig": config,
            }],
            "conditions": [
                condition("ManifestApplied", "True", "AddonManifestApplied", "manifests of addon are applied successfully"),
                condition("Configured", "True", "ConfigurationsConfigured", "Configurations configured"),
                condition("Progressing", "False", "Completed", "completed with no errors."),
            ],
        }});
        hub.patch(&format!("{}/status", hub.on(cluster, "a")), status)
            .await;
        hub.apply(cluster, "a", true).await;
    }
    let all = async || {
        let mut all = vec![hub.read(&hub.add_on("a")).await];
        for cluster in &clusters {
            all.push(hub.read(&hub.on(cluster, "a")).await);
        }
        all
    };
    let before = all().await;
    let managing = hub.start_with(SHORT).await;
    hub.install("later").await;
    hub.has("later", &clusters[..1]).await;
    // The later one loses its cluster after the grace; by then the first one was long looked at.
    hub.select("p", &[]).await;
    hub.has("later", &[]).await;
    hub.select("p", &clusters[..1]).await;
    hub.progression("a", 0, "False Completed", done).await;
    let after = all().await;
    assert_eq!(after[1..], before[1..], "{:?}", managing.writes_by_kind());
    assert_eq!(hub.installed("a").await, clusters);
}
