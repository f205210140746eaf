//! Fields of the API that OCM ignores, behind gates.

use berth_placement_core::{Gates, Settings};
use serde_json::{Value, json};

use crate::bench::{Bench, after, names};

const ALL: Gates = Gates {
    spread: true,
    sort_by: true,
    prefer_no_select: true,
    scores: true,
};

fn gated(mut bench: Bench, gates: Gates) -> Bench {
    bench.settings = Settings {
        gates,
        ..Settings::default()
    };
    bench
}

/// A placement with spread constraints, and clusters whose names begin with the value of their label `region`; those whose names begin
/// with `-` have none.
fn spread(number: Value, constraints: Value, clusters: &[&str]) -> Bench {
    let mut bench = Bench::new(json!({
        "numberOfClusters": number, "spreadPolicy": {"spreadConstraints": constraints},
    }));
    for name in clusters {
        let labels = match &name[..1] {
            "-" => json!({}),
            region => json!({"region": region}),
        };
        bench = bench.cluster(json!({"name": name, "labels": labels}));
    }
    gated(bench, ALL)
}

fn region(max_skew: i32, when: &str) -> Value {
    json!([{
        "topologyKey": "region", "topologyKeyType": "Label", "maxSkew": max_skew, "whenUnsatisfiable": when,
    }])
}

#[test]
fn clusters_are_spread_over_the_values_of_a_label() {
    let (hard, soft) = ("DoNotSchedule", "ScheduleAnyway");
    let five = &["a1", "a2", "a3", "b1", "c1"][..];
    let all = Value::Null;
    for (sentence, number, constraints, clusters, selected, missing) in [
        (
            "one of each before a second one",
            json!(4),
            region(1, hard),
            five,
            &["a1", "a2", "b1", "c1"][..],
            0,
        ),
        (
            "a place stays free",
            json!(5),
            region(1, hard),
            five,
            &["a1", "a2", "b1", "c1"],
            1,
        ),
        (
            "a larger skew",
            json!(5),
            region(2, hard),
            five,
            &["a1", "a2", "a3", "b1", "c1"],
            0,
        ),
        (
            "a larger skew is used by rank",
            json!(3),
            region(2, hard),
            five,
            &["a1", "a2", "b1"],
            0,
        ),
        (
            "rather anyway than not at all",
            json!(5),
            region(1, soft),
            five,
            &["a1", "a2", "a3", "b1", "c1"],
            0,
        ),
        (
            "but spread as far as possible",
            json!(3),
            region(1, soft),
            five,
            &["a1", "b1", "c1"],
            0,
        ),
        (
            "without a number",
            all.clone(),
            region(1, hard),
            five,
            &["a1", "a2", "b1", "c1"],
            1,
        ),
        (
            "a cluster without the label is not selected",
            json!(3),
            region(1, hard),
            &["-1", "a1", "b1"],
            &["a1", "b1"],
            1,
        ),
        (
            "or last",
            json!(2),
            region(1, soft),
            &["-1", "a1", "b1"],
            &["a1", "b1"],
            0,
        ),
        (
            "no cluster has the label",
            all.clone(),
            region(1, hard),
            &["-1", "-2"],
            &[],
            2,
        ),
        (
            "one value is no skew",
            json!(2),
            region(1, hard),
            &["a1", "a2", "a3"],
            &["a1", "a2"],
            0,
        ),
        (
            "no constraints",
            json!(2),
            json!([]),
            &["a1", "a2", "b1"],
            &["a1", "a2"],
            0,
        ),
    ] {
        let seen = spread(number, constraints, clusters).run();
        assert_eq!(names(&seen.selected), selected, "{sentence}");
        assert_eq!(seen.unscheduled, missing, "{sentence}");
    }
}

#[test]
fn an_earlier_constraint_is_more_important() {
    let constraint =
        |key: &str| json!({"topologyKey": key, "topologyKeyType": "Claim", "maxSkew": 1});
    let bench = |first: &str, second: &str| {
        let mut bench = Bench::new(json!({
            "numberOfClusters": 2,
            "spreadPolicy": {"spreadConstraints": [constraint(first), constraint(second)]},
        }));
        for (name, cloud, region) in [("c1", "x", "eu"), ("c2", "y", "eu"), ("c3", "x", "us")] {
            bench =
                bench.cluster(json!({"name": name, "claims": {"cloud": cloud, "region": region}}));
        }
        gated(bench, ALL).run()
    };
    assert_eq!(names(&bench("cloud", "region").selected), ["c1", "c2"]);
    assert_eq!(names(&bench("region", "cloud").selected), ["c1", "c3"]);
}

#[test]
fn a_cluster_that_is_kept_out_says_so() {
    let seen = spread(
        json!(3),
        region(1, "DoNotSchedule"),
        &["a1", "a2", "a3", "b1"],
    )
    .run();
    assert_eq!(names(&seen.selected), ["a1", "a2", "b1"]);
    assert!(
        seen.outcomes["a3"].ends_with(", kept out by spread constraints"),
        "{}",
        seen.outcomes["a3"]
    );
}

#[test]
fn decisions_are_sorted_by_score() {
    let bench = |gates| {
        let mut bench = Bench::new(json!({
            "sortBy": "Score", "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 2}},
        }))
        .clusters(&["c1", "c2", "c3", "c4"]);
        bench = bench.other(&["c1"]);
        gated(bench, gates).run()
    };
    let by_score = json!([["", ["c2", "c3"]], ["", ["c4", "c1"]]]);
    assert_eq!(json!(bench(ALL).groups), by_score);
    let by_name = json!([["", ["c1", "c2"]], ["", ["c3", "c4"]]]);
    assert_eq!(json!(bench(Gates::default()).groups), by_name);
}

#[test]
fn clusters_with_a_soft_taint_come_last_unless_they_are_selected_or_it_is_tolerated() {
    let soft = json!([{"key": "a", "effect": "PreferNoSelect"}]);
    let bench = |spec: Value| {
        Bench::new(spec)
            .cluster(json!({"name": "c1", "taints": soft}))
            .clusters(&["c2", "c3"])
            .other(&["c2", "c3"])
    };
    let one = || json!({"numberOfClusters": 1});
    let tolerated =
        json!({"numberOfClusters": 1, "tolerations": [{"key": "a", "operator": "Exists"}]});
    for (sentence, bench, gates, selected) in [
        (
            "it comes last in spite of its score",
            bench(one()),
            ALL,
            &["c2"][..],
        ),
        (
            "it is selected if no other is left",
            bench(json!({})),
            ALL,
            &["c2", "c3", "c1"],
        ),
        (
            "it stays if it is selected",
            bench(one()).own(&["c1"]),
            ALL,
            &["c1"],
        ),
        ("it is tolerated", bench(tolerated), ALL, &["c1"]),
        (
            "the effect is ignored",
            bench(one()),
            Gates::default(),
            &["c1"],
        ),
    ] {
        assert_eq!(
            names(&gated(bench, gates).run().selected),
            selected,
            "{sentence}"
        );
    }
}

#[test]
fn a_soft_taint_is_looked_at_again_when_its_toleration_ends() {
    let bench = Bench::new(
        json!({"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 60}]}),
    );
    let added = after(bench.now, -20).to_string();
    let bench = bench.cluster(json!({"name": "c1", "taints": [{"key": "a", "effect": "PreferNoSelect", "timeAdded": added}]}));
    assert_eq!(gated(bench.clone(), ALL).run().next, Some(40.0));
    assert_eq!(gated(bench, Gates::default()).run().next, None);
}
