//! Outcomes: the reason for each cluster, in words.

use serde_json::{Value, json};

use crate::bench::{Bench, after};

#[test]
fn every_cluster_has_a_reason() {
    let region = |regions: Value| {
        json!({"requiredClusterSelector": {"labelSelector": {
            "matchExpressions": [{"key": "region", "operator": "In", "values": regions}],
        }}})
    };
    let claim = json!({"requiredClusterSelector": {
        "labelSelector": {"matchLabels": {"env": "prod"}},
        "claimSelector": {"matchExpressions": [{"key": "cloud", "operator": "Exists"}]},
    }});
    let mut bench = Bench::new(json!({
        "numberOfClusters": 1,
        "predicates": [region(json!(["eu", "us"])), claim],
        "tolerations": [{"key": "slow", "operator": "Exists", "tolerationSeconds": 60}],
        "prioritizerPolicy": {"configurations": [
            {"scoreCoordinate": {"builtIn": "Balance"}, "weight": 2},
            {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}, "weight": -1},
        ]},
    }));
    let added = after(bench.now, -90).to_string();
    let eu = json!({"region": "eu"});
    for cluster in [
        json!({"name": "best", "labels": eu}),
        json!({"name": "deleting", "labels": eu, "deletionTimestamp": "2022-01-01T00:00:00Z"}),
        json!({"name": "elsewhere", "labels": {"region": "asia"}}),
        json!({"name": "late", "labels": eu, "taints": [{"key": "slow", "effect": "NoSelect", "timeAdded": added}]}),
        json!({"name": "later", "labels": eu, "taints": [{"key": "slow", "effect": "NoSelect"}]}),
        json!({"name": "prod", "labels": {"env": "prod"}}),
        json!({"name": "second", "labels": eu, "cpu": ["4", "4"]}),
        json!({"name": "tainted", "labels": eu, "taints": [{"key": "a", "value": "b", "effect": "NoSelect"}]}),
    ] {
        bench = bench.cluster(cluster);
    }
    let outcomes = bench.run().outcomes;
    for (cluster, expected) in [
        (
            "best",
            "selected: rank 1 of 2, score 200 = Balance 100 x 2 + Steady 0 + ResourceAllocatableCPU unknown x -1",
        ),
        ("deleting", "the cluster is being deleted"),
        (
            "elsewhere",
            "predicate 0: the labels do not match region in (eu, us) (the cluster has region=asia); predicate 1: the labels do not match env in (prod) (the cluster has no env)",
        ),
        (
            "late",
            "taint slow was tolerated until 2021-12-31T23:59:30Z",
        ),
        (
            "later",
            "taint slow is not tolerated any more: it does not say when it was added",
        ),
        (
            "prod",
            "predicate 0: the labels do not match region in (eu, us) (the cluster has no region); predicate 1: the claims do not match cloud (the cluster has no cloud)",
        ),
        (
            "second",
            "not selected: rank 2 of 2, score 100 = Balance 100 x 2 + Steady 0 + ResourceAllocatableCPU 100 x -1; \
             the last selected cluster is best with score 200",
        ),
        ("tainted", "taint a=b is not tolerated"),
    ] {
        assert_eq!(outcomes[cluster], expected, "{cluster}");
    }
}

#[test]
fn a_cluster_outside_the_sets_is_told_apart() {
    let mut bench = Bench::new(json!({"clusterSets": ["all"]})).clusters(&["c1"]);
    bench
        .snapshot
        .sets
        .insert("all".to_owned(), crate::bench::membership("all", json!({})));
    assert_eq!(
        bench.run().outcomes["c1"],
        "the cluster belongs to none of the sets all"
    );
    bench.snapshot.bindings.clear();
    assert_eq!(
        bench.run().outcomes["c1"],
        "no set that the placement may select from is bound to its namespace"
    );
}
