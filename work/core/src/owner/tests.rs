use serde_json::json;

use super::*;
use crate::testing::{mapped, owner};

#[test]
fn the_delete_option_decides_what_is_owned() {
    let object = mapped(
        &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "n", "name": "a"}}),
    );
    let rule = |group: &str, resource: &str, namespace: &str, name: &str| json!({"group": group, "resource": resource, "namespace": namespace, "name": name});
    let selective = |rules: Value| json!({"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": rules}});
    for (sentence, option, expected) in [
        ("absent", json!(null), Holding::Owned),
        (
            "Foreground",
            json!({"propagationPolicy": "Foreground"}),
            Holding::Owned,
        ),
        (
            "Orphan",
            json!({"propagationPolicy": "Orphan"}),
            Holding::Orphaned,
        ),
        (
            "unknown",
            json!({"propagationPolicy": "Whatever"}),
            Holding::Owned,
        ),
        (
            "no rules",
            json!({"propagationPolicy": "SelectivelyOrphan"}),
            Holding::Owned,
        ),
        (
            "a rule names it",
            selective(json!([rule("apps", "deployments", "n", "a")])),
            Holding::Orphaned,
        ),
        (
            "the second rule names it",
            selective(json!([
                rule("", "x", "", "y"),
                rule("apps", "deployments", "n", "a")
            ])),
            Holding::Orphaned,
        ),
        (
            "another group",
            selective(json!([rule("", "deployments", "n", "a")])),
            Holding::Owned,
        ),
        (
            "another namespace",
            selective(json!([rule("apps", "deployments", "m", "a")])),
            Holding::Owned,
        ),
        (
            "wildcards match nothing",
            selective(json!([rule("apps", "deployments", "n", "*")])),
            Holding::Owned,
        ),
        (
            "rules without the policy",
            json!({"selectivelyOrphans": {"orphaningRules": [rule("apps", "deployments", "n", "a")]}}),
            Holding::Owned,
        ),
    ] {
        let option: Option<DeleteOption> = serde_json::from_value(option).unwrap();
        assert_eq!(
            Holding::of(option.as_ref(), &object),
            expected,
            "{sentence}"
        );
    }
}

#[test]
fn references_are_merged_by_kind_group_and_name() {
    let reference = |name: &str, uid: &str| json!({"apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork", "name": name, "uid": uid});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "name": "w", "uid": "p"});
    let mut older = reference("w", "uid-w");
    older["apiVersion"] = "work.open-cluster-management.io/v1alpha1".into();
    let orphaned = || Owner {
        holding: Holding::Orphaned,
        ..owner("w")
    };
    for (sentence, owner, found, expected) in [
        (
            "missing",
            owner("w"),
            json!([]),
            Some(json!([reference("w", "uid-w")])),
        ),
        ("there", owner("w"), json!([reference("w", "uid-w")]), None),
        (
            "there, of another version",
            owner("w"),
            json!([older]),
            None,
        ),
        (
            "another uid",
            owner("w"),
            json!([reference("w", "old")]),
            Some(json!([reference("w", "uid-w")])),
        ),
        (
            "twice",
            owner("w"),
            json!([reference("w", "old"), reference("w", "uid-w")]),
            Some(json!([reference("w", "uid-w")])),
        ),
        (
            "others stay",
            owner("w"),
            json!([pod, reference("x", "x")]),
            Some(json!([pod, reference("x", "x"), reference("w", "uid-w")])),
        ),
        (
            "orphaned",
            orphaned(),
            json!([pod, reference("w", "uid-w")]),
            Some(json!([pod])),
        ),
        ("orphaned already", orphaned(), json!([pod]), None),
    ] {
        let live = json!({"metadata": {"ownerReferences": found}});
        assert_eq!(
            owner.missing(&live).map(Value::from),
            expected,
            "{sentence}"
        );
    }
}
