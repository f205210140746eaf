//! The validating path of ManagedClusters: each row is a write and its decision.

use berth_rules::object::Cluster;
use berth_rules::{
    Answers, Change, Decision, DecisionOutcome, FeatureGates, MutateCluster, Rules, Settings,
    ValidateCluster,
};
use serde_json::{Value, json};

use crate::support::{NOW, cluster, decided, deleting, in_set, short};

fn decide_named(
    name: &str,
    old: Option<&Value>,
    new: &Value,
    facts: &[&str],
    gates: FeatureGates,
) -> Decision {
    let (old, new) = (old.map(Value::to_string), new.to_string());
    let change = Change {
        name,
        namespace: "",
        user: "dev",
        new: serde_json::from_str::<Cluster<'_>>(&new).unwrap(),
        old: old
            .as_deref()
            .map(|old| serde_json::from_str::<Cluster<'_>>(old).unwrap()),
    };
    let settings = Settings {
        hub_namespace: "my-hub".to_owned(),
        ..Settings::from(gates)
    };
    decided::<ValidateCluster>(&change, &settings, facts)
}

fn decide(old: Option<&Value>, new: &Value, facts: &[&str]) -> Decision {
    decide_named("c1", old, new, facts, FeatureGates::default())
}

fn denied() -> Value {
    cluster(json!({}), json!({}))
}

fn accepted() -> Value {
    cluster(json!({}), json!({ "hubAcceptsClient": true }))
}

fn member(set: &str) -> Value {
    cluster(in_set(set), json!({}))
}

fn reached_by(url: &str) -> Value {
    cluster(
        json!({}),
        json!({ "managedClusterClientConfigs": [{ "url": url }] }),
    )
}

fn leased(seconds: i64) -> Value {
    cluster(json!({}), json!({ "leaseDurationSeconds": seconds }))
}

fn tainted(taints: &[(&str, &str)]) -> Value {
    let taints: Vec<_> = taints
        .iter()
        .map(|(key, effect)| json!({ "key": key, "effect": effect }))
        .collect();
    cluster(json!({}), json!({ "taints": taints }))
}

#[test]
fn acceptance_needs_the_permission_in_both_directions() {
    for (case, old, new, facts, expected) in [
        (
            "an ordinary cluster needs nothing",
            None,
            denied(),
            &[][..],
            "allow",
        ),
        (
            "an accepted cluster needs the permission",
            None,
            accepted(),
            &[],
            "403 accept",
        ),
        (
            "with it, it is let in",
            None,
            accepted(),
            &["accept"],
            "allow",
        ),
        (
            "not while its namespace terminates",
            None,
            accepted(),
            &["accept", "terminating"],
            "403 namespace-terminating",
        ),
        (
            "not while its namespace holds bindings",
            None,
            accepted(),
            &["accept", "binding:a"],
            "403 bindings-held",
        ),
        (
            "everything that is missing is told, in OCM's order",
            None,
            cluster(in_set("a"), json!({ "hubAcceptsClient": true })),
            &["accept", "terminating", "binding:a"],
            "403 namespace-terminating bindings-held join",
        ),
        (
            "what is on the hub is told only to those who may accept",
            None,
            cluster(in_set("a"), json!({ "hubAcceptsClient": true })),
            &["terminating", "binding:a"],
            "403 accept join",
        ),
        (
            "a permission that is not known is not one",
            None,
            accepted(),
            &["?accept", "terminating", "binding:a"],
            "500 x1",
        ),
        (
            "turning it on needs the permission",
            Some(denied()),
            accepted(),
            &[],
            "403 accept",
        ),
        (
            "turning it on with it",
            Some(denied()),
            accepted(),
            &["accept"],
            "allow",
        ),
        (
            "turning it off needs the permission too",
            Some(accepted()),
            denied(),
            &[],
            "403 accept",
        ),
        (
            "turning it off with it, whatever the namespace",
            Some(accepted()),
            denied(),
            &["accept", "terminating"],
            "allow",
        ),
        (
            "what stays on needs nothing",
            Some(accepted()),
            accepted(),
            &[],
            "allow",
        ),
        (
            "nor what is being deleted, if it stays",
            Some(deleting(accepted())),
            deleting(accepted()),
            &[],
            "allow",
        ),
        (
            "what is being deleted is checked if it changes",
            Some(deleting(accepted())),
            deleting(denied()),
            &[],
            "403 accept",
        ),
        (
            "an unreachable hub is not a denial",
            None,
            accepted(),
            &["?accept"],
            "500 x1",
        ),
        (
            "nor is an unknown namespace an acceptance",
            None,
            accepted(),
            &["accept", "?namespace"],
            "500 x1",
        ),
        (
            "nor are unknown bindings",
            None,
            accepted(),
            &["accept", "?bindings"],
            "500 x1",
        ),
        (
            "a sure denial beats what is not known",
            None,
            accepted(),
            &["?namespace", "?bindings"],
            "403 accept",
        ),
    ] {
        assert_eq!(
            short(&decide(old.as_ref(), &new, facts)),
            expected,
            "{case}"
        );
    }
    let unguarded = FeatureGates {
        unguarded_denial: true,
        ..FeatureGates::default()
    };
    let turned_off = decide_named("c1", Some(&accepted()), &denied(), &[], unguarded);
    assert_eq!(short(&turned_off), "allow", "UnguardedDenial is OCM's way");
    let turned_on = decide_named("c1", Some(&denied()), &accepted(), &[], unguarded);
    assert_eq!(short(&turned_on), "403 accept", "in one direction only");
}

#[test]
fn to_deny_now_takes_the_permission_to_accept() {
    const DENY_NOW: &str = berth_api::labels::DENY_NOW;
    let annotated = |mut object: Value, value: Option<&str>| {
        object["metadata"]["annotations"] = json!({ "a": "b", DENY_NOW: value });
        object
    };
    let now = annotated(denied(), Some("true"));
    for (case, old, new, facts, expected) in [
        ("on CREATE", None, now.clone(), &[][..], "403 accept"),
        ("with it", None, now.clone(), &["accept"], "allow"),
        ("on UPDATE", Some(denied()), now.clone(), &[], "403 accept"),
        (
            "on UPDATE with it",
            Some(denied()),
            now.clone(),
            &["accept"],
            "allow",
        ),
        (
            "whatever the value",
            Some(denied()),
            annotated(denied(), Some("")),
            &[],
            "403 accept",
        ),
        (
            "another value",
            Some(annotated(denied(), Some("false"))),
            now.clone(),
            &[],
            "403 accept",
        ),
        (
            "the same value",
            Some(now.clone()),
            now.clone(),
            &[],
            "allow",
        ),
        (
            "to take it away is free",
            Some(now.clone()),
            denied(),
            &[],
            "allow",
        ),
        (
            "null is as good as absent",
            Some(now.clone()),
            annotated(denied(), None),
            &[],
            "allow",
        ),
        (
            "also of what is accepted",
            Some(accepted()),
            annotated(accepted(), Some("true")),
            &[],
            "403 accept",
        ),
        (
            "and of what is being deleted",
            Some(deleting(denied())),
            annotated(deleting(denied()), Some("true")),
            &[],
            "403 accept",
        ),
        (
            "together with the denial it is asked for once",
            Some(accepted()),
            now.clone(),
            &[],
            "403 accept",
        ),
        (
            "an unreachable hub is not a denial",
            Some(denied()),
            now.clone(),
            &["?accept"],
            "500 x1",
        ),
    ] {
        assert_eq!(
            short(&decide(old.as_ref(), &new, facts)),
            expected,
            "{case}"
        );
    }
    let unguarded = FeatureGates {
        unguarded_denial: true,
        ..FeatureGates::default()
    };
    let decision = decide_named("c1", Some(&accepted()), &now, &[], unguarded);
    assert_eq!(short(&decision), "403 accept", "OCM knows no such denial");
}

#[test]
fn an_object_that_is_being_deleted_can_lose_its_finalizers_with_any_taints() {
    for time in ["9999-12-31T23:59:59Z", "2026-01-01T00:00:00+99:99", "soon"] {
        let spec = json!({ "taints": [{ "key": "k", "effect": "NoSelect", "timeAdded": time }] });
        let mut old = deleting(cluster(json!({}), spec));
        let new = old.clone();
        old["metadata"]["finalizers"] = json!(["a/b"]);
        assert_eq!(short(&decide(Some(&old), &new, &[])), "allow", "{time}");
        let (old, new) = (old.to_string(), new.to_string());
        let change = Change {
            name: "c1",
            namespace: "",
            user: "dev",
            new: serde_json::from_str::<Cluster<'_>>(&new).unwrap(),
            old: Some(serde_json::from_str::<Cluster<'_>>(&old).unwrap()),
        };
        let decision = decided::<MutateCluster>(&change, &Settings::default(), &[]);
        assert_eq!(short(&decision), "allow", "{time}");
        assert!(decision.patch.0.is_empty(), "{time}");
    }
}

#[test]
fn set_membership_needs_join_on_both_sets() {
    for (case, old, new, facts, expected) in [
        (
            "into a set with the permission",
            None,
            member("a"),
            &["join:a", "set:a"][..],
            "allow",
        ),
        (
            "into a set without",
            None,
            member("a"),
            &["set:a"],
            "403 join",
        ),
        ("no set has no price", None, denied(), &[], "allow"),
        (
            "from none into a set",
            Some(denied()),
            member("a"),
            &["join:a", "set:a"],
            "allow",
        ),
        (
            "from none into a set without",
            Some(denied()),
            member("a"),
            &["set:a"],
            "403 join",
        ),
        (
            "out of a set",
            Some(member("a")),
            denied(),
            &["join:a"],
            "allow",
        ),
        (
            "out of a set without",
            Some(member("a")),
            denied(),
            &[],
            "403 join",
        ),
        (
            "out of a set by an empty label",
            Some(member("a")),
            member(""),
            &[],
            "403 join",
        ),
        (
            "from set to set with both",
            Some(member("a")),
            member("b"),
            &["join:a", "join:b", "set:b"],
            "allow",
        ),
        (
            "from set to set with neither names both",
            Some(member("a")),
            member("b"),
            &["set:b"],
            "403 join join",
        ),
        (
            "from set to set with the new one only",
            Some(member("a")),
            member("b"),
            &["join:b", "set:b"],
            "403 join",
        ),
        ("staying", Some(member("a")), member("a"), &[], "allow"),
        (
            "an empty label is no set",
            Some(denied()),
            member(""),
            &[],
            "allow",
        ),
        (
            "deleted clusters move no more freely",
            Some(deleting(member("a"))),
            deleting(member("b")),
            &["set:b"],
            "403 join join",
        ),
        (
            "a set that does not exist is a warning",
            None,
            member("a"),
            &["join:a"],
            "allow ~1",
        ),
        (
            "whether it exists is told only to those who may join it",
            None,
            member("a"),
            &[],
            "403 join",
        ),
        (
            "and not to those who may join the old set only",
            Some(member("a")),
            member("b"),
            &["join:a"],
            "403 join",
        ),
        (
            "a set that may exist is none",
            None,
            member("a"),
            &["join:a", "?set:a"],
            "allow",
        ),
        (
            "a name that no set can have is a warning",
            None,
            member("No_Set"),
            &["join:No_Set"],
            "allow ~1",
        ),
        (
            "only when it is new",
            Some(member("a")),
            member("a"),
            &[],
            "allow",
        ),
        (
            "an unknown permission is not a denial",
            None,
            member("a"),
            &["?join:a", "set:a"],
            "500 x1",
        ),
    ] {
        assert_eq!(
            short(&decide(old.as_ref(), &new, facts)),
            expected,
            "{case}"
        );
    }
}

#[test]
fn the_retired_label_is_a_warning_when_it_is_introduced() {
    let retired = |set: &str| {
        cluster(
            json!({ "open-cluster-management.io/clusterset": set }),
            json!({}),
        )
    };
    for (case, old, new, expected) in [
        ("introduced", None, retired("a"), "allow ~1"),
        ("changed", Some(retired("a")), retired("b"), "allow ~1"),
        ("kept", Some(retired("a")), retired("a"), "allow"),
        ("removed", Some(retired("a")), denied(), "allow"),
    ] {
        assert_eq!(short(&decide(old.as_ref(), &new, &[])), expected, "{case}");
    }
}

#[test]
fn content_is_checked_as_far_as_the_change_introduces_it() {
    let two = |first: &str, second: &str| {
        cluster(
            json!({}),
            json!({ "managedClusterClientConfigs": [{ "url": first }, { "url": second }] }),
        )
    };
    let ca = |bundle: &str| {
        let config = json!({ "url": "https://h", "caBundle": bundle });
        cluster(
            json!({}),
            json!({ "managedClusterClientConfigs": [config] }),
        )
    };
    for (case, old, new, expected) in [
        (
            "https is good",
            None,
            reached_by("https://127.0.0.1:8001"),
            "allow",
        ),
        (
            "http is not",
            None,
            reached_by("http://127.0.0.1:8001"),
            "400 client-config-url",
        ),
        (
            "nor is a URL without a host",
            None,
            reached_by("https:x"),
            "400 client-config-url",
        ),
        (
            "each bad URL is told",
            None,
            two("http://a", "http://b"),
            "400 client-config-url client-config-url",
        ),
        (
            "the same one once",
            None,
            two("http://a", "http://a"),
            "400 client-config-url",
        ),
        (
            "a stored bad URL may stay",
            Some(reached_by("http://a")),
            two("http://a", "https://b"),
            "allow",
        ),
        (
            "another one may not come",
            Some(reached_by("http://a")),
            two("http://a", "http://b"),
            "400 client-config-url",
        ),
        (
            "not on what is being deleted",
            Some(deleting(denied())),
            deleting(reached_by("http://a")),
            "allow",
        ),
        (
            "a forged deletion helps nobody",
            None,
            deleting(reached_by("http://a")),
            "400 client-config-url",
        ),
        (
            "nor on UPDATE",
            Some(denied()),
            deleting(reached_by("http://a")),
            "400 client-config-url",
        ),
        (
            "a bundle that is not base64",
            None,
            ca("*"),
            "400 client-config-ca-bundle",
        ),
        (
            "a bundle that is no PEM",
            None,
            ca("aGVsbG8="),
            "400 client-config-ca-bundle",
        ),
        (
            "a stored bad bundle may stay",
            Some(ca("*")),
            ca("*"),
            "allow",
        ),
        ("an empty bundle is none", None, ca(""), "allow"),
        ("a minute of lease", None, leased(60), "allow"),
        ("none", None, leased(0), "allow"),
        ("a day", None, leased(86_400), "allow"),
        (
            "more than a day",
            None,
            leased(86_401),
            "400 lease-duration",
        ),
        ("less than none", None, leased(-1), "400 lease-duration"),
        (
            "a stored bad lease may stay",
            Some(leased(-1)),
            leased(-1),
            "allow",
        ),
        ("and may be mended", Some(leased(-1)), leased(60), "allow"),
        (
            "not be changed to another bad one",
            Some(leased(-1)),
            leased(-2),
            "400 lease-duration",
        ),
        (
            "two taints of one key",
            None,
            tainted(&[("k", "NoSelect"), ("k", "PreferNoSelect")]),
            "allow",
        ),
        (
            "two of one key and effect",
            None,
            tainted(&[("k", "NoSelect"), ("k", "NoSelect")]),
            "400 taint",
        ),
        (
            "stored twins may stay",
            Some(tainted(&[("k", "NoSelect"), ("k", "NoSelect")])),
            tainted(&[("k", "NoSelect"), ("k", "NoSelect"), ("j", "NoSelect")]),
            "allow",
        ),
        (
            "a third may not come",
            Some(tainted(&[("k", "NoSelect"), ("k", "NoSelect")])),
            tainted(&[("k", "NoSelect"), ("k", "NoSelect"), ("k", "NoSelect")]),
            "400 taint",
        ),
        (
            "a taint without a key",
            None,
            tainted(&[("", "NoSelect")]),
            "400 taint",
        ),
        (
            "content alone is told",
            None,
            cluster(
                in_set("a"),
                json!({ "hubAcceptsClient": true, "leaseDurationSeconds": -1 }),
            ),
            "400 lease-duration",
        ),
    ] {
        assert_eq!(short(&decide(old.as_ref(), &new, &[])), expected, "{case}");
    }
}

#[test]
fn the_name_is_a_dns_label_on_create() {
    for (name, old, expected) in [
        ("c1", None, "allow"),
        ("a.b", None, "400 cluster-name"),
        ("Upper", None, "400 cluster-name"),
        ("", None, "400 cluster-name"),
        ("a.b", Some(denied()), "allow"),
    ] {
        let decision = decide_named(name, old.as_ref(), &denied(), &[], FeatureGates::default());
        assert_eq!(short(&decision), expected, "{name:?}");
    }
    let long = decide_named(
        &"x".repeat(64),
        None,
        &denied(),
        &[],
        FeatureGates::default(),
    );
    let DecisionOutcome::Malformed(faults) = long.outcome else {
        panic!("{long:?}")
    };
    assert_eq!(
        faults[0].message,
        "metadata.name format is not correct: must be no more than 63 characters"
    );
}

#[test]
fn reserved_names_are_refused_when_they_are_introduced() {
    let deleted = deleting(accepted());
    for (case, name, old, new, facts, expected) in [
        (
            "an exact name is not made",
            "kube-system",
            None,
            denied(),
            &[][..],
            "403 reserved-name",
        ),
        (
            "whatever there is on the hub",
            "kube-system",
            None,
            accepted(),
            &["accept", "own"],
            "403 reserved-name",
        ),
        (
            "nor accepted",
            "managed-clusters",
            Some(denied()),
            accepted(),
            &["accept", "own"],
            "403 reserved-name",
        ),
        (
            "the hub's own namespace",
            "my-hub",
            None,
            denied(),
            &[],
            "403 reserved-name",
        ),
        (
            "a prefix is not made",
            "kube-edge",
            None,
            denied(),
            &[],
            "403 reserved-name",
        ),
        (
            "nor accepted",
            "openshift-edge",
            Some(denied()),
            accepted(),
            &["accept"],
            "403 reserved-name",
        ),
        (
            "unless the namespace is the cluster's already",
            "kube-edge",
            None,
            denied(),
            &["own"],
            "allow",
        ),
        (
            "which is no acceptance",
            "kube-edge",
            Some(denied()),
            accepted(),
            &["own"],
            "403 accept",
        ),
        (
            "with it, it is let in",
            "kube-edge",
            Some(denied()),
            accepted(),
            &["own", "accept"],
            "allow",
        ),
        (
            "but not while its namespace terminates",
            "kube-edge",
            Some(denied()),
            accepted(),
            &["own", "accept", "terminating"],
            "403 namespace-terminating",
        ),
        (
            "everything that is missing is told",
            "kube-edge",
            None,
            accepted(),
            &[],
            "403 reserved-name accept",
        ),
        (
            "a namespace that is not known allows nothing",
            "kube-edge",
            None,
            denied(),
            &["?namespace"],
            "500 x1",
        ),
        (
            "a stored one may change",
            "kube-edge",
            Some(denied()),
            leased(30),
            &[],
            "allow",
        ),
        (
            "one that is accepted is kept with a warning",
            "managed-clusters",
            Some(accepted()),
            cluster(
                json!({}),
                json!({ "hubAcceptsClient": true, "leaseDurationSeconds": 30 }),
            ),
            &[],
            "allow ~1",
        ),
        (
            "and may be denied",
            "managed-clusters",
            Some(accepted()),
            denied(),
            &["accept"],
            "allow",
        ),
        (
            "its finalizers come off without a word",
            "managed-clusters",
            Some(deleted.clone()),
            deleted,
            &[],
            "allow",
        ),
        (
            "content goes first",
            "kube-system",
            None,
            leased(-1),
            &[],
            "400 lease-duration",
        ),
    ] {
        let gates = FeatureGates::default();
        let decision = decide_named(name, old.as_ref(), &new, facts, gates);
        assert_eq!(short(&decision), expected, "{name}: {case}");
    }
}

#[test]
fn denials_begin_with_ocms_sentence_and_state_what_is_missing() {
    let new = cluster(in_set("prod"), json!({ "hubAcceptsClient": true }));
    let DecisionOutcome::Denied(denials) = decide(None, &new, &["set:prod"]).outcome else {
        panic!()
    };
    let messages: Vec<_> = denials
        .iter()
        .map(|denial| denial.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "managedclusters/accept.cluster.open-cluster-management.io \"c1\" is forbidden: user \"dev\" cannot update the \
             HubAcceptsClient field: needs verb \"update\" on managedclusters/accept in API group \
             register.open-cluster-management.io, name \"c1\"; check: berth can-i accept c1",
            "managedclustersets/join.cluster.open-cluster-management.io \"prod\" is forbidden: user \"dev\" cannot add/remove \
             a ManagedCluster to/from ManagedClusterSet \"prod\": needs verb \"create\" on managedclustersets/join, name \
             \"prod\"; check: kubectl auth can-i create managedclustersets.cluster.open-cluster-management.io/prod \
             --subresource=join -A",
        ]
    );
}

#[test]
fn an_undecided_answer_states_that_it_is_not_a_denial() {
    let DecisionOutcome::Undecided(open) = decide(None, &accepted(), &["?accept"]).outcome else {
        panic!()
    };
    assert_eq!(
        open[0].message,
        "cannot decide whether user \"dev\" may update or create \
         managedclusters/accept.register.open-cluster-management.io \"c1\": the hub is away: this is not a denial, try again"
    );
}

#[test]
fn a_question_without_an_answer_allows_nothing() {
    let new = accepted().to_string();
    let change = Change {
        name: "c1",
        namespace: "",
        user: "dev",
        new: serde_json::from_str(&new).unwrap(),
        old: None,
    };
    let settings = Settings::default();
    let mut case = ValidateCluster::examine(&change, &settings, NOW.parse().unwrap());
    assert!(!case.take_questions().is_empty());
    let decision = case.decide(&change, &settings, Answers::default());
    assert_eq!(short(&decision), "500 x1");
}
