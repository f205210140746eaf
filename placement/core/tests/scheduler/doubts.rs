//! What is doubtful about a valid spec.

use berth_placement_core::{Gates, doubts};
use serde_json::{Value, json};

fn found(spec: Value) -> Vec<String> {
    found_with(spec, Gates::default())
}

fn found_with(spec: Value, gates: Gates) -> Vec<String> {
    let spec = serde_json::from_value(spec).expect("a spec");
    doubts(&spec, gates)
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn labels(expressions: Value) -> Value {
    json!({"labelSelector": {"matchExpressions": expressions}})
}

#[test]
fn what_selects_nothing_or_has_no_effect_is_doubtful() {
    let impossible =
        json!([{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "DoesNotExist"}]);
    let cel = |text: &str| json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [text]}}}]});
    let groups = |strategy: Value| json!({"decisionStrategy": {"groupStrategy": strategy}});
    let weights = |mode: &str, weights: &[(&str, i32)]| {
        let configurations: Vec<_> = weights
            .iter()
            .map(|(name, weight)| {
                json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight})
            })
            .collect();
        json!({"prioritizerPolicy": {"mode": mode, "configurations": configurations}})
    };
    let cel_path = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]";
    for (sentence, spec, expected) in [
        ("an empty spec", json!({}), String::new()),
        (
            "no cluster",
            json!({"numberOfClusters": 0}),
            "spec.numberOfClusters: 0 selects no cluster".to_owned(),
        ),
        (
            "sets with names that a label cannot have",
            json!({"clusterSets": ["a", "A b", "x".repeat(64)]}),
            format!(
                "spec.clusterSets[1]: \"A b\" cannot be the name of a ManagedClusterSet\n\
                 spec.clusterSets[2]: \"{}\" cannot be the name of a ManagedClusterSet",
                "x".repeat(64)
            ),
        ),
        (
            "labels that exclude each other",
            json!({"predicates": [{}, {"requiredClusterSelector": labels(impossible.clone())}]}),
            "spec.predicates[1].requiredClusterSelector.labelSelector: \
             the requirements on \"a\" exclude each other, so the predicate matches no cluster"
                .to_owned(),
        ),
        (
            "claims that exclude each other",
            json!({"predicates": [{"requiredClusterSelector": {"claimSelector": {"matchExpressions": impossible}}}]}),
            "spec.predicates[0].requiredClusterSelector.claimSelector: \
             the requirements on \"a\" exclude each other, so the predicate matches no cluster"
                .to_owned(),
        ),
        (
            "a selector with a mistake",
            json!({"predicates": [{"requiredClusterSelector": labels(json!([{"key": "a", "operator": "Has"}]))}]}),
            String::new(),
        ),
        ("an expression on the cluster", cel("managedCluster.metadata.name"), String::new()),
        ("an expression that is true", cel("1 < 2"), String::new()),
        (
            "an expression that is false",
            cel("2 < 1"),
            format!("{cel_path}: the expression is always false, so the predicate matches no cluster"),
        ),
        (
            "an expression that is no condition",
            cel("[]"),
            format!("{cel_path}: the value of the expression is always a list, not a bool, so the predicate matches no cluster"),
        ),
        (
            "an expression that fails",
            cel("1 / 0 == 1"),
            format!("{cel_path}: the expression always fails (division by zero), so the predicate matches no cluster"),
        ),
        ("an expression with a mistake", cel("("), String::new()),
        (
            "an unknown operator",
            json!({"tolerations": [{"key": "a", "operator": "Like"}, {"key": "a", "operator": ""}]}),
            "spec.tolerations[0].operator: \"Like\" is neither Equal nor Exists, so nothing is tolerated".to_owned(),
        ),
        (
            "weights that are all zero",
            weights("Exact", &[("Steady", 0)]),
            "spec.prioritizerPolicy.configurations: every weight is 0, so clusters are selected by name".to_owned(),
        ),
        (
            "zero for the defaults",
            weights("Additive", &[("Steady", 0), ("Balance", 0)]),
            "spec.prioritizerPolicy.configurations: every weight is 0, so clusters are selected by name".to_owned(),
        ),
        (
            "a negative weight of Steady",
            {
                let mut spec = weights("Additive", &[("Steady", -1)]);
                spec["numberOfClusters"] = json!(1);
                spec
            },
            "spec.prioritizerPolicy.configurations: the weight of Steady is negative, so each evaluation may replace selected \
             clusters by others"
                .to_owned(),
        ),
        (
            "a negative weight of Steady where all clusters are selected",
            weights("Additive", &[("Steady", -1)]),
            String::new(),
        ),
        ("a default that counts", weights("Additive", &[("Steady", 0)]), String::new()),
        (
            "a negative size",
            groups(json!({"clustersPerDecisionGroup": -1})),
            "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup: -1 means that all clusters are in one group".to_owned(),
        ),
        (
            "a size that clients in Go send",
            groups(json!({"clustersPerDecisionGroup": 0})),
            String::new(),
        ),
        (
            "fields without effect",
            json!({"sortBy": "Score", "scoreRateLimit": "5m", "spreadPolicy": {"spreadConstraints": [
                {"topologyKey": "a", "topologyKeyType": "Label"},
            ]}}),
            "spec.spreadPolicy: has no effect unless the placement controller runs with --feature-gates=PlacementSpreadPolicy=true\n\
             spec.sortBy: has no effect unless the placement controller runs with --feature-gates=PlacementSortBy=true\n\
             spec.scoreRateLimit: has no effect unless the placement controller runs with --feature-gates=PlacementScores=true"
                .to_owned(),
        ),
        (
            "defaults",
            json!({"sortBy": "ClusterName", "scoreRateLimit": "1m"}),
            String::new(),
        ),
    ] {
        assert_eq!(found(spec).join("\n"), expected, "{sentence}");
    }
}

#[test]
fn a_field_that_a_gate_turns_on_has_an_effect() {
    let spec = json!({
        "spreadPolicy": {"spreadConstraints": [{"topologyKey": "region", "topologyKeyType": "Label"}]},
        "sortBy": "Score",
        "scoreRateLimit": "5m",
    });
    let all = Gates {
        spread: true,
        sort_by: true,
        scores: true,
        ..Gates::default()
    };
    let found = |gates| found_with(spec.clone(), gates).len();
    assert_eq!(found(Gates::default()), 3);
    assert_eq!(found(all), 0);
    for one in [
        Gates {
            spread: false,
            ..all
        },
        Gates {
            sort_by: false,
            ..all
        },
        Gates {
            scores: false,
            ..all
        },
    ] {
        assert_eq!(found(one), 1, "{one:?}");
    }
}
