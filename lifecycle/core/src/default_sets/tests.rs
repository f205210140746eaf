use berth_api::ManagedClusterSet;
use serde_json::{Value, json};

use super::*;
use crate::config::Gates;
use crate::testing::patched;

const OPTED_OUT: &str = "cluster.open-cluster-management.io/autoupdate";

fn set(name: &str, selector: Value) -> ManagedClusterSet {
    serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": name, "uid": "u1", "resourceVersion": "7", "annotations": {"mine": "kept"}},
        "spec": {"clusterSelector": selector, "managedNamespaces": [{"name": "ns1"}]},
    }))
    .unwrap()
}

fn right_default() -> ManagedClusterSet {
    set(
        "default",
        json!({"selectorType": "ExclusiveClusterSetLabel"}),
    )
}

fn right_global() -> ManagedClusterSet {
    set(
        "global",
        json!({"selectorType": "LabelSelector", "labelSelector": {}}),
    )
}

fn plan(default: &ManagedClusterSet, global: &ManagedClusterSet) -> Plan {
    let (default, global) = (default.clone().into(), global.clone().into());
    decide(&Config::default(), Some(&default), Some(&global))
}

#[test]
fn sets_that_are_missing_are_made_as_ocm_makes_them() {
    let plan = decide(&Config::default(), None, None);
    let made: Vec<Value> = plan
        .writes
        .iter()
        .map(|write| {
            let Action::Create { body } = &write.action else {
                panic!("not created: {write:?}");
            };
            assert_eq!(
                write.target,
                sets::target(body["metadata"]["name"].as_str().unwrap())
            );
            body.clone()
        })
        .collect();
    let expected = |name: &str, selector: Value| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            "spec": {"clusterSelector": selector},
        })
    };
    assert_eq!(
        made,
        [
            expected(
                "default",
                json!({"selectorType": "ExclusiveClusterSetLabel"})
            ),
            expected(
                "global",
                json!({"selectorType": "LabelSelector", "labelSelector": {}})
            ),
        ]
    );
    let events: Vec<_> = plan.writes.iter().map(|write| &write.events[0]).collect();
    assert_eq!(events[0].reason, "DefaultManagedClusterSetCreated");
    assert_eq!(
        events[0].note,
        "Set the DefaultManagedClusterSet name to default. spec.clusterSelector to \
         {\"selectorType\":\"ExclusiveClusterSetLabel\"}"
    );
    assert_eq!(events[1].reason, "GlobalManagedClusterSetCreated");

    // The created set needs no correction.
    let [default, global] = <[Value; 2]>::try_from(made).unwrap().map(|object| {
        ClusterSet::from(serde_json::from_value::<ManagedClusterSet>(object).unwrap())
    });
    assert_eq!(
        decide(&Config::default(), Some(&default), Some(&global)),
        Plan::default()
    );
    let missing = decide(&Config::default(), Some(&default), None);
    assert_eq!(missing.writes, [plan.writes[1].clone()]);
}

#[test]
fn selectors_are_rolled_back_and_nothing_else() {
    let expression = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
    for (sentence, name, selector) in [
        (
            "the default set by a selector",
            "default",
            json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a": "b"}}}),
        ),
        (
            "the default set with a selector that means nothing",
            "default",
            json!({"selectorType": "ExclusiveClusterSetLabel", "labelSelector": {}}),
        ),
        (
            "the default set of an unknown type",
            "default",
            json!({"selectorType": "Legacy"}),
        ),
        (
            "the global set by label",
            "global",
            json!({"selectorType": "ExclusiveClusterSetLabel"}),
        ),
        (
            "the global set without a selector",
            "global",
            json!({"selectorType": "LabelSelector"}),
        ),
        (
            "the global set with labels",
            "global",
            json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a": "b"}}}),
        ),
        (
            "the global set with an expression",
            "global",
            json!({"selectorType": "LabelSelector", "labelSelector": expression}),
        ),
        (
            "the global set by label, with all of it",
            "global",
            json!({"labelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": expression["matchExpressions"]}}),
        ),
    ] {
        let edited = set(name, selector);
        let (right, reason) = match name {
            "default" => (right_default(), "DefaultManagedClusterSetSpecRollbacked"),
            _ => (right_global(), "GlobalManagedClusterSetSpecRollbacked"),
        };
        let decide = |set: &ManagedClusterSet| match name {
            "default" => plan(set, &right_global()),
            _ => plan(&right_default(), set),
        };
        let due = decide(&edited);
        let [write] = due.writes.as_slice() else {
            panic!("{sentence}: {due:?}");
        };
        assert_eq!(write.target, sets::target(name), "{sentence}");
        assert_eq!(write.events[0].reason, reason, "{sentence}");
        let mut patched = patched(&edited, write);
        assert_eq!(decide(&patched), Plan::default(), "{sentence}: again");
        patched.metadata.resource_version = right.metadata.resource_version.clone();
        assert_eq!(patched, right, "{sentence}: what is not the selector stays");
    }
}

#[test]
fn what_is_right_or_not_ours_to_change_stays() {
    let edited = || set("default", json!({"selectorType": "Legacy"}));
    let with = |value: &str| {
        let mut set = edited();
        set.metadata.annotations = Some([(OPTED_OUT.to_owned(), value.to_owned())].into());
        set
    };
    let mut deleting = edited();
    deleting.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    for (sentence, default, left) in [
        ("as it should be", right_default(), true),
        ("the type may be missing", set("default", json!({})), true),
        (
            "or empty",
            set("default", json!({"selectorType": ""})),
            true,
        ),
        ("the admin has opted out", with("false"), true),
        ("any other word is no opting out", with("true"), false),
        ("not even this", with("False"), false),
        ("it is being deleted", deleting, true),
    ] {
        let plan = plan(&default, &right_global());
        assert_eq!(plan.writes.is_empty(), left, "{sentence}");
    }
    for selector in [
        json!({}),
        json!({"matchLabels": {}, "matchExpressions": []}),
        json!({"matchLabels": null}),
    ] {
        let global = set(
            "global",
            json!({"selectorType": "LabelSelector", "labelSelector": selector}),
        );
        assert_eq!(
            plan(&right_default(), &global),
            Plan::default(),
            "{selector}"
        );
    }
}

#[test]
fn without_the_gate_nothing_is_kept() {
    let config = Config {
        gates: Gates {
            default_cluster_set: false,
            ..Gates::default()
        },
        ..Config::default()
    };
    assert_eq!(decide(&config, None, None), Plan::default());
}
