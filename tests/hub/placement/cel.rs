//! Placements with CEL expressions: the controller reads whole ManagedClusters while there are some.

use berth_testkit::cluster::AsAdmin;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use crate::placement::gaps::Watcher;
use crate::placement::hub::Hub;

const LABEL: &str = r#"managedCluster.metadata.labels["region"] == "eu""#;
const CLAIM: &str =
    r#"managedCluster.status.clusterClaims.exists(it, it.name == "platform" && it.value == "AWS")"#;
const VERSION: &str = r#"semver(managedCluster.status.version.kubernetes.substring(1)).isGreaterThan(semver("1.30.0"))"#;
const SCORE: &str =
    r#"managedCluster.scores("load").exists(it, it.name == "free" && it.value > 50)"#;

fn spec(expressions: &[&str]) -> Value {
    let selector = json!({"celSelector": {"celExpressions": expressions}});
    json!({"predicates": [{"requiredClusterSelector": selector}]})
}

/// Reports a claim and a version of Kubernetes.
async fn report(hub: &Hub, cluster: &str, platform: &str, version: &str) {
    let claims = json!([{"name": "platform", "value": platform}]);
    let status =
        json!({"version": {"kubernetes": version}, "clusterClaims": claims, "conditions": []});
    let path =
        format!("/apis/cluster.open-cluster-management.io/v1/managedclusters/{cluster}/status");
    hub.patch(&path, json!({"status": status})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expressions_follow_labels_claims_versions_and_scores() {
    let hub = Hub::new().await;
    let a = hub.cluster(&hub.set, json!({"region": "eu"})).await;
    let b = hub.cluster(&hub.set, json!({"region": "eu"})).await;
    for name in [&a, &b] {
        report(&hub, name, "AWS", "v1.31.2").await;
        hub.score(name, "load", "free", 90).await;
    }
    let _placing = hub.start().await;
    // The first one with expressions arrives on a hub with others.
    hub.place_as("other", json!({"numberOfClusters": 0})).await;
    hub.settled("other").await;
    hub.place(spec(&[LABEL, CLAIM, VERSION, SCORE])).await;
    hub.selects(&[&a, &b]).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    hub.change(&b, json!({"metadata": {"labels": {"region": "us"}}}))
        .await;
    hub.selects(&[&a]).await;
    hub.change(&b, json!({"metadata": {"labels": {"region": "eu"}}}))
        .await;
    hub.selects(&[&a, &b]).await;
    report(&hub, &a, "GCP", "v1.31.2").await;
    hub.selects(&[&b]).await;
    report(&hub, &a, "AWS", "v1.29.0").await;
    hub.selects(&[&b]).await;
    report(&hub, &a, "AWS", "v1.32.0").await;
    hub.selects(&[&a, &b]).await;
    hub.score(&b, "load", "free", 10).await;
    hub.selects(&[&a]).await;
    hub.patch(&hub.placement("p"), json!({"spec": spec(&[LABEL])}))
        .await;
    hub.selects(&[&a, &b]).await;
    // The last one with expressions is gone, and comes again.
    hub.patch(&hub.placement("p"), json!({"spec": {"predicates": []}}))
        .await;
    report(&hub, &a, "GCP", "v1.32.0").await;
    hub.patch(&hub.placement("p"), json!({"spec": spec(&[CLAIM])}))
        .await;
    hub.selects(&[&b]).await;
    hub.patch(&hub.placement("p"), json!({"spec": spec(&["wrong("])}))
        .await;
    hub.condition("PlacementMisconfigured", "Misconfigured")
        .await;
    hub.selects(&[&b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_decisions_of_expressions_stay_while_a_controller_starts() {
    let hub = Hub::new().await;
    let mut clusters = Vec::new();
    for number in 0..6 {
        let name = hub.cluster(&hub.set, json!({"region": "eu"})).await;
        report(&hub, &name, "AWS", &format!("v1.3{number}.1")).await;
        clusters.push(name);
    }
    let watcher = Watcher::start(&hub, &clusters[2..]).await;
    let mut placing = hub.start().await;
    hub.place(spec(&[LABEL, CLAIM, VERSION])).await;
    let all: Vec<_> = clusters.iter().collect();
    hub.selects(&all).await;
    for round in 0..6 {
        let region = if round % 2 == 0 { "us" } else { "eu" };
        hub.change(
            &clusters[0],
            json!({"metadata": {"labels": {"region": region}}}),
        )
        .await;
        placing.kill().await;
        placing = hub.start().await;
        let first = usize::from(round % 2 == 0);
        hub.selects(&all[first..]).await;
    }
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    hub.counts(all.len()).await;
    let seen = watcher.finish(&hub).await;
    assert_eq!(seen.missed, [""; 0], "after {} events", seen.events);
    placing.kill().await;
    let successor = hub.start().await;
    hub.place_as("later", json!({"numberOfClusters": 0})).await;
    hub.settled("later").await;
    hub.place_as("last", spec(&["false"])).await;
    hub.settled("last").await;
    // The last one is counted when its response has arrived.
    eventually("the writes of the later placements", async || {
        when(successor.writes(), |writes| *writes >= 4)
    })
    .await;
    assert_eq!(successor.writes(), 4, "of the later placements");
}
