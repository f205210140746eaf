use std::time::Instant;

use berth_api::ManagedClusterSetBinding;
use serde_json::{Value, json};

use super::*;
use crate::testing::patched;

fn object(conditions: Value) -> ManagedClusterSetBinding {
    serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "dev", "namespace": "c1", "uid": "u1", "resourceVersion": "7"},
        "spec": {"clusterSet": "dev"},
        "status": {"conditions": conditions},
    }))
    .unwrap()
}

fn condition(status: &str, reason: &str, message: &str, time: &str) -> Value {
    json!({"type": "Bound", "status": status, "reason": reason, "message": message, "lastTransitionTime": time})
}

fn decided(object: &ManagedClusterSetBinding, set_exists: bool, accepted_cluster: bool) -> Plan {
    let now = Now {
        instant: Instant::now(),
        wall: "2026-01-02T03:04:05.678Z".parse().unwrap(),
    };
    decide(
        "c1",
        "dev",
        &object.clone().into(),
        set_exists,
        accepted_cluster,
        now,
    )
}

#[test]
fn the_condition_tells_whether_the_binding_is_in_force() {
    let (since, later) = ("2026-01-01T00:00:00Z", "2026-01-02T03:04:05Z");
    let bound = |time| condition("True", "ClusterSetBound", "", time);
    let not_found = |time| condition("False", "ClusterSetNotFound", "", time);
    let message = "The namespace belongs to ManagedCluster \"c1\", which is accepted: its agent works there. Bind the set \
                   in another namespace, and delete this binding: kubectl delete managedclustersetbinding -n c1 dev";
    let misplaced = |time| condition("False", "NamespaceBelongsToCluster", message, time);
    let others = json!({
        "type": "Other", "status": "True", "reason": "Because", "message": "of somebody else", "lastTransitionTime": since,
    });
    for (sentence, stored, set_exists, accepted, expected) in [
        (
            "no set",
            json!([]),
            false,
            false,
            Some(json!([not_found(later)])),
        ),
        ("bound", json!([]), true, false, Some(json!([bound(later)]))),
        ("no update", json!([bound(since)]), true, false, None),
        (
            "still no set",
            json!([not_found(since)]),
            false,
            false,
            None,
        ),
        (
            "the set has come",
            json!([not_found(since)]),
            true,
            false,
            Some(json!([bound(later)])),
        ),
        (
            "the set has gone",
            json!([bound(since)]),
            false,
            false,
            Some(json!([not_found(later)])),
        ),
        (
            "the namespace has become a cluster's",
            json!([bound(since)]),
            true,
            true,
            Some(json!([misplaced(later)])),
        ),
        (
            "whatever the set, and the time stays",
            json!([not_found(since)]),
            false,
            true,
            Some(json!([misplaced(since)])),
        ),
        ("it still is", json!([misplaced(since)]), false, true, None),
        (
            "the cluster was turned out",
            json!([misplaced(since)]),
            true,
            false,
            Some(json!([bound(later)])),
        ),
        (
            "conditions of others stay",
            json!([others.clone(), bound(since)]),
            false,
            false,
            Some(json!([others, not_found(later)])),
        ),
    ] {
        let object = object(stored);
        let plan = decided(&object, set_exists, accepted);
        let written = plan.writes.first().map(|write| {
            assert_eq!(write.target.namespace.as_deref(), Some("c1"), "{sentence}");
            assert_eq!(write.target.name, "dev", "{sentence}");
            let patched = patched(&object, write);
            let again = decided(&patched, set_exists, accepted);
            assert_eq!(again, Plan::default(), "{sentence}: again");
            json!(patched.status.unwrap().conditions)
        });
        assert_eq!(written, expected, "{sentence}");
        assert!(plan.writes.len() <= 1, "{sentence}");
    }
}

#[test]
fn a_binding_that_is_being_deleted_is_left_alone() {
    let mut object = object(json!([]));
    object.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    for (set_exists, accepted) in [(true, false), (false, false), (true, true)] {
        assert_eq!(decided(&object, set_exists, accepted), Plan::default());
    }
}
