//! The prioritizers one by one: the cases of OCM's, and some more.

use serde_json::{Value, json};

use crate::bench::{Bench, names};

const THREE: [&str; 3] = ["c1", "c2", "c3"];

fn exactly(prioritizer: &str) -> Bench {
    Bench::new(
        json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": prioritizer}},
        ]}}),
    )
}

#[test]
fn balance_prefers_clusters_with_few_decisions_of_others() {
    let bench = || exactly("Balance").clusters(&THREE);
    for (sentence, bench, expected) in [
        ("no decisions", bench(), [100, 100, 100]),
        (
            "own decisions do not count",
            bench().own(&["c1"]),
            [100, 100, 100],
        ),
        (
            "those of another placement do",
            bench().decision("ns", Some("p1"), &["c1"]),
            [-100, 100, 100],
        ),
        (
            "those of a namesake do",
            bench().decision("ns1", Some("p"), &["c1"]),
            [-100, 100, 100],
        ),
        (
            "those of no placement do",
            bench().other(&["c1"]),
            [-100, 100, 100],
        ),
        (
            "the most makes the scale",
            bench().other(&["c1", "c2"]).other(&["c1", "c3"]),
            [-100, 0, 0],
        ),
        (
            "also a cluster that does not exist",
            bench().other(&["c1", "x", "x"]),
            [0, 100, 100],
        ),
        (
            "thirds are truncated",
            bench()
                .other(&["c1", "c2", "c3"])
                .other(&["c1", "c2"])
                .other(&["c1"]),
            [-100, -32, 32],
        ),
    ] {
        let seen = bench.run();
        assert_eq!(seen.scores_of("Balance"), expected.map(Some), "{sentence}");
    }
}

#[test]
fn steady_prefers_selected_clusters() {
    let bench = || exactly("Steady").clusters(&THREE);
    for (sentence, bench, expected) in [
        ("no decisions", bench(), [0, 0, 0]),
        ("one decision", bench().own(&["c1"]), [100, 0, 0]),
        (
            "two objects",
            bench().own(&["c1"]).own(&["c3"]),
            [100, 0, 100],
        ),
        (
            "others' decisions do not count",
            bench().other(&["c1"]),
            [0, 0, 0],
        ),
    ] {
        let seen = bench.run();
        assert_eq!(seen.scores_of("Steady"), expected.map(Some), "{sentence}");
    }
}

#[test]
fn resources_are_scored_between_the_least_and_the_most() {
    for (prioritizer, resource) in [
        ("ResourceAllocatableCPU", "cpu"),
        ("ResourceAllocatableMemory", "memory"),
    ] {
        for (sentence, amounts, expected) in [
            (
                "a range",
                [
                    json!(["20", "100"]),
                    json!(["60", "100"]),
                    json!(["100", "100"]),
                ],
                [Some(-100), Some(0), Some(100)],
            ),
            (
                "one amount",
                [json!(["5", "10"]), json!(["5", "10"]), json!(["5", "10"])],
                [Some(100); 3],
            ),
            (
                "nothing",
                [json!(["0", "10"]), json!(["0", "10"]), json!(["0", "10"])],
                [Some(100); 3],
            ),
            (
                "unknown",
                [Value::Null, Value::Null, Value::Null],
                [None; 3],
            ),
            (
                "one unknown",
                [json!(["2", "2"]), Value::Null, json!(["4", "4"])],
                [Some(-100), None, Some(100)],
            ),
            (
                "no capacity is unknown",
                [json!(["2", "2"]), json!(["3"]), json!(["4", "4"])],
                [Some(-100), None, Some(100)],
            ),
            (
                "an unreadable amount is unknown",
                [json!(["2", "2"]), json!(["many", "3"]), json!(["4", "4"])],
                [Some(-100), None, Some(100)],
            ),
            (
                "the order of operations is kept",
                [json!(["0", "1"]), json!(["4", "10"]), json!(["10", "10"])],
                [Some(-100), Some(-19), Some(100)],
            ),
        ] {
            let mut bench = exactly(prioritizer);
            for (name, amount) in THREE.into_iter().zip(amounts) {
                bench = bench.cluster(json!({"name": name, resource: amount}));
            }
            let seen = bench.run();
            assert_eq!(
                seen.scores_of(prioritizer),
                expected,
                "{resource}: {sentence}"
            );
        }
    }
}

/// As in OCM: a cluster with unknown resources has the score 0.
#[test]
fn a_cluster_without_a_score_outranks_the_lower_half() {
    let seen = exactly("ResourceAllocatableCPU")
        .cluster(json!({"name": "c1", "cpu": ["0", "1"]}))
        .cluster(json!({"name": "c2", "cpu": ["10", "10"]}))
        .clusters(&["c3"])
        .run();
    assert_eq!(names(&seen.selected), ["c2", "c3", "c1"]);
}

#[test]
fn resources_are_compared_among_feasible_clusters_only() {
    let mut bench = exactly("ResourceAllocatableCPU");
    for (name, cpu, taints) in [
        ("c1", "1", json!([])),
        ("c2", "2", json!([])),
        ("c3", "99", json!([{"key": "a", "effect": "NoSelect"}])),
    ] {
        bench = bench.cluster(json!({"name": name, "cpu": [cpu, "99"], "taints": taints}));
    }
    assert_eq!(
        bench.run().scores_of("ResourceAllocatableCPU"),
        [Some(-100), Some(100)]
    );
}

#[test]
fn scores_of_add_ons_count_while_they_are_valid() {
    let name = "AddOn/test/score1";
    let bench = || {
        Bench::new(json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "test", "scoreName": "score1"}}},
        ]}}))
        .clusters(&THREE)
    };
    let score = ("test", "score1");
    let all = |seconds: Option<i64>| {
        bench()
            .score_until("c1", score, 30, seconds)
            .score("c2", score, 40)
            .score("c3", score, 50)
    };
    let expired = &["AddOnPlacementScores c1/test expired"][..];
    let moment = 1e-9;
    for (sentence, bench, expected, warnings, next) in [
        ("no scores", bench(), [None; 3], &[][..], None),
        (
            "one score",
            bench().score("c1", score, 30),
            [Some(30), None, None],
            &[],
            None,
        ),
        (
            "another score",
            bench().score("c1", ("test", "score2"), 30),
            [None; 3],
            &[],
            None,
        ),
        (
            "another resource",
            bench().score("c1", ("test2", "score1"), 30),
            [None; 3],
            &[],
            None,
        ),
        (
            "an expired score",
            all(Some(-30)),
            [None, Some(40), Some(50)],
            expired,
            None,
        ),
        (
            "all scores",
            all(None),
            [Some(30), Some(40), Some(50)],
            &[],
            None,
        ),
        (
            "a score at its end",
            all(Some(0)),
            [Some(30), Some(40), Some(50)],
            &[],
            Some(moment),
        ),
        (
            "a score that will expire",
            all(Some(60)),
            [Some(30), Some(40), Some(50)],
            &[],
            Some(60.0 + moment),
        ),
    ] {
        let seen = bench.run();
        assert_eq!(seen.scores_of(name), expected, "{sentence}");
        assert_eq!(names(&seen.warnings), warnings, "{sentence}");
        assert_eq!(seen.next, next, "{sentence}");
    }
}

#[test]
fn many_expired_scores_are_counted() {
    let mut bench = Bench::new(json!({"prioritizerPolicy": {"configurations": [
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}},
    ]}}));
    for index in 0..100 {
        let name = format!("c{index:02}");
        bench = bench
            .clusters(&[&name])
            .score_until(&name, ("r", "s"), 1, Some(-1));
    }
    let [warning] = &bench.run().warnings[..] else {
        panic!("one warning");
    };
    assert!(
        warning.starts_with("AddOnPlacementScores c00/r c01/r "),
        "{warning}"
    );
    assert!(warning.ends_with(" c19/r and 80 more expired"), "{warning}");
}

#[test]
fn weights_are_those_of_ocm() {
    let built_in = |name: &str, weight: Value| json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight});
    let add_on = |weight: i32| {
        json!({
            "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}, "weight": weight,
        })
    };
    let strange = json!({"scoreCoordinate": {
        "type": "BuiltIn", "builtIn": "Balance", "addOn": {"resourceName": "r", "scoreName": "s"},
    }, "weight": 3});
    let none = || Value::Null;
    for (sentence, mode, configurations, expected) in [
        (
            "the defaults",
            "Additive",
            json!([]),
            json!([["Balance", 1], ["Steady", 1]]),
        ),
        ("no defaults", "Exact", json!([]), json!([])),
        (
            "a weight replaces a default",
            "Additive",
            json!([built_in("Steady", json!(3))]),
            json!([["Balance", 1], ["Steady", 3]]),
        ),
        (
            "no weight is 1",
            "Exact",
            json!([built_in("Balance", none())]),
            json!([["Balance", 1]]),
        ),
        (
            "zero disables",
            "Additive",
            json!([built_in("Balance", json!(0))]),
            json!([["Steady", 1]]),
        ),
        (
            "the last one counts",
            "Exact",
            json!([
                built_in("Balance", json!(2)),
                built_in("Balance", json!(-5))
            ]),
            json!([["Balance", -5]]),
        ),
        (
            "also if it is zero",
            "Exact",
            json!([built_in("Balance", json!(2)), built_in("Balance", json!(0))]),
            json!([]),
        ),
        (
            "scores of add-ons all count",
            "Exact",
            json!([add_on(1), add_on(2)]),
            json!([["AddOn/r/s", 1], ["AddOn/r/s", 2]]),
        ),
        (
            "a built-in one with an addOn is another one",
            "Additive",
            json!([strange]),
            json!([["Balance", 1], ["Steady", 1], ["Balance", 3]]),
        ),
        (
            "no type is BuiltIn",
            "Exact",
            json!([{"scoreCoordinate": {"builtIn": "Steady"}}]),
            json!([["Steady", 1]]),
        ),
        (
            "an unknown one with the weight zero does not matter",
            "Exact",
            json!([built_in("Spread", json!(0))]),
            json!([]),
        ),
    ] {
        let spec = json!({"prioritizerPolicy": {"mode": mode, "configurations": configurations}});
        let bench = Bench::new(spec).clusters(&["c1"]);
        let rules = bench.rules();
        assert_eq!(rules.misconfiguration(), None, "{sentence}");
        let previous = Default::default();
        let view = bench.snapshot.view(&rules);
        let schedule = view.schedule(&rules, &previous, bench.now);
        let berth_placement_core::ClusterOutcome::Ranked(standing) =
            schedule.outcome(&bench.snapshot.clusters["c1"])
        else {
            panic!("{sentence}: not ranked");
        };
        let parts = standing.parts.iter();
        let weights: Vec<_> = parts
            .map(|part| json!([part.prioritizer.to_string(), part.weight]))
            .collect();
        assert_eq!(Value::Array(weights), expected, "{sentence}");
    }
}

#[test]
fn a_negative_weight_prefers_low_scores() {
    let seen = Bench::new(
        json!({"numberOfClusters": 1, "prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"builtIn": "Steady"}, "weight": -1},
        ]}}),
    )
    .clusters(&["c1", "c2"])
    .own(&["c1"])
    .run();
    assert_eq!(names(&seen.selected), ["c2"]);
}
