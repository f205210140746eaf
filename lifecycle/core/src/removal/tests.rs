use super::*;
use crate::testing::{ADDONS, FakeHub, WORKS, again_after, condition, kind};

mod content;
mod failures;
mod gone;

const NO_RESOURCE: (&str, &str, &str) =
    ("True", "NoResource", "No cleaned resource in cluster ns.");
const WORK: &str = "open-cluster-management:managedcluster:c1:work";

fn decided(hub: &FakeHub) -> ClusterPlan {
    hub.with_facts(true, |facts| {
        let mut plan = ClusterPlan::default();
        decide(facts, hub.now(), &mut plan);
        plan
    })
}

/// The objects that this plan deletes from the namespace.
fn deleted(plan: &ClusterPlan) -> Vec<&str> {
    plan.writes
        .iter()
        .filter(|write| {
            write
                .target
                .resource
                .group
                .contains("open-cluster-management")
        })
        .filter(|write| matches!(write.action, Action::Delete { .. }))
        .map(|write| &*write.target.name)
        .collect()
}

fn deleting(hub: &FakeHub) -> Option<(&str, &str, &str)> {
    hub.condition("Deleting")
}

fn reasons(hub: &FakeHub) -> Vec<&'static str> {
    hub.events.iter().map(|event| event.reason).collect()
}

fn asked(hub: &FakeHub) -> Vec<GroupVersionResource> {
    hub.with_facts(true, questions)
}

/// A hub with a cluster that was accepted and is being deleted.
fn going() -> FakeHub {
    let mut hub = FakeHub::accepted("c1");
    hub.delete_cluster();
    hub
}

#[test]
fn a_cluster_that_stays_gets_the_finalizer_accepted_or_not() {
    for accepted in [false, true] {
        let mut hub = FakeHub::new("c1");
        hub.cluster().accepted = accepted;
        let plan = decided(&hub);
        assert_eq!(plan.changes.add_finalizers, [labels::RESOURCE_CLEANUP]);
        assert_eq!(plan.writes, []);
        hub.cluster()
            .finalizers
            .push(labels::RESOURCE_CLEANUP.to_owned());
        assert_eq!(decided(&hub), ClusterPlan::default());
        assert_eq!(asked(&hub), []);
    }
}

#[test]
fn without_the_gate_there_is_no_finalizer_and_none_is_stranded() {
    let mut hub = FakeHub::new("c1");
    hub.config.gates.resource_cleanup = false;
    assert_eq!(decided(&hub), ClusterPlan::default());

    // In OCM the cluster would stay: the finalizer was added while the gate was on.
    let mut hub = FakeHub::accepted("c1");
    hub.put(ADDONS, "a", None, false);
    hub.config.gates.resource_cleanup = false;
    assert_eq!(
        decided(&hub),
        ClusterPlan::default(),
        "it does no harm before"
    );
    hub.delete_cluster();
    hub.run();
    assert!(hub.cluster.is_none());
    assert_eq!(hub.names(ADDONS), ["a"], "and nothing is deleted");
    assert_eq!(reasons(&hub), [] as [&str; 0]);
}

#[test]
fn a_deleted_cluster_without_anything_left_loses_both_finalizers_in_one_patch() {
    let mut hub = going();
    assert_eq!(asked(&hub), [kind(ADDONS), kind(WORKS)]);
    let mut patches = Vec::new();
    let mut conditions = Vec::new();
    while hub.cluster.is_some() {
        let plan = hub.decide();
        assert!(!plan.is_empty());
        if !plan.changes.remove_finalizers.is_empty() {
            patches.push(plan.changes.remove_finalizers.clone());
            conditions.extend(deleting(&hub).map(|(_, reason, _)| reason.to_owned()));
        }
        assert_eq!(hub.carry_out(plan), []);
    }
    // The clean-up of the namespace is complete while the work binding waits for its finalizer.
    assert_eq!(
        patches,
        [
            vec![labels::RESOURCE_CLEANUP],
            vec![labels::API_RESOURCE_CLEANUP]
        ]
    );
    assert_eq!(conditions, ["NoResource"; 2], "after the condition");
    assert_eq!(reasons(&hub), ["ResourceCleanupCompleted"]);
    assert_eq!(hub.events[0].note, "resources in cluster c1 are cleaned up");
    let left: Vec<&str> = hub
        .objects
        .keys()
        .map(|(resource, _)| &**resource)
        .collect();
    assert_eq!(left, ["namespaces"], "the namespace stays");
    assert_eq!(hub.decide(), ClusterPlan::default());
    assert_eq!(asked(&hub), []);

    // When both are due at the same time, there is one patch.
    let mut hub = FakeHub::accepted("c1");
    hub.objects.clear();
    hub.delete_cluster();
    let plan = hub.decide();
    assert_eq!(hub.carry_out(plan), []);
    assert_eq!(deleting(&hub), Some(NO_RESOURCE));
    assert_eq!(
        hub.decide().changes.remove_finalizers,
        [labels::RESOURCE_CLEANUP, labels::API_RESOURCE_CLEANUP]
    );
}

#[test]
fn permissions_go_at_once_but_for_the_works() {
    let mut hub = going();
    hub.put(WORKS, "w", None, true);
    let plan = hub.decide();
    let rbac: Vec<&str> = plan
        .writes
        .iter()
        .filter(|write| write.target.resource.group == "rbac.authorization.k8s.io")
        .map(|write| {
            assert!(matches!(&write.action, Action::Delete { uid, .. } if !uid.is_empty()));
            &*write.target.resource.resource
        })
        .collect();
    assert_eq!(
        rbac,
        [
            "clusterroles",
            "clusterrolebindings",
            "rolebindings",
            "rolebindings"
        ]
    );
    assert_eq!(deleted(&plan), ["w"], "and its work is deleted");
    hub.run();
    assert_eq!(
        hub.object("rolebindings", WORK)
            .map(|stored| stored.deleting),
        Some(true)
    );
    assert!(hub.cluster().has_finalizer(labels::API_RESOURCE_CLEANUP));
    assert!(hub.cluster().has_finalizer(labels::RESOURCE_CLEANUP));
    assert_eq!(
        again_after(&decided(&hub), hub.now()),
        Some(Duration::from_secs(2))
    );

    assert!(hub.others_act(), "the agent takes it down");
    hub.run();
    assert!(hub.cluster.is_none());
    assert!(hub.object("rolebindings", WORK).is_none());
}

/// Each finalizer alone keeps the cluster: the other is missing on a cluster that was deleted while the gate was off.
#[test]
fn nothing_is_left_behind_whichever_finalizer_holds_the_cluster() {
    for own in [labels::API_RESOURCE_CLEANUP, labels::RESOURCE_CLEANUP] {
        let mut hub = going();
        hub.put(ADDONS, "a", None, false);
        hub.put(WORKS, "w", None, false);
        hub.cluster().finalizers = vec![own.to_owned()];
        hub.objects
            .retain(|(resource, _), _| resource == "namespaces");
        // Killed after the write of the condition, and before a deletion.
        let mut first = hub.decide();
        assert_eq!(deleted(&first), ["a"]);
        first
            .writes
            .retain(|write| !matches!(write.action, Action::Delete { .. }));
        assert_eq!(first.writes.len(), 1);
        assert_eq!(hub.carry_out(first), []);
        hub.run();
        assert!(hub.cluster.is_none());
        assert_eq!(
            [hub.names(ADDONS), hub.names(WORKS)],
            [[] as [&str; 0]; 2],
            "{own}"
        );
    }
}

#[test]
fn finalizers_of_others_are_theirs_to_wait_for() {
    let mut hub = going();
    for stored in hub.objects.values_mut() {
        stored.finalizers.push("example.com/keep".to_owned());
    }
    hub.cluster().finalizers.push("example.com/keep".to_owned());
    hub.settle();
    assert_eq!(hub.cluster().finalizers, ["example.com/keep"]);
    for ((resource, _), stored) in &hub.objects {
        assert_eq!(stored.finalizers, ["example.com/keep"]);
        assert_eq!(stored.deleting, resource != "namespaces");
    }
    assert_eq!(
        decided(&hub),
        ClusterPlan::default(),
        "and no frequent check"
    );
    assert_eq!(asked(&hub), []);
}

#[test]
fn a_cluster_deleted_while_it_is_denied_leaves_as_well() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w", None, true);
    hub.cluster().accepted = false;
    hub.run();
    hub.delete_cluster();
    hub.settle();
    assert!(hub.cluster.is_none());
    assert_eq!(hub.objects.len(), 1);
}

#[test]
fn the_condition_of_the_status_keeps_its_time() {
    let mut hub = going();
    hub.put(ADDONS, "a", None, true);
    hub.cluster()
        .conditions
        .push(condition("Deleting", "False", "ResourceRemaining", "old"));
    hub.run();
    let condition = hub.cluster().condition("Deleting").expect("it is there");
    assert_eq!(
        condition.last_transition_time.0,
        jiff::Timestamp::UNIX_EPOCH
    );
}

#[test]
fn a_deleted_cluster_that_takes_no_write_any_more_goes_all_the_same() {
    let mut hub = FakeHub::accepted("c1");
    hub.objects.clear();
    hub.delete_cluster();
    let decided =
        |hub: &FakeHub| hub.with_facts(true, |facts| crate::clusters::decide(facts, hub.now()));
    assert_eq!(decided(&hub).changes.remove_finalizers, [] as [&str; 0]);
    hub.full = true;
    let plan = decided(&hub);
    assert_eq!(plan.writes, [], "a condition would be refused again");
    assert_eq!(
        plan.changes.remove_finalizers,
        [labels::RESOURCE_CLEANUP, labels::API_RESOURCE_CLEANUP]
    );
}
