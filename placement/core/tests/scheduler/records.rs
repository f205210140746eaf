//! What decisions record of their clusters, behind a gate.

use berth_placement_core::{Gates, Settings};
use serde_json::{Value, json};

use crate::bench::{Bench, NAMESPACE};

fn gated(mut bench: Bench) -> Bench {
    bench.settings = Settings {
        gates: Gates {
            scores: true,
            ..Gates::default()
        },
        ..Settings::default()
    };
    bench
}

fn exact(configurations: Value) -> Value {
    json!({"prioritizerPolicy": {"mode": "Exact", "configurations": configurations}})
}

#[test]
fn a_decision_records_the_score_and_its_parts_as_they_are_once_it_is_written() {
    let cpu = json!({"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"});
    let add_on = json!({"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}});
    let long =
        json!({"type": "AddOn", "addOn": {"resourceName": "r".repeat(300), "scoreName": "s"}});
    let one = |mut spec: Value| {
        spec["numberOfClusters"] = json!(1);
        spec
    };
    for (sentence, bench, records) in [
        (
            "the defaults: Steady counts already",
            Bench::new(one(json!({}))).clusters(&["a", "b"]),
            vec![("a", 200, "Balance 100 + Steady 100".to_owned())],
        ),
        (
            "the same when it is listed",
            Bench::new(one(json!({}))).clusters(&["a", "b"]).own(&["a"]),
            vec![("a", 200, "Balance 100 + Steady 100".to_owned())],
        ),
        (
            "decisions of others and weights",
            Bench::new(one(json!({"prioritizerPolicy": {"configurations": [
                {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 3},
            ]}})))
            .clusters(&["a"])
            .other(&["a"]),
            vec![("a", 200, "Balance -100 + Steady 100 x 3".to_owned())],
        ),
        (
            "amounts, and a cluster without one",
            Bench::new(exact(json!([{"scoreCoordinate": cpu, "weight": 2}])))
                .cluster(json!({"name": "a", "cpu": ["10", "20"]}))
                .cluster(json!({"name": "b", "cpu": ["20", "20"]}))
                .clusters(&["c"]),
            vec![
                ("a", -200, "ResourceAllocatableCPU -100 x 2".to_owned()),
                ("b", 200, "ResourceAllocatableCPU 100 x 2".to_owned()),
                ("c", 0, "ResourceAllocatableCPU unknown x 2".to_owned()),
            ],
        ),
        (
            "scores of add-ons that are valid",
            Bench::new(exact(json!([{"scoreCoordinate": add_on, "weight": -1}])))
                .clusters(&["a", "b"])
                .score("a", ("r", "s"), 7)
                .score_until("b", ("r", "s"), 7, Some(-1)),
            vec![
                ("a", -7, "AddOn/r/s 7 x -1".to_owned()),
                ("b", 0, "AddOn/r/s unknown x -1".to_owned()),
            ],
        ),
        (
            "no scores at all",
            Bench::new(exact(json!([]))).clusters(&["a"]),
            vec![("a", 0, "no prioritizer counts".to_owned())],
        ),
        (
            "a long reason is cut",
            Bench::new(exact(json!([{"scoreCoordinate": long, "weight": 1}]))).clusters(&["a"]),
            vec![("a", 0, format!("AddOn/{}...", "r".repeat(247)))],
        ),
        (
            "decisions that are kept",
            Bench::new(json!({"numberOfClusters": -1}))
                .clusters(&["a"])
                .own(&["a"]),
            vec![],
        ),
    ] {
        assert_eq!(bench.run().records, [], "{sentence}: without the gate");
        let mut seen = gated(bench).run().records;
        seen.sort_unstable();
        let records = records.into_iter();
        let records: Vec<_> = records
            .map(|(name, score, reason)| (name.to_owned(), score, reason))
            .collect();
        assert_eq!(seen, records, "{sentence}");
    }
}

#[test]
fn a_message_begins_with_ocms_sentence_and_counts_the_clusters() {
    let clusters = |number: i32| {
        Bench::new(json!({
            "numberOfClusters": number,
            "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "x"}}}}],
        }))
        .cluster(json!({"name": "c1", "labels": {"a": "x"}}))
        .cluster(json!({"name": "c2", "labels": {"a": "x"}}))
        .cluster(json!({"name": "c3", "labels": {"a": "x"}, "taints": [{"key": "k", "effect": "NoSelect"}]}))
        .clusters(&["c4", "c5", "c6"])
    };
    let mut unbound = clusters(1);
    unbound.snapshot.bindings.remove(NAMESPACE);
    for (sentence, bench, counts) in [
        (
            "some are left",
            clusters(1),
            "; clusters in the sets: 6; match no predicate: 3; taint not tolerated: 1; ranked: 2; selected: 1",
        ),
        (
            "some are missing",
            clusters(4),
            "; clusters in the sets: 6; match no predicate: 3; taint not tolerated: 1; ranked: 2; selected: 2",
        ),
        (
            "no cluster is selected",
            clusters(0),
            "; clusters in the sets: 6; match no predicate: 3; taint not tolerated: 1; ranked: 2; selected: 0",
        ),
        (
            "a mistake: clusters are not counted",
            clusters(-1).own(&["c1"]),
            "",
        ),
        ("no cluster in the sets", Bench::new(json!({})), ""),
        ("no binding", unbound, ""),
    ] {
        let ocms = bench.run().conditions;
        let conditions = gated(bench).run().conditions;
        let (satisfied, message) = (&conditions.satisfied, &ocms.satisfied.message);
        assert_eq!(satisfied.text(), format!("{message}{counts}"), "{sentence}");
        assert_eq!(ocms.satisfied.text(), *message, "{sentence}");
        assert_eq!(conditions.misconfigured, ocms.misconfigured, "{sentence}");
        for stored in [
            message.clone(),
            satisfied.text(),
            format!("{message}; clusters in the sets: 9"),
        ] {
            assert!(satisfied.is_message(&stored), "{sentence}: {stored}");
        }
        for stored in [
            format!("{message}; x"),
            format!("x{message}"),
            String::new(),
        ] {
            assert!(!satisfied.is_message(&stored), "{sentence}: {stored}");
        }
    }
}
