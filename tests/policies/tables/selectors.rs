//! Selectors of ManagedClusterSets: their syntax, and the permission to widen them.

use berth_api::selector::text::label_selector;
use serde_json::{Value, json};

use super::{Row, called, deleting};
use crate::write::Verb;

const ALL: &[&str] = &["join:*"];

/// Selectors before and after, and whether the second is wider.
pub const WIDENED: [(&str, &str, bool); 27] = [
    ("env=dev", "env in (dev)", false),
    ("env=dev", "env=dev,region=eu", false),
    ("env=dev,region=eu", "env=dev", true),
    ("env=dev", "", true),
    ("", "env=dev", false),
    ("env in (dev,test)", "env in (dev)", false),
    ("env in (dev)", "env in (dev,test)", true),
    ("env=dev", "env=prod", true),
    ("env=dev", "region=dev", true),
    ("env notin (a,b)", "env notin (a)", true),
    ("env notin (a)", "env notin (a,b)", false),
    ("env", "env=dev", false),
    ("env=dev", "env", true),
    ("env notin (a)", "!env", false),
    ("!env", "env notin (a)", true),
    ("env notin (a)", "env in (a,b)", true),
    ("env notin (a)", "env in (b)", false),
    ("env,env notin (a)", "env notin (a)", true),
    ("env notin (a)", "env,env notin (a)", false),
    ("env in (a,b),env in (b,c)", "env=b", false),
    ("env in (a,b),env in (b,c)", "env in (a,b)", true),
    ("env=a", "region=eu,env in (b),env in (c)", false),
    ("env=a,env=b", "env=a", true),
    ("env in (a,b),env notin (b)", "env in (a)", false),
    ("env in (a,b),env notin (b)", "env in (b)", true),
    ("env=a", "region=eu,env,!env", false),
    ("env=a", "env in (b),env notin (b)", false),
];

/// A ManagedClusterSet with this selector.
pub fn set(selector: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {},
        "spec": { "clusterSelector": selector },
    })
}

/// A ManagedClusterSet of the clusters with these labels.
pub fn selects(selector: Value) -> Value {
    set(json!({ "selectorType": "LabelSelector", "labelSelector": selector }))
}

/// As [`selects`], by the text of a selector.
pub fn selects_text(selector: &str) -> Value {
    selects(serde_json::to_value(label_selector(selector).unwrap()).unwrap())
}

fn expression(key: &str, operator: &str, values: Value) -> Value {
    selects(json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] }))
}

fn values(values: Value) -> Value {
    expression("env", "In", values)
}

/// A set with this number of requirements, each with this number of values.
pub fn large(requirements: usize, values: usize) -> Value {
    let expressions: Vec<_> = (0..requirements)
        .map(|i| {
            let values: Vec<_> = (0..values).map(|n| format!("v{n}")).collect();
            json!({ "key": format!("k{i}"), "operator": "In", "values": values })
        })
        .collect();
    selects(json!({ "matchExpressions": expressions }))
}

pub fn rows() -> Vec<Row> {
    let exclusive = || set(json!({ "selectorType": "ExclusiveClusterSetLabel" }));
    let without = || set(json!({ "selectorType": "LabelSelector" }));
    let invalid = || expression("env", "Like", json!(["x"]));
    let like = |key: &str| expression(key, "Exists", json!([]));
    let labels = |key: &str, value: &str| selects(json!({ "matchLabels": { key: value } }));
    let long = "x".repeat(64);
    let mut rows = super::rows(
        "selectors",
        [
            ("exclusive", &[], None, exclusive(), "allow"),
            ("without a spec", &[], None, plain(), "allow"),
            ("of all clusters", ALL, None, selects(json!({})), "allow"),
            ("an expression", ALL, None, values(json!(["x"])), "allow"),
            ("labels", ALL, None, labels("env", "x"), "allow"),
            ("an unknown operator", ALL, None, invalid(), "400"),
            (
                "an empty operator",
                ALL,
                None,
                expression("env", "", json!(["x"])),
                "400",
            ),
            ("no values", ALL, None, values(json!([])), "400"),
            (
                "null values",
                ALL,
                None,
                selects(json!({ "matchExpressions": [{ "key": "env", "operator": "NotIn" }] })),
                "400",
            ),
            (
                "values that it cannot have",
                ALL,
                None,
                expression("env", "Exists", json!(["x"])),
                "400",
            ),
            (
                "values that DoesNotExist cannot have",
                ALL,
                None,
                expression("env", "DoesNotExist", json!(["x"])),
                "400",
            ),
            (
                "a value that no label can have",
                ALL,
                None,
                values(json!(["a b"])),
                "400",
            ),
            (
                "a value that is too long",
                ALL,
                None,
                values(json!([long])),
                "400",
            ),
            (
                "several bad values",
                ALL,
                None,
                values(json!(["a b", "c", "-", long])),
                "400",
            ),
            (
                "a key that no label can have",
                ALL,
                None,
                like("a b"),
                "400",
            ),
            ("an empty key", ALL, None, like(""), "400"),
            (
                "a key with a prefix",
                ALL,
                None,
                like("example.com/x"),
                "allow",
            ),
            ("a key with a bad prefix", ALL, None, like("-/x"), "400"),
            ("a key with an empty prefix", ALL, None, like("/x"), "400"),
            ("a key without a name", ALL, None, like("x/"), "400"),
            ("a key of three parts", ALL, None, like("a/b/c"), "400"),
            ("a key that is too long", ALL, None, like(&long), "400"),
            (
                "a prefix that is too long",
                ALL,
                None,
                like(&format!("{}/x", "x".repeat(254))),
                "400",
            ),
            ("a key with a quote", ALL, None, like("a\"b\\"), "400"),
            ("a key beyond ASCII", ALL, None, like("é"), "400"),
            ("a bad label", ALL, None, labels("a b", "c d"), "400"),
            (
                "labels and expressions",
                ALL,
                None,
                selects(
                    json!({ "matchLabels": { "b b": "x", "a": "b b" }, "matchExpressions": [{ "key": "c c", "operator": "Like" }] }),
                ),
                "400",
            ),
            ("a long key", ALL, None, like(&"x".repeat(300)), "400"),
            ("no selector", ALL, None, without(), "400"),
            (
                "a selector beside the exclusive type",
                &[],
                None,
                set(
                    json!({ "selectorType": "ExclusiveClusterSetLabel", "labelSelector": { "matchLabels": { "a b": "c" } } }),
                ),
                "allow",
            ),
            (
                "a stored bad selector stays",
                ALL,
                Some(invalid()),
                labelled(invalid()),
                "allow",
            ),
            (
                "a bad selector comes",
                ALL,
                Some(exclusive()),
                invalid(),
                "400",
            ),
            (
                "a bad selector becomes another",
                ALL,
                Some(invalid()),
                expression("env", "Unlike", json!(["x"])),
                "400",
            ),
            (
                "a bad selector is mended",
                ALL,
                Some(invalid()),
                values(json!(["x"])),
                "allow",
            ),
            (
                "while it is deleted",
                ALL,
                Some(deleting(exclusive())),
                invalid(),
                "allow",
            ),
            (
                "the longest name",
                &[],
                None,
                called(plain(), &"s".repeat(63)),
                "allow",
            ),
            (
                "a long name",
                &[],
                None,
                called(plain(), &"s".repeat(64)),
                "400",
            ),
            (
                "a long name and a bad selector",
                ALL,
                None,
                called(invalid(), &"s".repeat(64)),
                "400",
            ),
            (
                "a stored long name",
                &[],
                Some(called(plain(), &"t".repeat(64))),
                labelled(called(plain(), &"t".repeat(64))),
                "allow",
            ),
            ("1,000 requirements", ALL, None, large(1_000, 1), "allow"),
            ("1,001 requirements", ALL, None, large(1_001, 1), "400"),
            ("10,000 values", ALL, None, large(10, 1_000), "allow"),
            ("10,001 values", ALL, None, large(1, 10_001), "400"),
            ("both", ALL, None, large(1_001, 11), "400"),
            (
                "1,001 requirements stay",
                ALL,
                Some(large(1_001, 1)),
                labelled(large(1_001, 1)),
                "allow",
            ),
            (
                "1,002 requirements shrink",
                ALL,
                Some(large(1_002, 1)),
                large(1_001, 1),
                "400",
            ),
            (
                "1,002 requirements shrink to the bound",
                ALL,
                Some(large(1_002, 1)),
                large(1_000, 1),
                "allow",
            ),
            (
                "1,002 requirements shrink to the bound, without the permission",
                &[],
                Some(large(1_002, 1)),
                large(1_000, 1),
                "403",
            ),
            (
                "1,001 requirements while it is deleted",
                ALL,
                Some(deleting(large(1, 1))),
                large(1_001, 1),
                "allow",
            ),
            (
                "1,001 requirements while it is deleted, without the permission",
                &[],
                Some(deleting(large(1, 1))),
                large(1_001, 1),
                "403",
            ),
            (
                "1,001 requirements become exclusive",
                &[],
                Some(large(1_001, 1)),
                exclusive(),
                "allow",
            ),
        ],
    );
    rows.extend(super::rows(
        "widening",
        [
            ("making one", &[], None, values(json!(["a"])), "403"),
            ("the permission for one set", &["join:a"], None, values(json!(["a"])), "403"),
            ("an exclusive one", &[], None, exclusive(), "allow"),
            ("global by its content", &[], None, called(selects(json!({})), "global"), "allow"),
            ("global with empty lists", &[], None, called(selects(json!({ "matchExpressions": [] })), "global"), "allow"),
            ("global with empty labels", &[], None, called(selects(json!({ "matchLabels": {} })), "global"), "403"),
            ("another one of all clusters", &[], None, called(selects(json!({})), "globe"), "403"),
            ("global with another content", &[], None, called(values(json!(["a"])), "global"), "403"),
            ("default as exclusive set", &[], None, exclusive(), "allow"),
            ("turned", &[], Some(exclusive()), values(json!(["a"])), "403"),
            ("turned into an exclusive one", &[], Some(values(json!(["a"]))), exclusive(), "allow"),
            ("more values", &[], Some(values(json!(["a"]))), values(json!(["a", "b"])), "403"),
            ("fewer values", &[], Some(values(json!(["a", "b"]))), values(json!(["a"])), "allow"),
            ("the same values", &[], Some(values(json!(["a", "b"]))), values(json!(["b", "a"])), "allow"),
            ("the same value twice", &[], Some(values(json!(["a", "b"]))), values(json!(["b", "a", "a"])), "allow"),
            ("every cluster", &[], Some(values(json!(["a"]))), selects(json!({})), "403"),
            ("what selected nothing", &[], Some(without()), values(json!(["a"])), "403"),
            ("what was invalid", &[], Some(invalid()), values(json!(["a"])), "403"),
            ("what was invalid, with the permission", ALL, Some(invalid()), values(json!(["a"])), "allow"),
            ("what stays invalid", &[], Some(invalid()), labelled(invalid()), "allow"),
            ("while it is deleted", &[], Some(deleting(values(json!(["a"])))), selects(json!({})), "403"),
            ("while it is deleted, with the permission", ALL, Some(deleting(values(json!(["a"])))), selects(json!({})), "allow"),
            ("to what is invalid, while it is deleted", &[], Some(deleting(values(json!(["a"])))), invalid(), "403"),
            ("396 values become fewer", &[], Some(large(2, 198)), large(2, 197), "allow"),
            ("396 values become more", &[], Some(large(2, 197)), large(2, 198), "403"),
            ("3,000 values become fewer", &[], Some(large(3, 1_000)), large(3, 999), "allow"),
            ("3,000 values become more, with the permission", ALL, Some(large(3, 999)), large(3, 1_000), "allow"),
            ("malformed comes first", &[], Some(exclusive()), without(), "400"),
            ("empty lists instead of none", &[], Some(values(json!(["a"]))), selects(json!({ "matchLabels": {}, "matchExpressions": [{ "key": "env", "operator": "In", "values": ["a"] }] })), "allow"),
        ],
    ));
    for (old, new, is_wider) in WIDENED {
        let expected = if is_wider { "403" } else { "allow" };
        rows.push(Row {
            sentence: format!("widening: {old:?} to {new:?}"),
            user: crate::users::User::new(&[]),
            verb: Verb::Replace,
            old: Some(selects_text(old)),
            new: selects_text(new),
            expected,
        });
    }
    rows
}

fn plain() -> Value {
    let mut set = set(Value::Null);
    set.as_object_mut().unwrap().remove("spec");
    set
}

fn labelled(mut object: Value) -> Value {
    object["metadata"]["labels"] = json!({ "x": "y" });
    object
}
