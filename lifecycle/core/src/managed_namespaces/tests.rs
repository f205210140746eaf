use std::time::Instant;

use berth_api::{ManagedCluster, ManagedClusterSet};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::config::Config;
use crate::testing::{facts_of, patched};

fn object(stored: Value) -> ManagedCluster {
    serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "c1", "uid": "u1", "resourceVersion": "7"},
        "spec": {},
        "status": {"managedNamespaces": stored, "clusterClaims": [{"name": "a", "value": "b"}]},
    }))
    .unwrap()
}

fn set(name: &str, namespaces: &[&str]) -> ClusterSet {
    let namespaces: Vec<Value> = namespaces
        .iter()
        .map(|name| json!({"name": name}))
        .collect();
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": name},
        "spec": {"managedNamespaces": namespaces},
    });
    serde_json::from_value::<ManagedClusterSet>(object)
        .unwrap()
        .into()
}

fn deleting(name: &str, namespaces: &[&str]) -> ClusterSet {
    ClusterSet {
        deleting: true,
        ..set(name, namespaces)
    }
}

fn item(set: &str, name: &str) -> Value {
    json!({"clusterSet": set, "name": name})
}

/// With the agent's report.
fn reported(set: &str, name: &str) -> Value {
    json!({"clusterSet": set, "name": name, "conditions": [{
        "type": "NamespaceAvailable", "status": "True", "reason": "NamespaceApplied", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]})
}

/// As `decide`, with a set `odd` whose members are unknown.
fn plan(object: &ManagedCluster, sets: &[ClusterSet]) -> ClusterPlan {
    let cluster = Cluster::from(object.clone());
    let sets: Vec<&ClusterSet> = sets.iter().collect();
    let config = Config::default();
    let (owned, addons) = Default::default();
    let facts = ClusterFacts {
        cluster: Some(&cluster),
        sets: &sets,
        undecided_sets: &["odd"],
        ..facts_of(&config, "c1", &owned, &addons)
    };
    let mut plan = ClusterPlan::default();
    plan.writes.extend(due(&facts));
    if !cluster
        .managed_namespaces
        .iter()
        .any(|item| item.cluster_set == "odd")
    {
        let now = Now {
            instant: Instant::now(),
            wall: "2026-01-02T03:04:05Z".parse().unwrap(),
        };
        let mut decided = ClusterPlan::default();
        decide(&facts, now, &mut decided);
        assert_eq!(decided, plan);
    }
    plan
}

/// The stored items after the due write, if one is due. Asserts that nothing is due then.
#[track_caller]
fn settled(object: &ManagedCluster, sets: &[ClusterSet]) -> Option<Value> {
    let due = plan(object, sets);
    let [write] = due.writes.as_slice() else {
        assert_eq!(due, ClusterPlan::default());
        return None;
    };
    assert_eq!(write.target.name, "c1");
    let patched = patched(object, write);
    assert_eq!(
        plan(&patched, sets),
        ClusterPlan::default(),
        "decided again"
    );
    let status = patched.status.unwrap();
    assert_eq!(status.cluster_claims.len(), 1, "what is the agent's stays");
    let stored = json!(status.managed_namespaces);
    let total = stored.as_array().unwrap().len();
    assert_eq!(write.events[0].reason, "ManagedNamespacesUpdated");
    assert_eq!(
        write.events[0].note,
        format!("Updated managed namespaces for cluster \"c1\" (total: {total})")
    );
    Some(stored)
}

#[test]
fn the_cluster_has_the_namespaces_of_its_sets() {
    for (sentence, stored, sets, expected) in [
        ("no sets", json!([]), vec![], None),
        (
            "sets without namespaces",
            json!([]),
            vec![set("a", &[])],
            None,
        ),
        (
            "namespaces of a set that it has left",
            json!([reported("a", "n1")]),
            vec![],
            Some(json!([])),
        ),
        (
            "one set",
            json!([]),
            vec![set("a", &["n2", "n1"])],
            Some(json!([item("a", "n1"), item("a", "n2")])),
        ),
        (
            "two sets that want the same",
            json!([]),
            vec![set("b", &["n1"]), set("a", &["n2", "n1"])],
            Some(json!([item("a", "n1"), item("a", "n2"), item("b", "n1")])),
        ),
        (
            "a name twice in a set",
            json!([]),
            vec![set("a", &["n1", "n1"])],
            Some(json!([item("a", "n1")])),
        ),
        (
            "no change",
            json!([reported("a", "n1"), item("a", "n2")]),
            vec![set("a", &["n1", "n2"])],
            None,
        ),
        (
            "no change but of the order, which means nothing",
            json!([reported("b", "n1"), item("a", "n2")]),
            vec![set("b", &["n1"]), set("a", &["n2"])],
            None,
        ),
        (
            "one more: what the agent reported of the others stays",
            json!([reported("a", "n2")]),
            vec![set("a", &["n1", "n2"])],
            Some(json!([item("a", "n1"), reported("a", "n2")])),
        ),
        (
            "one less",
            json!([reported("a", "n1"), reported("a", "n2")]),
            vec![set("a", &["n2"])],
            Some(json!([reported("a", "n2")])),
        ),
        (
            "moved to another set: what was reported was of the old one",
            json!([reported("a", "n1")]),
            vec![set("b", &["n1"])],
            Some(json!([item("b", "n1")])),
        ),
        (
            "a set that is being deleted wants none",
            json!([reported("a", "n1"), reported("b", "n1")]),
            vec![deleting("a", &["n1"]), set("b", &["n1"])],
            Some(json!([reported("b", "n1")])),
        ),
        (
            "of a set whose selector has become invalid all stay",
            json!([reported("a", "n1"), reported("odd", "n1")]),
            vec![set("b", &["n1"])],
            Some(json!([item("b", "n1"), reported("odd", "n1")])),
        ),
        (
            "and they are no reason to write",
            json!([reported("odd", "n1")]),
            vec![],
            None,
        ),
    ] {
        assert_eq!(settled(&object(stored), &sets), expected, "{sentence}");
    }
}

#[test]
fn a_cluster_that_goes_or_is_gone_has_nothing_due() {
    let mut object = object(json!([]));
    object.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    assert_eq!(plan(&object, &[set("a", &["n1"])]), ClusterPlan::default());
}

proptest! {
    #[test]
    fn any_cluster_settles_with_one_write(
        stored in proptest::collection::btree_set(("a|b|odd", "n1|n2|n3"), 0..6),
        a in proptest::collection::vec("n1|n2|n3", 0..4),
        b in proptest::collection::vec("n1|n2|n3", 0..4),
    ) {
        let stored: Vec<Value> = stored.iter().map(|(set, name)| reported(set, name)).collect();
        let a: Vec<&str> = a.iter().map(String::as_str).collect();
        let b: Vec<&str> = b.iter().map(String::as_str).collect();
        settled(&object(json!(stored)), &[set("a", &a), set("b", &b)]);
    }
}
