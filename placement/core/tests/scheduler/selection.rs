//! Filters, scores and selection together: the cases of OCM's scheduler.

use serde_json::{Value, json};

use crate::bench::{Bench, names};

/// What a placement selects: a sentence, the hub, the matched, the feasible and the selected clusters, the number of missing
/// clusters, and the weights and scores by prioritizer.
type Row = (
    &'static str,
    Bench,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
    usize,
    Value,
);

const THREE: [&str; 3] = ["c1", "c2", "c3"];

#[test]
fn clusters_are_filtered_scored_and_selected_as_by_ocm() {
    let default =
        |balance: Value, steady: Value| json!({"Balance": [1, balance], "Steady": [1, steady]});
    let memory = || {
        [("c1", "100"), ("c2", "50"), ("c3", "0")]
            .map(|(name, amount)| json!({"name": name, "memory": [amount, "100"]}))
    };
    let with_memory = |mut bench: Bench| {
        for cluster in memory() {
            bench = bench.cluster(cluster);
        }
        bench
    };
    let config = |name: &str, weight: i32| json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight});
    let demo = ("demo", "demo");
    let add_on = json!({
        "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "demo", "scoreName": "demo"}}, "weight": 1,
    });
    let rows: Vec<Row> = vec![
        (
            "a new placement selects every cluster",
            Bench::new(json!({})).clusters(&["c1"]),
            &["c1"],
            &["c1"],
            &["c1"],
            0,
            default(json!({"c1": 100}), json!({"c1": 0})),
        ),
        (
            "missing clusters are counted",
            Bench::new(json!({"numberOfClusters": 3})).clusters(&["c1"]),
            &["c1"],
            &["c1"],
            &["c1"],
            2,
            default(json!({"c1": 100}), json!({"c1": 0})),
        ),
        (
            "selected clusters stay, and do not count against themselves",
            Bench::new(json!({"numberOfClusters": 2})).clusters(&THREE).own(&["c1", "c2"]),
            &THREE,
            &THREE,
            &["c1", "c2"],
            0,
            default(
                json!({"c1": 100, "c2": 100, "c3": 100}),
                json!({"c1": 100, "c2": 100, "c3": 0}),
            ),
        ),
        (
            "an empty mode is the mode Additive",
            Bench::new(json!({"prioritizerPolicy": {"mode": ""}})).clusters(&["c1"]),
            &["c1"],
            &["c1"],
            &["c1"],
            0,
            default(json!({"c1": 100}), json!({"c1": 0})),
        ),
        (
            "a taint that is not tolerated keeps the placement away",
            Bench::new(json!({
                "numberOfClusters": 3, "tolerations": [{"key": "key1", "value": "value1", "operator": "Equal"}],
            }))
            .cluster(json!({"name": "c1", "taints": [{"key": "key1", "value": "value1", "effect": "NoSelect"}]}))
            .cluster(json!({"name": "c2", "taints": [{"key": "key2", "value": "value2", "effect": "NoSelect"}]}))
            .clusters(&["c3"])
            .score("c1", demo, 30)
            .score("c2", demo, 40)
            .score("c3", demo, 50),
            &THREE,
            &["c1", "c3"],
            &["c1", "c3"],
            1,
            default(json!({"c1": 100, "c3": 100}), json!({"c1": 0, "c3": 0})),
        ),
        (
            "in the mode Additive configurations add to the defaults",
            with_memory(Bench::new(json!({"numberOfClusters": 2, "prioritizerPolicy": {
                "mode": "Additive",
                "configurations": [config("Balance", 3), config("ResourceAllocatableMemory", 1), add_on],
            }})))
            .score("c1", demo, 30)
            .score("c2", demo, 40)
            .score("c3", demo, 50),
            &THREE,
            &THREE,
            &["c1", "c2"],
            0,
            json!({
                "Balance": [3, {"c1": 100, "c2": 100, "c3": 100}],
                "Steady": [1, {"c1": 0, "c2": 0, "c3": 0}],
                "ResourceAllocatableMemory": [1, {"c1": 100, "c2": 0, "c3": -100}],
                "AddOn/demo/demo": [1, {"c1": 30, "c2": 40, "c3": 50}],
            }),
        ),
        (
            "in the mode Exact only configurations count",
            with_memory(Bench::new(json!({"numberOfClusters": 2, "prioritizerPolicy": {
                "mode": "Exact", "configurations": [config("Balance", 3), config("ResourceAllocatableMemory", 1)],
            }}))),
            &THREE,
            &THREE,
            &["c1", "c2"],
            0,
            json!({
                "Balance": [3, {"c1": 100, "c2": 100, "c3": 100}],
                "ResourceAllocatableMemory": [1, {"c1": 100, "c2": 0, "c3": -100}],
            }),
        ),
        (
            "a placement takes what it gets",
            Bench::new(json!({"numberOfClusters": 4})).clusters(&["c1", "c2"]).own(&["c1"]),
            &["c1", "c2"],
            &["c1", "c2"],
            &["c1", "c2"],
            2,
            default(json!({"c1": 100, "c2": 100}), json!({"c1": 100, "c2": 0})),
        ),
        (
            "the cluster with the fewest decisions is selected",
            Bench::new(json!({"numberOfClusters": 1})).clusters(&THREE).other(&["c1", "c2"]),
            &THREE,
            &THREE,
            &["c3"],
            0,
            default(
                json!({"c1": -100, "c2": -100, "c3": 100}),
                json!({"c1": 0, "c2": 0, "c3": 0}),
            ),
        ),
        (
            "but not if another one of equal standing is selected already",
            Bench::new(json!({"numberOfClusters": 1}))
                .clusters(&THREE)
                .other(&["c2", "c3"])
                .other(&["c1", "c2"])
                .own(&["c3"]),
            &THREE,
            &THREE,
            &["c3"],
            0,
            default(
                json!({"c1": 0, "c2": -100, "c3": 0}),
                json!({"c1": 0, "c2": 0, "c3": 100}),
            ),
        ),
        (
            "zero clusters are none",
            Bench::new(json!({"numberOfClusters": 0})).clusters(&["c1"]),
            &["c1"],
            &["c1"],
            &[],
            0,
            default(json!({"c1": 100}), json!({"c1": 0})),
        ),
    ];
    for (sentence, bench, matched, feasible, selected, missing, scores) in rows {
        let seen = bench.run();
        assert_eq!(names(&seen.matched), matched, "{sentence}: matched");
        assert_eq!(names(&seen.feasible), feasible, "{sentence}: feasible");
        assert_eq!(names(&seen.selected), selected, "{sentence}");
        assert_eq!(seen.unscheduled, missing, "{sentence}: missing");
        let found = seen.scores.iter();
        let found = found.map(|(name, (weight, scores))| (name.clone(), json!([weight, scores])));
        assert_eq!(Value::Object(found.collect()), scores, "{sentence}: scores");
        assert_eq!(seen.fault, None, "{sentence}");
    }
}

#[test]
fn totals_are_sums_of_weighted_scores() {
    let seen = Bench::new(json!({"numberOfClusters": 2, "prioritizerPolicy": {"configurations": [
        {"scoreCoordinate": {"builtIn": "Balance"}, "weight": 3},
        {"scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"}, "weight": 1},
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "demo", "scoreName": "demo"}}},
    ]}}))
    .cluster(json!({"name": "c1", "memory": ["100", "100"]}))
    .cluster(json!({"name": "c2", "memory": ["50", "100"]}))
    .cluster(json!({"name": "c3", "memory": ["0", "100"]}))
    .score("c1", ("demo", "demo"), 30)
    .score("c2", ("demo", "demo"), 40)
    .score("c3", ("demo", "demo"), 50)
    .run();
    let totals: Vec<_> = seen.totals.values().copied().collect();
    assert_eq!(totals, [430, 340, 250]);
}

/// The clusters of OCM's integration tests: CPU 10, 7, 9 and memory 50, 90, 80.
fn with_resources(spec: Value) -> Bench {
    let mut bench = Bench::new(spec);
    for (name, cpu, memory) in [("c0", "10", "50"), ("c1", "7", "90"), ("c2", "9", "80")] {
        bench = bench.cluster(json!({"name": name, "cpu": [cpu, "10"], "memory": [memory, "100"]}));
    }
    bench
}

fn policy(mode: &str, weights: &[(&str, i32)]) -> Value {
    let configurations: Vec<_> = weights
        .iter()
        .map(|(name, weight)| json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight}))
        .collect();
    json!({"numberOfClusters": 2, "prioritizerPolicy": {"mode": mode, "configurations": configurations}})
}

#[test]
fn resources_balance_and_steadiness_select_as_by_ocm() {
    let resources = [
        ("ResourceAllocatableCPU", 1),
        ("ResourceAllocatableMemory", 1),
    ];
    let steady = [("Steady", 3), resources[0], resources[1]];
    let balance = [("Balance", 2), resources[0]];
    let better = || json!({"name": "c3", "cpu": ["10", "10"], "memory": ["100", "100"]});
    let rows = [
        (
            "by default the first names are selected",
            with_resources(json!({"numberOfClusters": 2})),
            &["c0", "c1"][..],
        ),
        (
            "resources decide, and ties go by name",
            with_resources(policy("Exact", &resources)),
            &["c2", "c0"],
        ),
        (
            "a better cluster replaces a selected one",
            with_resources(policy("Exact", &resources))
                .own(&["c0", "c2"])
                .cluster(better()),
            &["c3", "c2"],
        ),
        (
            "enough weight on Steady keeps the selected clusters",
            with_resources(policy("Additive", &steady))
                .own(&["c0", "c2"])
                .other(&["c1"])
                .cluster(better()),
            &["c2", "c0"],
        ),
        (
            "enough weight on Balance beats the resources",
            with_resources(policy("Exact", &balance)).other(&["c0"]),
            &["c2", "c1"],
        ),
    ];
    for (sentence, bench, selected) in rows {
        assert_eq!(names(&bench.run().selected), selected, "{sentence}");
    }
}

#[test]
fn scores_of_add_ons_select_as_by_ocm() {
    let spec = json!({"numberOfClusters": 2, "prioritizerPolicy": {"configurations": [
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "demo", "scoreName": "demo"}}, "weight": 1},
    ]}});
    for (sentence, scores, selected) in [
        (
            "without scores the first names are selected",
            None,
            ["c0", "c1"],
        ),
        (
            "the highest scores are selected",
            Some([80, 90, 100]),
            ["c2", "c1"],
        ),
        (
            "of equal scores the first names are",
            Some([100, 90, 100]),
            ["c0", "c2"],
        ),
    ] {
        let mut bench = Bench::new(spec.clone()).clusters(&["c0", "c1", "c2"]);
        for (name, score) in ["c0", "c1", "c2"].into_iter().zip(scores.iter().flatten()) {
            bench = bench.score(name, ("demo", "demo"), *score);
        }
        assert_eq!(names(&bench.run().selected), selected, "{sentence}");
    }
}
