//! The mutating path of ManagedClusters, bindings and sets: each row is a write and its decision.

use berth_rules::object::{Binding, CertificateRequest, Cluster, ClusterSet};
use berth_rules::{
    Change, Decision, FeatureGates, MutateCluster, Rules, Settings, ValidateBinding,
    ValidateClusterSet, ValidateRequest,
};
use serde_json::{Value, json};

use crate::support::{self, NOW, decided, deleting, in_set, short};

fn mutate(
    old: Option<&Value>,
    new: &Value,
    facts: &[&str],
    gates: FeatureGates,
) -> (Decision, Value) {
    let (old_text, new_text) = (old.map(Value::to_string), new.to_string());
    let change = Change {
        name: "c1",
        namespace: "",
        user: "dev",
        new: serde_json::from_str::<Cluster<'_>>(&new_text).unwrap(),
        old: old_text
            .as_deref()
            .map(|old| serde_json::from_str::<Cluster<'_>>(old).unwrap()),
    };
    let decision = decided::<MutateCluster>(&change, &gates.into(), facts);
    let mut object = new.clone();
    json_patch::patch(&mut object, &decision.patch).unwrap();
    (decision, object)
}

#[test]
fn a_malformed_change_raises_no_question() {
    let mut new = support::cluster(json!({}), json!({ "taints": [{ "key": "k" }] }));
    let mut old = new.clone();
    old["spec"]["taints"] = json!([]);
    for (time, expected) in [(Value::Null, 1), ("2020-01-01T00:00:00Z".into(), 0)] {
        new["spec"]["taints"][0]["timeAdded"] = time;
        let (old, new) = (old.to_string(), new.to_string());
        let change = Change {
            name: "c1",
            namespace: "",
            user: "dev",
            new: serde_json::from_str::<Cluster<'_>>(&new).unwrap(),
            old: Some(serde_json::from_str::<Cluster<'_>>(&old).unwrap()),
        };
        let mut case = MutateCluster::examine(&change, &Settings::default(), NOW.parse().unwrap());
        assert_eq!(case.take_questions().len(), expected, "{new}");
    }
}

#[test]
fn a_cluster_without_a_set_gets_the_default_one() {
    let cluster = |labels: Value| support::cluster(labels, json!({}));
    let without_labels = json!({ "metadata": { "name": "c1" } });
    let null_labels = json!({ "metadata": { "name": "c1", "labels": null } });
    let label = |object: &Value| {
        object["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"].clone()
    };
    for (case, old, new, facts, set, expected) in [
        (
            "no labels at all",
            None,
            without_labels.clone(),
            &["join:default"][..],
            json!("default"),
            "allow",
        ),
        (
            "null labels",
            None,
            null_labels,
            &["join:default"],
            json!("default"),
            "allow",
        ),
        (
            "other labels",
            None,
            cluster(json!({ "k": "v" })),
            &["join:default"],
            json!("default"),
            "allow",
        ),
        (
            "an empty label",
            None,
            cluster(in_set("")),
            &["join:default"],
            json!("default"),
            "allow",
        ),
        (
            "another set",
            None,
            cluster(in_set("s1")),
            &[],
            json!("s1"),
            "allow",
        ),
        (
            "the default set",
            None,
            cluster(in_set("default")),
            &[],
            json!("default"),
            "allow",
        ),
        (
            "without the permission it stays away",
            None,
            cluster(json!({})),
            &[],
            Value::Null,
            "allow ~1",
        ),
        (
            "and when nobody knows",
            None,
            cluster(json!({})),
            &["?join:default"],
            Value::Null,
            "allow ~1",
        ),
        (
            "an unlabelled one is not stuck, and its agent is not warned at each write",
            Some(cluster(json!({}))),
            cluster(json!({ "k": "v" })),
            &[],
            Value::Null,
            "allow",
        ),
        (
            "nor when nobody knows",
            Some(cluster(json!({}))),
            cluster(json!({ "k": "v" })),
            &["?join:default"],
            Value::Null,
            "allow",
        ),
        (
            "but the requester who accepts it is",
            Some(cluster(json!({}))),
            support::cluster(json!({}), json!({ "hubAcceptsClient": true })),
            &["accept"],
            Value::Null,
            "allow ~1",
        ),
        (
            "and the one who takes the label away",
            Some(cluster(in_set("a"))),
            cluster(json!({})),
            &[],
            Value::Null,
            "allow ~1",
        ),
        (
            "or empties it, when nobody knows",
            Some(cluster(in_set("a"))),
            cluster(in_set("")),
            &["?join:default"],
            json!(""),
            "allow ~1",
        ),
        (
            "a dropped default comes back without a question",
            Some(cluster(in_set("default"))),
            cluster(json!({})),
            &[],
            json!("default"),
            "allow",
        ),
        (
            "another dropped set becomes the default",
            Some(cluster(in_set("a"))),
            cluster(json!({})),
            &["join:default"],
            json!("default"),
            "allow",
        ),
        (
            "what is being deleted is left alone",
            Some(deleting(cluster(json!({})))),
            deleting(cluster(json!({}))),
            &["join:default"],
            Value::Null,
            "allow",
        ),
        (
            "a forged deletion helps nobody",
            None,
            deleting(cluster(json!({}))),
            &["join:default"],
            json!("default"),
            "allow",
        ),
    ] {
        let (decision, object) = mutate(old.as_ref(), &new, facts, FeatureGates::default());
        assert_eq!(short(&decision), expected, "{case}");
        assert_eq!(label(&object), set, "{case}");
        let (again, _) = mutate(old.as_ref(), &object, facts, FeatureGates::default());
        assert!(
            again.patch.0.is_empty(),
            "{case}: a second pass changes nothing, {again:?}"
        );
    }
    let off = FeatureGates {
        default_cluster_set: false,
        ..FeatureGates::default()
    };
    assert!(
        mutate(None, &without_labels, &["join:default"], off)
            .0
            .patch
            .0
            .is_empty()
    );
}

#[test]
fn taints_get_their_times_and_nothing_else_is_touched() {
    let labels = in_set("a");
    let taint = |value: &str, time: Option<&str>| {
        let mut taint =
            json!({ "key": "k", "value": value, "effect": "NoSelect", "later": { "x": [1] } });
        if let Some(time) = time {
            taint["timeAdded"] = time.into();
        }
        taint
    };
    let cluster = |taints: Vec<Value>| {
        support::cluster(labels.clone(), json!({ "taints": taints, "unknown": 7 }))
    };
    let (decision, object) = mutate(
        None,
        &cluster(vec![taint("v", None)]),
        &[],
        FeatureGates::default(),
    );
    assert_eq!(decision.patch.0.len(), 1);
    assert_eq!(object, cluster(vec![taint("v", Some(NOW))]));

    let stored = cluster(vec![taint("v", Some("2026-11-20T00:00:00Z"))]);
    let (_, object) = mutate(
        Some(&stored),
        &cluster(vec![taint("v", None)]),
        &[],
        FeatureGates::default(),
    );
    assert_eq!(
        object, stored,
        "a re-applied manifest keeps the stored time"
    );

    let forged = cluster(vec![taint("v", Some("2026-11-19T00:00:00Z"))]);
    let (decision, _) = mutate(Some(&stored), &forged, &[], FeatureGates::default());
    assert_eq!(short(&decision), "400 taint-time-added");
    let berth_rules::DecisionOutcome::Malformed(faults) = decision.outcome else {
        panic!()
    };
    assert_eq!(
        faults[0].message,
        "It is not allowed to set TimeAdded of Taint \"k\"."
    );

    let (decision, _) = mutate(
        Some(&deleting(stored)),
        &deleting(forged),
        &[],
        FeatureGates::default(),
    );
    assert_eq!(
        short(&decision),
        "allow",
        "what is being deleted is left alone"
    );
}

#[test]
fn bindings_need_the_permission_and_a_workspace() {
    let bound =
        |set: &str| json!({ "metadata": { "name": "prod" }, "spec": { "clusterSet": set } });
    let empty = json!({ "metadata": { "name": "prod" } });
    for (case, old, new, facts, expected) in [
        (
            "with the permission",
            None,
            bound("prod"),
            &["bind:prod"][..],
            "allow",
        ),
        ("without", None, bound("prod"), &[], "403 bind"),
        (
            "in an accepted cluster's namespace",
            None,
            bound("prod"),
            &["bind:prod", "accepted"],
            "403 cluster-namespace",
        ),
        (
            "which is told only to those who may bind the set",
            None,
            bound("prod"),
            &["accepted"],
            "403 bind",
        ),
        (
            "and not where that is not known",
            None,
            bound("prod"),
            &["?bind:prod", "accepted"],
            "500 x1",
        ),
        (
            "another name than the set's",
            None,
            bound("test"),
            &["bind:test"],
            "400 binding-name",
        ),
        ("no set", None, empty.clone(), &[], "400 binding-name"),
        (
            "labels are free",
            Some(bound("prod")),
            bound("prod"),
            &["accepted"],
            "allow",
        ),
        (
            "the set is fixed",
            Some(bound("prod")),
            bound("test"),
            &["bind:test"],
            "400 binding-name",
        ),
        (
            "even while it is being deleted",
            Some(deleting(bound("prod"))),
            deleting(bound("test")),
            &[],
            "400 binding-name",
        ),
        (
            "a stored misnomer may stay",
            Some(bound("test")),
            bound("test"),
            &[],
            "allow",
        ),
        (
            "mending it binds a set",
            Some(bound("test")),
            bound("prod"),
            &[],
            "403 bind",
        ),
        (
            "which takes the permission",
            Some(bound("test")),
            bound("prod"),
            &["bind:prod"],
            "allow",
        ),
        (
            "an unreachable hub is not a denial",
            None,
            bound("prod"),
            &["bind:prod", "?accepted"],
            "500 x1",
        ),
    ] {
        let (old_text, new_text) = (old.as_ref().map(Value::to_string), new.to_string());
        let change = Change {
            name: "prod",
            namespace: "app",
            user: "dev",
            new: serde_json::from_str::<Binding<'_>>(&new_text).unwrap(),
            old: old_text
                .as_deref()
                .map(|old| serde_json::from_str::<Binding<'_>>(old).unwrap()),
        };
        let decision = decided::<ValidateBinding>(&change, &Settings::default(), facts);
        assert_eq!(short(&decision), expected, "{case}");
    }
}

#[test]
fn sets_are_such_that_clusters_can_belong_to_them() {
    let set = |selector: Value| json!({ "metadata": { "name": "s" }, "spec": { "clusterSelector": selector } });
    let selects = |selector: Value| {
        set(json!({ "selectorType": "LabelSelector", "labelSelector": selector }))
    };
    let operator = |operator: &str, values: Value| {
        selects(
            json!({ "matchExpressions": [{ "key": "env", "operator": operator, "values": values }] }),
        )
    };
    let exclusive = set(json!({ "selectorType": "ExclusiveClusterSetLabel" }));
    for (case, old, new, expected) in [
        ("by label", None, exclusive.clone(), "allow"),
        (
            "by default",
            None,
            json!({ "metadata": { "name": "s" } }),
            "allow",
        ),
        (
            "by an empty selector, which selects all",
            None,
            selects(json!({})),
            "allow",
        ),
        ("by a selector", None, operator("In", json!(["x"])), "allow"),
        (
            "by an unknown operator",
            None,
            operator("Like", json!(["x"])),
            "400 set-selector",
        ),
        (
            "by an operator without its values",
            None,
            operator("In", json!([])),
            "400 set-selector",
        ),
        (
            "by an operator with values it cannot have",
            None,
            operator("Exists", json!(["x"])),
            "400 set-selector",
        ),
        (
            "by a value that no label can have",
            None,
            operator("In", json!(["a b"])),
            "400 set-selector",
        ),
        (
            "by no selector",
            None,
            set(json!({ "selectorType": "LabelSelector" })),
            "400 set-selector",
        ),
        (
            "a stored bad selector may stay",
            Some(operator("Like", json!(["x"]))),
            operator("Like", json!(["x"])),
            "allow",
        ),
        (
            "another may not come",
            Some(exclusive.clone()),
            operator("Like", json!(["x"])),
            "400 set-selector",
        ),
        (
            "not on what is being deleted",
            Some(deleting(exclusive)),
            operator("Like", json!(["x"])),
            "allow",
        ),
    ] {
        assert_eq!(
            short(&decide_set("s", old.as_ref(), &new, &["join:*"])),
            expected,
            "{case}"
        );
    }
    let plain = json!({ "metadata": { "name": "s" } });
    assert_eq!(
        short(&decide_set(&"s".repeat(63), None, &plain, &[])),
        "allow"
    );
    assert_eq!(
        short(&decide_set(&"s".repeat(64), None, &plain, &[])),
        "400 set-name"
    );
    assert_eq!(
        short(&decide_set(&"s".repeat(64), Some(&plain), &plain, &[])),
        "allow",
        "a stored name may stay"
    );
}

#[test]
fn widening_a_selector_takes_the_permission_to_join_all_sets() {
    let set = |selector: Value| json!({ "metadata": { "name": "s" }, "spec": { "clusterSelector": selector } });
    let selects = |selector: Value| {
        set(json!({ "selectorType": "LabelSelector", "labelSelector": selector }))
    };
    let values = |values: Value| {
        selects(
            json!({ "matchExpressions": [{ "key": "env", "operator": "In", "values": values }] }),
        )
    };
    let exclusive = set(json!({ "selectorType": "ExclusiveClusterSetLabel" }));
    let without = set(json!({ "selectorType": "LabelSelector" }));
    let invalid = selects(json!({ "matchExpressions": [{ "key": "env", "operator": "Like" }] }));
    for (case, name, old, new, facts, expected) in [
        (
            "making one",
            "s",
            None,
            values(json!(["a"])),
            &[][..],
            "403 widen-set",
        ),
        (
            "with the permission",
            "s",
            None,
            values(json!(["a"])),
            &["join:*"],
            "allow",
        ),
        (
            "the permission for one set is not enough",
            "s",
            None,
            values(json!(["a"])),
            &["join:s"],
            "403 widen-set",
        ),
        (
            "nobody knows",
            "s",
            None,
            values(json!(["a"])),
            &["?join:*"],
            "500 x1",
        ),
        (
            "an exclusive set is free",
            "s",
            None,
            exclusive.clone(),
            &[],
            "allow",
        ),
        (
            "global by its content",
            "global",
            None,
            selects(json!({})),
            &[],
            "allow",
        ),
        (
            "global from anything",
            "global",
            Some(exclusive.clone()),
            selects(json!({})),
            &[],
            "allow",
        ),
        (
            "no other selects all",
            "globe",
            None,
            selects(json!({})),
            &[],
            "403 widen-set",
        ),
        (
            "global with another content",
            "global",
            None,
            values(json!(["a"])),
            &[],
            "403 widen-set",
        ),
        (
            "default as exclusive set",
            "default",
            Some(values(json!(["a"]))),
            exclusive.clone(),
            &[],
            "allow",
        ),
        (
            "default by labels",
            "default",
            Some(exclusive.clone()),
            values(json!(["a"])),
            &[],
            "403 widen-set",
        ),
        (
            "an exclusive one turned",
            "s",
            Some(exclusive.clone()),
            values(json!(["a"])),
            &[],
            "403 widen-set",
        ),
        (
            "more values",
            "s",
            Some(values(json!(["a"]))),
            values(json!(["a", "b"])),
            &[],
            "403 widen-set",
        ),
        (
            "fewer values",
            "s",
            Some(values(json!(["a", "b"]))),
            values(json!(["a"])),
            &[],
            "allow",
        ),
        (
            "the same values",
            "s",
            Some(values(json!(["a", "b"]))),
            values(json!(["b", "a"])),
            &[],
            "allow",
        ),
        (
            "every cluster",
            "s",
            Some(values(json!(["a"]))),
            selects(json!({})),
            &[],
            "403 widen-set",
        ),
        (
            "what selected nothing",
            "s",
            Some(without.clone()),
            values(json!(["a"])),
            &[],
            "403 widen-set",
        ),
        (
            "what was invalid",
            "s",
            Some(invalid.clone()),
            values(json!(["a"])),
            &[],
            "403 widen-set",
        ),
        (
            "what stays as it is",
            "s",
            Some(invalid.clone()),
            invalid.clone(),
            &[],
            "allow",
        ),
        (
            "while it is being deleted",
            "s",
            Some(deleting(values(json!(["a"])))),
            deleting(selects(json!({}))),
            &[],
            "403 widen-set",
        ),
        (
            "even to what is invalid",
            "s",
            Some(deleting(values(json!(["a"])))),
            invalid,
            &[],
            "403 widen-set",
        ),
        (
            "malformed comes first",
            "s",
            Some(exclusive.clone()),
            without,
            &[],
            "400 set-selector",
        ),
    ] {
        let decision = decide_set(name, old.as_ref(), &new, facts);
        assert_eq!(short(&decision), expected, "{case}");
    }
    let berth_rules::DecisionOutcome::Denied(denials) =
        decide_set("s", None, &values(json!(["a"])), &[]).outcome
    else {
        panic!()
    };
    assert_eq!(
        denials[0].message,
        "managedclustersets/join.cluster.open-cluster-management.io \"s\" is forbidden: user \"dev\" cannot widen the \
         selector of ManagedClusterSet \"s\": needs verb \"create\" on managedclustersets/join, for all names; \
         check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io --subresource=join -A"
    );
}

fn decide_set(name: &str, old: Option<&Value>, new: &Value, facts: &[&str]) -> Decision {
    let (old, new) = (old.map(Value::to_string), new.to_string());
    let change = Change {
        name,
        namespace: "",
        user: "dev",
        new: serde_json::from_str::<ClusterSet<'_>>(&new).unwrap(),
        old: old
            .as_deref()
            .map(|old| serde_json::from_str::<ClusterSet<'_>>(old).unwrap()),
    };
    let gates = FeatureGates::default();
    let decision = decided::<ValidateClusterSet>(&change, &gates.into(), facts);
    let off = FeatureGates {
        guarded_selectors: false,
        ..gates
    };
    let unguarded = decided::<ValidateClusterSet>(&change, &off.into(), &[]);
    let faulty = short(&decision).starts_with("400");
    assert_eq!(faulty, short(&unguarded) != "allow", "without the gate");
    decision
}

fn decided_request(user: &str, old: Option<&Value>, new: &Value, facts: &[&str]) -> Decision {
    let (old, new) = (old.map(Value::to_string), new.to_string());
    let read = |text| serde_json::from_str::<CertificateRequest<'_>>(text).unwrap();
    let change = Change {
        name: "csr",
        namespace: "",
        user,
        new: read(&new),
        old: old.as_deref().map(read),
    };
    decided::<ValidateRequest>(&change, &Settings::default(), facts)
}

#[test]
fn agents_file_requests_for_their_own_cluster_only() {
    const AGENT: &str = "system:open-cluster-management:c1:agent";
    let of = |cluster: &str| json!({ "metadata": { "name": "csr", "labels": { "open-cluster-management.io/cluster-name": cluster } } });
    let unlabelled = json!({ "metadata": { "name": "csr", "labels": { "a": "b" } } });
    for (case, user, old, new, facts, expected) in [
        ("their own", AGENT, None, of("c1"), &["agent"][..], "allow"),
        (
            "no label",
            AGENT,
            None,
            unlabelled.clone(),
            &["agent"],
            "allow",
        ),
        (
            "another cluster's",
            AGENT,
            None,
            of("c2"),
            &["agent"],
            "403 foreign-request",
        ),
        (
            "an empty label",
            AGENT,
            None,
            of(""),
            &["agent"],
            "403 foreign-request",
        ),
        (
            "a cluster whose name begins alike",
            AGENT,
            None,
            of("c10"),
            &["agent"],
            "403 foreign-request",
        ),
        (
            "an agent without a name",
            "system:open-cluster-management:c1:",
            None,
            of("c1"),
            &["agent"],
            "403 foreign-request",
        ),
        (
            "a name of more parts",
            "system:open-cluster-management:c1:agent:x",
            None,
            of("c1"),
            &["agent"],
            "403 foreign-request",
        ),
        (
            "a name that is no agent's",
            "dev",
            None,
            of("c1"),
            &["agent"],
            "403 foreign-request",
        ),
        (
            "which needs no label",
            "dev",
            None,
            unlabelled.clone(),
            &["agent"],
            "allow",
        ),
        ("everybody else", "dev", None, of("c1"), &[], "allow"),
        (
            "a bootstrap identity",
            "system:serviceaccount:ocm:bootstrap",
            None,
            of("c2"),
            &[],
            "allow",
        ),
        (
            "a label that is put on later",
            AGENT,
            Some(unlabelled.clone()),
            of("c2"),
            &["agent"],
            "403 foreign-request",
        ),
        (
            "one that is there stays",
            AGENT,
            Some(of("c2")),
            of("c2"),
            &["agent"],
            "allow",
        ),
        (
            "and may go",
            AGENT,
            Some(of("c2")),
            unlabelled,
            &["agent"],
            "allow",
        ),
    ] {
        let decision = decided_request(user, old.as_ref(), &new, facts);
        assert_eq!(short(&decision), expected, "{case}");
    }
}

#[test]
fn only_the_agent_of_a_cluster_files_requests_for_addons_there() {
    const AGENT: &str = "system:open-cluster-management:c1:agent";
    const REFUSED: &str = "403 addon-request";
    let labelled = |cluster: Option<&str>, addon: Option<&str>| {
        let mut labels = json!({});
        for (label, value) in [("cluster", cluster), ("addon", addon)] {
            if let Some(value) = value {
                labels[format!("open-cluster-management.io/{label}-name")] = value.into();
            }
        }
        json!({ "metadata": { "name": "csr", "labels": labels } })
    };
    let addon = labelled(Some("c1"), Some("proxy"));
    for (case, user, old, new, expected) in [
        ("its own", AGENT, None, addon.clone(), "allow"),
        (
            "of another cluster",
            AGENT,
            None,
            labelled(Some("c2"), Some("proxy")),
            REFUSED,
        ),
        (
            "of a cluster whose name begins alike",
            "system:open-cluster-management:c10:agent",
            None,
            addon.clone(),
            REFUSED,
        ),
        (
            "of no cluster",
            AGENT,
            None,
            labelled(None, Some("proxy")),
            REFUSED,
        ),
        ("of an admin", "admin", None, addon.clone(), REFUSED),
        (
            "of the add-on itself",
            "system:open-cluster-management:cluster:c1:addon:proxy:agent:proxy-agent",
            None,
            addon.clone(),
            REFUSED,
        ),
        (
            "an empty name",
            "admin",
            None,
            labelled(Some("c1"), Some("")),
            REFUSED,
        ),
        (
            "one that is there stays",
            "admin",
            Some(addon.clone()),
            addon.clone(),
            "allow",
        ),
        (
            "the add-on is put on later",
            "admin",
            Some(labelled(Some("c1"), None)),
            addon.clone(),
            REFUSED,
        ),
        (
            "the cluster is put on later",
            "admin",
            Some(labelled(None, Some("proxy"))),
            addon.clone(),
            REFUSED,
        ),
        (
            "it becomes another add-on's",
            "admin",
            Some(labelled(Some("c1"), Some("metrics"))),
            addon.clone(),
            REFUSED,
        ),
        (
            "the add-on goes",
            "admin",
            Some(addon.clone()),
            labelled(Some("c1"), None),
            "allow",
        ),
    ] {
        let decision = decided_request(user, old.as_ref(), &new, &["agent"]);
        assert_eq!(short(&decision), expected, "{case}");
    }
}
