//! Laws of the mutating path's patch, over generated objects: it touches the set label and the times of taints, and
//! nothing else; and a second pass changes nothing.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use berth_rules::object::Cluster;
use berth_rules::{Answers, Change, FeatureGates, Outcome, cluster::mutate};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::answered;

const SET: &str = "cluster.open-cluster-management.io/clusterset";

/// Any JSON, as a field that this program does not know.
fn unknown() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z/~\"]{1,6}", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

fn taint() -> impl Strategy<Value = Value> {
    let time = prop_oneof![
        Just(Value::Null),
        Just(json!("2026-11-20T00:00:00Z")),
        Just(json!("2026-11-21T12:00:03Z")),
        Just(json!("0001-01-01T00:00:00Z")),
    ];
    (
        "[kj]",
        "[vw]",
        prop_oneof![Just("NoSelect"), Just("PreferNoSelect")],
        prop::option::of(time),
        unknown(),
    )
        .prop_map(|(key, value, effect, time, unknown)| {
            let mut taint =
                json!({ "key": key, "value": value, "effect": effect, "unknown": unknown });
            if let Some(time) = time {
                taint["timeAdded"] = time;
            }
            taint
        })
}

fn cluster() -> impl Strategy<Value = Value> {
    let label = prop_oneof![
        Just(None),
        Just(Some("")),
        Just(Some("default")),
        Just(Some("a"))
    ];
    let labels = (prop::option::of(label), any::<bool>());
    (labels, prop::option::of(prop::collection::vec(taint(), 0..4)), unknown(), unknown()).prop_map(
        |((labels, other), taints, in_spec, at_top)| {
            let mut object = json!({ "metadata": { "name": "c1" }, "spec": { "unknown": in_spec }, "unknown": at_top });
            if let Some(set) = labels {
                object["metadata"]["labels"] = json!({});
                if let Some(set) = set {
                    object["metadata"]["labels"][SET] = set.into();
                }
                if other {
                    object["metadata"]["labels"]["other/label"] = "x".into();
                }
            }
            if let Some(taints) = taints {
                object["spec"]["taints"] = taints.into();
            }
            object
        },
    )
}

/// The object after the mutating path; `None` when it was refused.
fn mutated(old: Option<&Value>, new: &Value, facts: &[&str]) -> Option<Value> {
    let (old, text) = (old.map(Value::to_string), new.to_string());
    let change = Change {
        name: "c1",
        namespace: "",
        user: "dev",
        new: serde_json::from_str::<Cluster<'_>>(&text).unwrap(),
        old: old
            .as_deref()
            .map(|old| serde_json::from_str::<Cluster<'_>>(old).unwrap()),
    };
    let gates = FeatureGates::default();
    let answers = answered(mutate::questions(&change, gates), facts);
    let now = "2026-11-21T12:00:00Z".parse().unwrap();
    let decision = mutate::decide(&change, gates, Answers::new(&answers), now);
    if decision.outcome != Outcome::Allowed {
        return None;
    }
    let mut object = new.clone();
    json_patch::patch(&mut object, &decision.patch).unwrap();
    Some(object)
}

/// The object without what the gate may touch.
fn without_ours(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
        labels.remove(SET);
        if labels.is_empty() {
            metadata.remove("labels");
        }
    }
    for taint in object["spec"]["taints"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        taint.as_object_mut().unwrap().remove("timeAdded");
    }
    object
}

proptest! {
    #[test]
    fn nothing_else_is_touched(old in prop::option::of(cluster()), new in cluster(), may in any::<bool>()) {
        let facts: &[&str] = if may { &["join:default"] } else { &[] };
        if let Some(object) = mutated(old.as_ref(), &new, facts) {
            prop_assert_eq!(without_ours(object), without_ours(new));
        }
    }

    #[test]
    fn a_second_pass_changes_nothing(old in prop::option::of(cluster()), new in cluster()) {
        if let Some(once) = mutated(old.as_ref(), &new, &["join:default"]) {
            let twice = mutated(old.as_ref(), &once, &["join:default"]);
            prop_assert_eq!(twice, Some(once));
        }
    }

    #[test]
    fn what_was_stored_may_be_written_again(old in cluster()) {
        let stored = mutated(None, &old, &["join:default"]).unwrap();
        prop_assert_eq!(mutated(Some(&stored), &stored, &[]), Some(stored.clone()));
        let mut manifest = stored.clone();
        for taint in manifest["spec"]["taints"].as_array_mut().into_iter().flatten() {
            taint.as_object_mut().unwrap().remove("timeAdded");
        }
        prop_assert!(mutated(Some(&stored), &manifest, &[]).is_some(), "nor need a manifest know the times");
    }
}
