//! Taints and tolerations: the cases of OCM's filter, and some more.

use serde_json::{Value, json};

use crate::bench::{Bench, after, names};

fn taint(effect: &str) -> Value {
    json!([{"key": "key1", "value": "value1", "effect": effect}])
}

#[test]
fn taints_keep_placements_away_that_do_not_tolerate_them() {
    let equal = |key: &str, value: &str| json!([{"key": key, "value": value, "operator": "Equal"}]);
    let exists = |key: &str| json!([{"key": key, "operator": "Exists"}]);
    let effect = |value: &str, effect: &str| json!([{"key": "key1", "value": value, "operator": "Equal", "effect": effect}]);
    let (no, new, prefer) = ("NoSelect", "NoSelectIfNew", "PreferNoSelect");
    for (sentence, effect_of_taint, tolerations, is_selected, expected) in [
        ("no toleration", no, json!([]), false, false),
        ("no toleration, and selected", no, json!([]), true, false),
        (
            "key and value are tolerated",
            no,
            equal("key1", "value1"),
            false,
            true,
        ),
        (
            "no operator is Equal",
            no,
            json!([{"key": "key1", "value": "value1"}]),
            false,
            true,
        ),
        (
            "an empty operator is Equal",
            no,
            json!([{"key": "key1", "value": "value1", "operator": ""}]),
            false,
            true,
        ),
        (
            "an unknown operator tolerates nothing",
            no,
            json!([{"key": "key1", "operator": "In"}]),
            false,
            false,
        ),
        (
            "an empty value is another value",
            no,
            equal("key1", ""),
            false,
            false,
        ),
        ("another value", no, equal("key1", "value2"), false, false),
        ("another key", no, equal("key2", "value1"), false, false),
        (
            "any value of the key is tolerated",
            no,
            exists("key1"),
            false,
            true,
        ),
        ("any value of another key", no, exists("key2"), false, false),
        (
            "everything is tolerated",
            no,
            json!([{"operator": "Exists"}]),
            false,
            true,
        ),
        ("a new cluster", new, json!([]), false, false),
        ("a selected cluster stays", new, json!([]), true, true),
        (
            "a new cluster is tolerated",
            new,
            exists("key1"),
            false,
            true,
        ),
        (
            "a selected cluster is tolerated",
            new,
            exists("key1"),
            true,
            true,
        ),
        (
            "a new cluster with another key",
            new,
            exists("key2"),
            false,
            false,
        ),
        (
            "a selected cluster stays whatever is tolerated",
            new,
            exists("key2"),
            true,
            true,
        ),
        (
            "a preference keeps nobody away",
            prefer,
            json!([]),
            false,
            true,
        ),
        (
            "nor if it is tolerated",
            prefer,
            exists("key1"),
            false,
            true,
        ),
        ("nor if another key is", prefer, exists("key2"), false, true),
        (
            "an effect that was not known",
            "NoExecute",
            json!([]),
            false,
            false,
        ),
        (
            "no effect is any effect",
            no,
            equal("key1", "value1"),
            false,
            true,
        ),
        (
            "an empty effect is any effect",
            no,
            effect("value1", ""),
            false,
            true,
        ),
        (
            "the effect is tolerated",
            no,
            effect("value1", no),
            false,
            true,
        ),
        ("another effect", no, effect("value1", new), false, false),
        (
            "no effect is any effect, of a new cluster too",
            new,
            equal("key1", "value1"),
            false,
            true,
        ),
        (
            "the effect is tolerated on a new cluster",
            new,
            effect("value1", new),
            false,
            true,
        ),
        (
            "the effect is, but not the value",
            new,
            effect("value2", new),
            false,
            false,
        ),
        (
            "a selected cluster stays with any effect",
            new,
            equal("key1", "value2"),
            true,
            true,
        ),
        ("or with another one", new, effect("value2", no), true, true),
    ] {
        let mut bench = Bench::new(json!({"tolerations": tolerations}))
            .cluster(json!({"name": "c1", "taints": taint(effect_of_taint)}));
        if is_selected {
            bench = bench.own(&["c1"]);
        }
        let seen = bench.run();
        assert_eq!(seen.selected.len(), usize::from(expected), "{sentence}");
        assert_eq!(seen.next, None, "{sentence}");
    }
}

#[test]
fn every_taint_must_be_tolerated() {
    let two = json!([
        {"key": "key1", "value": "value1", "effect": "NoSelect"}, {"key": "key2", "effect": "NoSelect"},
    ]);
    let both = json!([
        {"key": "key1", "value": "value1", "operator": "Equal"}, {"key": "key2", "operator": "Exists"},
    ]);
    for (sentence, tolerations, selected) in [
        ("both are", both, &["c1", "c2"][..]),
        (
            "one is",
            json!([{"key": "key2", "operator": "Exists"}]),
            &[],
        ),
    ] {
        let seen = Bench::new(json!({"tolerations": tolerations}))
            .cluster(json!({"name": "c1", "taints": two}))
            .cluster(json!({"name": "c2", "taints": two}))
            .run();
        assert_eq!(names(&seen.selected), selected, "{sentence}");
    }
}

/// A cluster with a taint that was added some seconds ago.
fn tainted(bench: Bench, name: &str, seconds_ago: i64) -> Bench {
    let added = after(bench.now, -seconds_ago);
    bench.cluster(json!({"name": name, "taints": [
        {"key": "key1", "value": name, "effect": "NoSelect", "timeAdded": added.to_string()},
    ]}))
}

#[test]
fn a_toleration_ends_some_seconds_after_the_taint_was_added() {
    let spec =
        json!({"tolerations": [{"key": "key1", "operator": "Exists", "tolerationSeconds": 10}]});
    let mut bench = Bench::new(spec);
    for (name, seconds_ago) in [("c1", 8), ("c2", 9), ("c3", 10)] {
        bench = tainted(bench, name, seconds_ago);
    }
    let seen = bench.run();
    assert_eq!(names(&seen.selected), ["c1", "c2"]);
    // OCM waits for clusters only that were selected before.
    assert_eq!(seen.next, Some(1.0));
    let seen = bench.clone().own(&["c1", "c2"]).run();
    assert_eq!(
        (names(&seen.selected), seen.next),
        (vec!["c1", "c2"], Some(1.0))
    );
    bench.now = after(bench.now, 1);
    let seen = bench.run();
    assert_eq!((names(&seen.selected), seen.next), (vec!["c1"], Some(1.0)));
    bench.now = after(bench.now, 1);
    let seen = bench.run();
    assert_eq!((names(&seen.selected), seen.next), (vec![], None));
}

#[test]
fn the_first_toleration_that_has_not_ended_counts() {
    let exists =
        |seconds: Value| json!({"key": "key1", "operator": "Exists", "tolerationSeconds": seconds});
    for (sentence, tolerations, is_tolerated, next) in [
        (
            "an ended one leaves it to the next",
            json!([exists(json!(5)), exists(json!(30))]),
            true,
            Some(20.0),
        ),
        (
            "one for ever needs no other",
            json!([exists(Value::Null), exists(json!(30))]),
            true,
            None,
        ),
        (
            "the first one decides when to look again",
            json!([exists(json!(11)), exists(Value::Null)]),
            true,
            Some(1.0),
        ),
        (
            "all ended",
            json!([exists(json!(5)), exists(json!(9))]),
            false,
            None,
        ),
        (
            "a negative time ended",
            json!([exists(json!(-1))]),
            false,
            None,
        ),
        (
            "a very long time does not end",
            json!([exists(json!(i64::MAX))]),
            true,
            None,
        ),
        (
            "a very negative time ended",
            json!([exists(json!(i64::MIN))]),
            false,
            None,
        ),
    ] {
        let seen = tainted(Bench::new(json!({"tolerations": tolerations})), "c1", 10).run();
        assert_eq!(seen.selected.len(), usize::from(is_tolerated), "{sentence}");
        assert_eq!(seen.next, next, "{sentence}");
    }
}

#[test]
fn a_taint_without_a_time_is_long_past() {
    let spec = json!({"tolerations": [{"key": "key1", "operator": "Exists", "tolerationSeconds": 1_000_000_000}]});
    for time in [Value::Null, json!("0001-01-01T00:00:00Z")] {
        let taints = json!([{"key": "key1", "effect": "NoSelect", "timeAdded": time}]);
        let seen = Bench::new(spec.clone())
            .cluster(json!({"name": "c1", "taints": taints}))
            .run();
        assert_eq!(seen.selected.len(), 0, "{time}");
    }
}

#[test]
fn clusters_leave_one_after_another_without_any_event() {
    let spec = json!({"tolerations": [
        {"key": "short", "operator": "Exists", "tolerationSeconds": 10},
        {"key": "long", "operator": "Exists", "tolerationSeconds": 20},
    ]});
    let mut bench = Bench::new(spec).clusters(&["c4"]);
    for (name, key, seconds_ago) in [("c1", "short", 0), ("c2", "long", 0), ("c3", "short", 60)] {
        let added = after(bench.now, -seconds_ago).to_string();
        bench = bench.cluster(json!({"name": name, "taints": [{"key": key, "effect": "NoSelect", "timeAdded": added}]}));
    }
    let mut selected = Vec::new();
    loop {
        bench = bench.bind();
        let seen = bench.run();
        selected.push(seen.selected.len());
        let Some(next) = seen.next else {
            break;
        };
        bench.now = after(bench.now, next as i64);
    }
    assert_eq!(selected, [3, 2, 1]);
}
