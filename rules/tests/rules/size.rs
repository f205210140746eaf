//! The size of ManagedClusters: each row is a write and its decision, of the mutating and of the validating path.

use berth_rules::object::Cluster;
use berth_rules::{Change, MutateCluster, Settings, ValidateCluster};
use serde_json::{Map, Value, json};

use crate::support::{cluster, decided, deleting, short};

const WAITING: usize = 64 * 1024;

const ACCEPTED: usize = 256 * 1024;

/// The decisions of both paths.
fn decide(old: Option<&Value>, new: &Value) -> [String; 2] {
    let (old, new) = (old.map(Value::to_string), new.to_string());
    let read = |text| serde_json::from_str::<Cluster<'_>>(text).unwrap();
    let change = || Change {
        name: "c1",
        namespace: "",
        user: "dev",
        new: serde_json::from_str::<Cluster<'_>>(&new).unwrap(),
        old: old.as_deref().map(read),
    };
    let settings = Settings::default();
    [
        short(&decided::<MutateCluster>(
            &change(),
            &settings,
            &["accept", "join:default", "set:default"],
        )),
        short(&decided::<ValidateCluster>(
            &change(),
            &settings,
            &["accept", "join:default", "set:default"],
        )),
    ]
}

fn with(metadata: Value, spec: Value) -> Value {
    let mut object = cluster(json!({}), spec);
    let fields = object["metadata"].as_object_mut().unwrap();
    fields.extend(metadata.as_object().unwrap().clone());
    object
}

/// An annotation that takes this many bytes.
fn annotated(bytes: usize) -> Value {
    with(
        json!({"annotations": {"a": "x".repeat(bytes - 1)}}),
        json!({}),
    )
}

fn accepted(mut object: Value) -> Value {
    object["spec"]["hubAcceptsClient"] = true.into();
    object
}

fn tainted(number: usize) -> Value {
    let taint =
        |i| json!({"key": format!("taint{i:04}"), "value": "x".repeat(1015), "effect": "NoSelect"});
    with(
        json!({}),
        json!({"taints": (0..number).map(taint).collect::<Vec<_>>()}),
    )
}

fn labelled(number: usize) -> Value {
    let labels = (0..number).map(|i| (format!("l{i:06}"), Value::from("x")));
    with(json!({"labels": labels.collect::<Map<_, _>>()}), json!({}))
}

/// A bit of everything, of this many bytes.
fn mixed(bytes: usize) -> Value {
    let part = "x".repeat(10_000);
    let rest = "x".repeat(bytes - 50_000 - 13);
    with(
        json!({
            "labels": {"l": part}, "annotations": {"a": part}, "finalizers": [part],
            "ownerReferences": [{"name": part, "controller": true}],
        }),
        json!({
            "managedClusterClientConfigs": [{"url": "https://a", "caBundle": ""}],
            "taints": [{"key": "t", "value": part, "effect": "NoSelect"}, {"key": "u", "value": rest, "effect": "NoSelect"}],
        }),
    )
}

/// A cluster of the maximum size, and what the hub adds to it.
fn with_parts_of_hub(bytes: usize) -> Value {
    let mut object = annotated(bytes);
    object["metadata"]["labels"] =
        json!({"cluster.open-cluster-management.io/clusterset": "default"});
    object["metadata"]["finalizers"] = json!([
        "cluster.open-cluster-management.io/api-resource-cleanup",
        "cluster.open-cluster-management.io/resource-cleanup",
    ]);
    object["spec"]["taints"] = json!([
        {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect", "timeAdded": "2026-11-21T12:00:00Z"},
    ]);
    object
}

#[test]
fn a_cluster_has_a_limit_in_all() {
    let large = || annotated(WAITING + 100);
    let with_lease = |mut object: Value| {
        object["spec"]["leaseDurationSeconds"] = 90.into();
        object
    };
    for (sentence, old, new, is_allowed) in [
        ("a small one", None, annotated(1_000), true),
        ("the largest", None, annotated(WAITING), true),
        ("one byte more", None, annotated(WAITING + 1), false),
        ("900 taints of a kilobyte", None, tainted(900), false),
        ("60 taints of a kilobyte", None, tainted(60), true),
        ("12,500 labels", None, labelled(12_500), false),
        ("a bit of everything", None, mixed(WAITING), true),
        (
            "a bit of everything and a byte",
            None,
            mixed(WAITING + 1),
            false,
        ),
        (
            "it grows",
            Some(annotated(WAITING)),
            annotated(WAITING + 1),
            false,
        ),
        (
            "a stored one stays",
            Some(large()),
            with_lease(large()),
            true,
        ),
        (
            "a stored one shrinks",
            Some(large()),
            annotated(WAITING + 99),
            true,
        ),
        (
            "a stored one grows",
            Some(large()),
            annotated(WAITING + 101),
            false,
        ),
        (
            "a stored one becomes another",
            Some(large()),
            labelled(6_000),
            true,
        ),
        (
            "parts of the hub count nothing",
            None,
            with_parts_of_hub(WAITING),
            true,
        ),
        (
            "the hub adds parts to a stored one",
            Some(large()),
            with_parts_of_hub(WAITING + 100),
            true,
        ),
        (
            "an accepted one may be larger",
            None,
            accepted(annotated(ACCEPTED)),
            true,
        ),
        (
            "but not larger than that",
            None,
            accepted(annotated(ACCEPTED + 1)),
            false,
        ),
        (
            "its agent adds to it",
            Some(accepted(annotated(ACCEPTED))),
            accepted(annotated(ACCEPTED + 1)),
            false,
        ),
        (
            "the acceptance of a stored one",
            Some(annotated(ACCEPTED + 1)),
            accepted(annotated(ACCEPTED + 1)),
            true,
        ),
        (
            "the acceptance is taken back",
            Some(accepted(annotated(1_000))),
            annotated(ACCEPTED + 1),
            true,
        ),
        (
            "it is being deleted",
            Some(deleting(annotated(1_000))),
            deleting(large()),
            true,
        ),
    ] {
        let expected = if is_allowed {
            "allow"
        } else {
            "400 cluster-size"
        };
        let [mutated, validated] = decide(old.as_ref(), &new);
        assert_eq!(validated, expected, "{sentence}");
        assert!(
            is_allowed && !mutated.starts_with("400") || mutated == expected,
            "{sentence}: {mutated}"
        );
    }
}

#[test]
fn the_denial_says_how_much_and_how_much_is_allowed() {
    for (object, words) in [
        (
            annotated(70_000),
            "Too large: 70000 bytes of labels, annotations, finalizers, owner references, taints and client configs: a ManagedCluster must have at most 65536 bytes until it is accepted",
        ),
        (
            accepted(annotated(270_000)),
            "a ManagedCluster must have at most 262144 bytes",
        ),
    ] {
        let text = object.to_string();
        let change = Change {
            name: "c1",
            namespace: "",
            user: "dev",
            new: serde_json::from_str::<Cluster<'_>>(&text).unwrap(),
            old: None,
        };
        let decision = decided::<ValidateCluster>(
            &change,
            &Settings::default(),
            &["accept", "join:default", "set:default"],
        );
        assert!(format!("{decision:?}").contains(words), "{decision:?}");
    }
}
