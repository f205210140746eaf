use super::*;
use crate::cluster_plan::ClusterChanges;
use crate::names;
use crate::testing::{ADDONS, FakeHub, Stored, WORKS, again_after, condition, kind};
use berth_api::plan::Target;
use serde_json::{Value, json};
use std::time::Duration;

mod automatic;
mod denial;
mod failures;
mod laws;
mod reserved;

const ACCEPTED: (&str, &str, &str) = (
    "True",
    "HubClusterAdminAccepted",
    "Accepted by hub cluster admin",
);
const DENIED: (&str, &str, &str) = (
    "False",
    "HubClusterAdminDenied",
    "Denied by hub cluster admin",
);

/// Describes a write in a few words.
fn said(write: &Write) -> String {
    assert_eq!(write.reconciler, NAME, "{write:?}");
    let Target {
        resource,
        namespace,
        name,
    } = &write.target;
    let short = name
        .replace("open-cluster-management:managedcluster:", "")
        .replace(':', "-");
    let verb = match &write.action {
        Action::Apply { manager, .. } | Action::ApplyStatus { manager, .. }
            if *manager != managers::ACCEPTANCE =>
        {
            panic!("the field manager is {manager}")
        }
        Action::Apply { .. } => "apply",
        Action::CreateOrUpdate { .. } => "make",
        Action::ApplyStatus { .. } => "status",
        Action::Patch { .. } => "patch",
        Action::Delete { .. } => "delete",
        other => panic!("{other:?}"),
    };
    if let Some(namespace) = namespace {
        assert!(short.starts_with(namespace), "{write:?}");
    }
    format!("{verb} {} {short}", resource.resource)
}

fn decided(hub: &FakeHub) -> ClusterPlan {
    hub.with_facts(true, |facts| {
        let mut plan = ClusterPlan::default();
        decide(facts, hub.now(), &mut plan);
        plan
    })
}

fn due(hub: &FakeHub) -> Vec<String> {
    decided(hub).writes.iter().map(said).collect()
}

fn reasons(hub: &FakeHub) -> Vec<&'static str> {
    hub.events.iter().map(|event| event.reason).collect()
}

fn hub_accepted(hub: &FakeHub) -> Option<(&str, &str, &str)> {
    hub.condition("HubAcceptedManagedCluster")
}

fn role_of(hub: &FakeHub) -> Option<&Stored> {
    hub.object("clusterroles", "open-cluster-management:managedcluster:c1")
}

fn rule_count(hub: &FakeHub) -> usize {
    let rules = role_of(hub).and_then(|role| role.body["rules"].as_array());
    rules.map_or(0, Vec::len)
}

const REGISTRATION: &str = "open-cluster-management:managedcluster:c1:registration";
const WORK: &str = "open-cluster-management:managedcluster:c1:work";

#[test]
fn a_new_cluster_that_nobody_accepted_gets_nothing() {
    let hub = FakeHub::new("c1");
    assert_eq!(decided(&hub), ClusterPlan::default());
}

#[test]
fn acceptance_takes_four_rounds_and_seven_writes() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;

    let plan = hub.decide();
    assert_eq!(
        plan.writes.iter().map(said).collect::<Vec<_>>(),
        ["make namespaces c1"]
    );
    assert_eq!(
        plan.changes.add_finalizers,
        [labels::RESOURCE_CLEANUP, labels::API_RESOURCE_CLEANUP],
        "one patch adds both"
    );
    assert_eq!(hub.carry_out(plan), []);

    let plan = hub.decide();
    assert_eq!(
        plan.writes.iter().map(said).collect::<Vec<_>>(),
        [
            "apply clusterroles c1",
            "apply rolebindings c1-registration",
            "apply rolebindings c1-work",
        ]
    );
    assert_eq!(plan.changes, ClusterChanges::default());
    assert_eq!(hub.carry_out(plan), []);

    let plan = hub.decide();
    assert_eq!(
        plan.writes.iter().map(said).collect::<Vec<_>>(),
        ["apply clusterrolebindings c1"],
        "not before its role is there"
    );
    assert_eq!(hub.carry_out(plan), []);
    assert_eq!(hub_accepted(&hub), None, "not before all is there");

    let plan = hub.decide();
    assert_eq!(
        plan.writes.iter().map(said).collect::<Vec<_>>(),
        ["status managedclusters c1"]
    );
    assert_eq!(hub.carry_out(plan), []);
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
    assert_eq!(reasons(&hub), ["ManagedClusterAccepted"]);
    assert_eq!(
        hub.events[0].note,
        "managed cluster c1 is accepted by hub cluster admin"
    );
    assert_eq!(hub.writes.len(), 6, "and one patch");

    assert_eq!(hub.decide(), ClusterPlan::default(), "then nothing is due");
}

#[test]
fn role_bindings_wait_for_the_roles_that_all_agents_share() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    hub.common_roles = false;
    hub.run();
    assert!(hub.object("rolebindings", REGISTRATION).is_none());
    assert_eq!(hub_accepted(&hub), None, "that is no failure to tell of");
    hub.common_roles = true;
    assert_eq!(
        due(&hub),
        [
            "apply rolebindings c1-registration",
            "apply rolebindings c1-work"
        ]
    );
    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
    hub.common_roles = false;
    assert_eq!(hub.decide(), ClusterPlan::default(), "what is right stays");
}

#[test]
fn the_status_is_applied_alone() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    hub.run();
    let Some(Write {
        action: Action::ApplyStatus { body, .. },
        ..
    }) = hub.writes.last()
    else {
        panic!("the status comes last");
    };
    assert_eq!(
        *body,
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": { "name": "c1" },
            "status": { "conditions": [{
                "type": "HubAcceptedManagedCluster",
                "status": "True",
                "reason": "HubClusterAdminAccepted",
                "message": "Accepted by hub cluster admin",
                "lastTransitionTime": "2023-11-14T22:13:20Z",
            }] },
        })
    );
}

#[test]
fn nothing_inside_a_namespace_is_made_before_the_finalizer_is_there() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    let plan = hub.decide();
    for write in plan.writes {
        hub.write(write).expect("the namespace is made");
    }
    // The patch failed.
    assert_eq!(due(&hub), [] as [&str; 0]);
    assert_eq!(
        decided(&hub).changes.add_finalizers,
        [labels::API_RESOURCE_CLEANUP]
    );
}

#[test]
fn what_is_edited_or_deleted_is_put_right_again() {
    type Edit = fn(&mut FakeHub);
    let rows: [(&str, Edit, &[&str]); 9] = [
        (
            "the ClusterRole is gone",
            |hub| {
                hub.objects
                    .remove(&("clusterroles".to_owned(), names_role()));
            },
            &["apply clusterroles c1"],
        ),
        (
            "the ClusterRole has the reduced rules",
            |hub| {
                let rules = roles::cluster_role(&hub.config, "c1", false)["rules"].clone();
                hub.object_mut("clusterroles", &names_role()).body["rules"] = rules;
            },
            &["apply clusterroles c1"],
        ),
        (
            "the ClusterRoleBinding has one subject more",
            |hub| {
                let body = &mut hub.object_mut("clusterrolebindings", &names_role()).body;
                body["subjects"]
                    .as_array_mut()
                    .expect("a list")
                    .push(json!({"kind": "User", "name": "eve"}));
            },
            &["apply clusterrolebindings c1"],
        ),
        (
            "the registration binding is gone",
            |hub| {
                hub.objects
                    .remove(&("rolebindings".to_owned(), REGISTRATION.to_owned()));
            },
            &["apply rolebindings c1-registration"],
        ),
        (
            "the work binding lacks its finalizer",
            |hub| {
                hub.object_mut("rolebindings", WORK).finalizers.clear();
            },
            &["apply rolebindings c1-work"],
        ),
        (
            "a configured label is new",
            |hub| {
                hub.config.labels.insert("team".to_owned(), "a".to_owned());
            },
            &[
                "make namespaces c1",
                "apply clusterroles c1",
                "apply rolebindings c1-registration",
                "apply rolebindings c1-work",
            ],
        ),
        (
            "a label of the namespace is somebody else's",
            |hub| {
                hub.object_mut("namespaces", "c1").body["metadata"]["labels"]["x"] = json!("y");
            },
            &[],
        ),
        (
            "the cluster's label is taken from the namespace",
            |hub| {
                hub.object_mut("namespaces", "c1").body["metadata"]["labels"] = Value::Null;
            },
            &["make namespaces c1"],
        ),
        (
            "it is taken away, and a set is bound there",
            |hub| {
                hub.object_mut("namespaces", "c1").body["metadata"]["labels"] = Value::Null;
                hub.bindings.push("prod".to_owned());
            },
            &["make namespaces c1"],
        ),
    ];
    for (row, edit, expected) in rows {
        let mut hub = FakeHub::accepted("c1");
        let before = hub.portrait();
        edit(&mut hub);
        assert_eq!(due(&hub), expected, "{row}");
        hub.run();
        assert_eq!(
            hub_accepted(&hub),
            Some(ACCEPTED),
            "{row}: the condition stays"
        );
        assert_eq!(reasons(&hub), [] as [&str; 0], "{row}: nothing new to tell");
        if hub.config.labels.is_empty() && !row.contains("else's") {
            assert_eq!(hub.portrait(), before, "{row}");
        }
    }
}

fn names_role() -> String {
    crate::names::cluster_role("c1")
}

#[test]
fn a_cluster_that_ocm_accepted_is_taken_over_without_a_write() {
    let mut hub = FakeHub::new("c1");
    for body in [
        roles::namespace(&hub.config, "c1"),
        roles::cluster_role(&hub.config, "c1", true),
        roles::cluster_role_binding(&hub.config, "c1"),
        roles::registration_binding(&hub.config, "c1"),
        roles::work_binding(&hub.config, "c1"),
    ] {
        hub.insert(body);
    }
    let (status, reason, message) = ACCEPTED;
    let cluster = hub.cluster();
    cluster.accepted = true;
    cluster.finalizers = vec![
        labels::API_RESOURCE_CLEANUP.to_owned(),
        labels::RESOURCE_CLEANUP.to_owned(),
    ];
    cluster.conditions = vec![condition(HUB_ACCEPTED, status, reason, message)];
    assert_eq!(hub.decide(), ClusterPlan::default());
    assert_eq!(hub.with_facts(true, removal::questions), []);
}

#[test]
fn an_ordinary_namespace_made_in_advance_is_adopted() {
    let mut hub = FakeHub::new("c1");
    let body = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "c1", "labels": { "x": "y" } },
    });
    let uid = hub.insert(body).uid.clone();
    hub.cluster().accepted = true;
    hub.run();
    let namespace = hub.object("namespaces", "c1").expect("it is there");
    assert_eq!(namespace.uid, uid);
    assert_eq!(
        namespace.body["metadata"]["labels"],
        json!({ "x": "y", (labels::CLUSTER_NAME): "c1" })
    );
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
}

#[test]
fn nothing_is_written_into_a_namespace_that_terminates() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    hub.insert(roles::namespace(&hub.config, "c1")).deleting = true;
    assert_eq!(due(&hub), ["status managedclusters c1"]);
    hub.run();
    let (status, reason, message) = hub_accepted(&hub).expect("it is told");
    assert_eq!((status, reason), ("False", "Error"));
    assert_eq!(
        message,
        "Namespace \"c1\" is being deleted; the cluster gets a new one when it is gone"
    );
    let plan = decided(&hub);
    assert_eq!(plan, ClusterPlan::default(), "and no frequent check");

    hub.settle();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
    assert!(!hub.object("namespaces", "c1").expect("it is new").deleting);
}

#[test]
fn a_cluster_that_is_deleted_or_gone_is_not_looked_at() {
    let mut hub = FakeHub::accepted("c1");
    hub.objects.clear();
    let mut deleted = hub.clone();
    deleted.cluster().deleting = true;
    assert_eq!(decided(&deleted), ClusterPlan::default());
    let mut gone = hub.clone();
    gone.cluster = None;
    assert_eq!(decided(&gone), ClusterPlan::default());
}
