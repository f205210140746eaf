//! Placements that cannot be scheduled are refused, and stored ones stay writable.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::e2e::sentences::PLACEMENT_VALIDATORS;
use berth_testkit::by_each_client;
use berth_testkit::cluster::{Person, fresh, rule};
use berth_testkit::guarded::Guarded;
use berth_testkit::objects::{CLUSTER_GROUP, placement};
use berth_testkit::writes::By;

by_each_client![
    a_placement_that_cannot_be_scheduled_is_refused,
    a_placement_that_selects_nothing_gets_a_warning,
    a_stored_placement_stays_writable,
    hostile_placements_are_refused_soon,
];

/// A user who may write placements.
async fn dev() -> Person {
    let hub = Guarded::shared().await;
    let rights = rule(&["*"], CLUSTER_GROUP, &["placements"], &[]);
    hub.developer(&fresh("dev"), &[rights]).await
}

fn cel(expression: &str) -> Value {
    json!({ "requiredClusterSelector": { "celSelector": { "celExpressions": [expression] } } })
}

async fn a_placement_that_cannot_be_scheduled_is_refused(by: By) {
    let dev = dev().await;
    let dev = dev.by(by);
    let name = fresh("p");
    let operator = json!({ "matchExpressions": [{ "key": "env", "operator": "Like" }] });
    let spec = json!({
        "numberOfClusters": -1,
        "prioritizerPolicy": { "mode": "Most" },
        "predicates": [
            { "requiredClusterSelector": { "labelSelector": operator } },
            cel("managedCluster.nosuch("),
        ],
    });
    let written = dev.create(&placement(&name, spec)).await;
    let selector = "requiredClusterSelector";
    written.denied(
        PLACEMENT_VALIDATORS,
        400,
        "BadRequest",
        &[
            "spec.numberOfClusters: numberOfClusters is -1, and must not be negative",
            &format!(
                "spec.predicates[0].{selector}.labelSelector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector \
                 operator"
            ),
            &format!(
                "spec.predicates[1].{selector}.celSelector.celExpressions[0]: compilation failed: ERROR: <input>:1:23: unexpected end"
            ),
            "spec.prioritizerPolicy.mode: incorrect prioritizer policy mode: Most",
        ],
    );
    dev.create(&placement(&name, json!({ "predicates": [cel("true")] })))
        .await
        .ok();
    let patch = json!({ "spec": { "predicates": [cel("nosuch")] } });
    let written = dev.merge(&placement(&name, json!({})), &patch).await;
    let fault = format!(
        "spec.predicates[0].{selector}.celSelector.celExpressions[0]: compilation failed: ERROR: <input>:1:1: undeclared reference \
         to 'nosuch'"
    );
    written.denied(PLACEMENT_VALIDATORS, 400, "BadRequest", &[&fault]);

    let long = format!("{:-<63}0", fresh("p"));
    let written = dev.create(&placement(&long, json!({}))).await;
    let fault = format!(
        "metadata.name: Invalid value: \"{long}\": must be no more than 63 characters, to fit the label by which PlacementDecisions \
         name their Placement"
    );
    written.denied(PLACEMENT_VALIDATORS, 400, "BadRequest", &[&fault]);
}

async fn a_placement_that_selects_nothing_gets_a_warning(by: By) {
    let dev = dev().await;
    let dev = dev.by(by);
    let none = placement(&fresh("p"), json!({ "numberOfClusters": 0 }));
    let (_, warnings) = dev.create(&none).await.ok_with_warnings();
    assert_eq!(warnings, ["spec.numberOfClusters: 0 selects no cluster"]);
    let patch = json!({ "metadata": { "labels": { "a": "b" } } });
    let (_, warnings) = dev.merge(&none, &patch).await.ok_with_warnings();
    assert_eq!(warnings, [""; 0]);
}

async fn a_stored_placement_stays_writable(by: By) {
    let dev = dev().await;
    let dev = dev.by(by);
    let stored = placement(&format!("faulty.{}", by.name()), json!({}));
    for patch in [
        json!({ "metadata": { "labels": { "a": "b" } } }),
        json!({ "spec": { "clusterSets": ["a"] } }),
    ] {
        dev.merge(&stored, &patch).await.ok();
    }
    let patch = json!({ "spec": { "tolerations": [{ "value": "v" }] } });
    let written = dev.merge(&stored, &patch).await;
    let fault = "spec.tolerations[0].operator: If the key is empty, operator must be Exists.";
    written.denied(PLACEMENT_VALIDATORS, 400, "BadRequest", &[fault]);
    let patch = json!({ "spec": { "numberOfClusters": 1 } });
    dev.merge(&stored, &patch).await.ok();
}

async fn hostile_placements_are_refused_soon(by: By) {
    let dev = dev().await;
    let dev = dev.by(by);
    let values: Vec<_> = (0..10_001).map(|index| format!("v{index}")).collect();
    let values =
        json!({ "matchExpressions": [{ "key": "a", "operator": "In", "values": values }] });
    let cel_path = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]";
    for (predicate, fault) in [
        (
            json!({ "requiredClusterSelector": { "labelSelector": values } }),
            "spec: Too many values: 10001: must have at most 10000 in all".to_owned(),
        ),
        (
            cel(&format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000))),
            format!(
                "{cel_path}: compilation failed: ERROR: <input>:1:65: the expression is nested more than 64 levels deep"
            ),
        ),
        (
            cel(&" ".repeat(20_000)),
            format!(
                "{cel_path}: compilation failed: ERROR: <input>:1:1: the expression has 20000 bytes, more than 16384"
            ),
        ),
        (
            cel(&"x".repeat(1 << 20)),
            format!("{cel_path}: a string has 1048576 bytes: must have at most 65536"),
        ),
    ] {
        let spec = json!({ "predicates": [predicate] });
        let begun = Instant::now();
        let written = dev.create(&placement(&fresh("p"), spec)).await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{fault}");
        written.denied(PLACEMENT_VALIDATORS, 400, "BadRequest", &[&fault]);
    }
}
