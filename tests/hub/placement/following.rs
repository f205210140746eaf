//! Decisions follow the hub.

use berth_testkit::cluster::{AsAdmin, fresh};
use berth_testkit::process::once;
use serde_json::{Value, json};

use crate::placement::hub::Hub;

fn predicate(labels: Value) -> Value {
    json!([{"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_placement_follows_labels_taints_and_deletions() {
    let hub = Hub::new().await;
    let a = hub.cluster(&hub.set, json!({"region": "eu"})).await;
    let b = hub.cluster(&hub.set, json!({"region": "us"})).await;
    let _placing = hub.start().await;
    hub.place(json!({"predicates": predicate(json!({"region": "eu"}))}))
        .await;
    hub.selects(&[&a]).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    hub.change(&b, json!({"metadata": {"labels": {"region": "eu"}}}))
        .await;
    hub.selects(&[&a, &b]).await;
    hub.taint(&a, true).await;
    hub.selects(&[&b]).await;
    hub.taint(&a, false).await;
    hub.selects(&[&a, &b]).await;
    hub.remove(&b).await;
    hub.selects(&[&a]).await;
    hub.change(&a, json!({"metadata": {"labels": {"region": "us"}}}))
        .await;
    hub.selects(&[]).await;
    hub.condition("PlacementSatisfied", "NoManagedClusterMatched")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_placement_follows_sets_and_bindings() {
    let hub = Hub::new().await;
    let other = fresh("set");
    let a = hub.cluster(&hub.set, json!({})).await;
    let b = hub.cluster(&other, json!({})).await;
    let _placing = hub.start().await;
    hub.place(json!({})).await;
    hub.selects(&[&a]).await;
    hub.bind(&other).await;
    hub.set(&other).await;
    hub.selects(&[&a, &b]).await;
    let own = format!("{}/{}", hub.bindings(), hub.set);
    hub.delete(&own).await;
    hub.selects(&[&b]).await;
    hub.patch(
        &hub.placement("p"),
        json!({"spec": {"clusterSets": [hub.set]}}),
    )
    .await;
    hub.selects(&[]).await;
    let message = hub.condition("PlacementSatisfied", "NoIntersection").await;
    assert!(message.contains(&hub.set), "{message}");
    hub.bind(&hub.set).await;
    hub.selects(&[&a]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_toleration_ends_by_itself() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let _placing = hub.start().await;
    hub.place(
        json!({"tolerations": [{"key": "test", "operator": "Exists", "tolerationSeconds": 3}]}),
    )
    .await;
    hub.selects(&[&clusters[0], &clusters[1]]).await;
    let now = jiff::Timestamp::now();
    let now = format!("{now:.0}");
    let taint = json!({"key": "test", "effect": "NoSelect", "timeAdded": now});
    hub.change(&clusters[0], json!({"spec": {"taints": [taint]}}))
        .await;
    hub.selects(&[&clusters[1]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistake_keeps_the_decisions_and_is_named() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let _placing = hub.start().await;
    hub.place(json!({})).await;
    hub.selects(&[&clusters[0], &clusters[1]]).await;
    let mistake = json!([{"operator": "Exists", "key": "k", "value": "v"}]);
    hub.patch(
        &hub.placement("p"),
        json!({"spec": {"tolerations": mistake}}),
    )
    .await;
    let message = hub
        .condition("PlacementMisconfigured", "Misconfigured")
        .await;
    assert!(message.starts_with("TaintToleration:"), "{message}");
    hub.selects(&[&clusters[0], &clusters[1]]).await;
    // A cluster that is gone is not kept.
    hub.remove(&clusters[0]).await;
    hub.selects(&[&clusters[1]]).await;
    hub.patch(&hub.placement("p"), json!({"spec": {"tolerations": null}}))
        .await;
    hub.condition("PlacementMisconfigured", "Succeedconfigured")
        .await;
    hub.selects(&[&clusters[1]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_are_laid_out_as_ocms() {
    let hub = Hub::new().await;
    let mut canaries = Vec::new();
    for _ in 0..2 {
        canaries.push(hub.cluster(&hub.set, json!({"canary": "yes"})).await);
    }
    let others = hub.clusters(2).await;
    let _placing = hub.start().await;
    let selector = json!({"labelSelector": {"matchLabels": {"canary": "yes"}}});
    let strategy = json!({
        "clustersPerDecisionGroup": 2,
        "decisionGroups": [{"groupName": "canary", "groupClusterSelector": selector}],
    });
    hub.place(json!({"decisionStrategy": {"groupStrategy": strategy}}))
        .await;
    let all: Vec<_> = canaries.iter().chain(&others).collect();
    hub.selects(&all).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    canaries.sort_unstable();
    let listed: Vec<_> = hub.listed().await.into_iter().collect();
    let place = |number: usize, index: &str, name: &str, clusters: &[String]| {
        let content = (index.to_owned(), name.to_owned(), clusters.to_vec());
        (format!("p-decision-{number}"), content)
    };
    assert_eq!(
        listed,
        [
            place(1, "0", "canary", &canaries),
            place(2, "1", "", &others)
        ]
    );
    let placement = hub.admin.get(&hub.placement("p")).await.unwrap();
    let status = &placement.ok()["status"];
    assert_eq!(status["numberOfSelectedClusters"], 4);
    assert_eq!(
        status["decisionGroups"],
        json!([
            {"decisionGroupIndex": 0, "decisionGroupName": "canary", "decisions": ["p-decision-1"], "clusterCount": 2},
            {"decisionGroupIndex": 1, "decisionGroupName": "", "decisions": ["p-decision-2"], "clusterCount": 2},
        ])
    );
    let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", hub.namespace);
    for reason in ["DecisionCreate", "DecisionUpdate"] {
        once(&hub.admin, &events, reason, |it| {
            let mut events = it["items"].as_array().into_iter().flatten();
            events.any(|it| {
                let regarding = &it["regarding"];
                it["reason"] == reason
                    && it["type"] == "Normal"
                    && it["reportingController"] == "placement-controller"
                    && regarding["kind"] == "Placement"
                    && regarding["uid"] == placement.ok()["metadata"]["uid"]
            })
        })
        .await;
    }
    let decision = hub
        .admin
        .get(&format!("{}/p-decision-1", hub.decisions()))
        .await
        .unwrap();
    let owner = &decision.ok()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], placement.ok()["metadata"]["uid"]);
    assert_eq!(
        (&owner["controller"], &owner["blockOwnerDeletion"]),
        (&json!(true), &json!(true))
    );
}
