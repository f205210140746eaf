use super::*;
use crate::testing::{ADDONS, FakeHub, WORKS, again_after, condition, kind};
use proptest::prelude::*;

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

/// What is deleted from the namespace by this plan.
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

/// One whose cluster was accepted, and is being deleted now.
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

    // OCM's would hang: the finalizer was added while the gate was on.
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
fn an_empty_list_of_kinds_is_nothing_to_do() {
    let mut hub = going();
    hub.put(ADDONS, "a", None, false);
    hub.config.gc_resources.clear();
    assert_eq!(asked(&hub), []);
    hub.run();
    assert!(hub.cluster.is_none());
    assert_eq!(hub.names(ADDONS), ["a"]);
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
    // The namespace's clean-up is through while the work binding waits for its finalizer.
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

#[test]
fn addons_go_before_works_and_low_priorities_before_high_ones() {
    let mut hub = going();
    hub.put(WORKS, "w", None, false);
    for (name, priority) in [
        ("last", Some("100")),
        ("middle", Some("50")),
        ("none", None),
        ("zero", Some("0")),
        ("too-high", Some("101")),
        ("negative", Some("-1")),
        ("word", Some("high")),
        ("empty", Some("")),
        ("huge", Some("99999999999999999999999")),
        ("spaced", Some(" 7")),
        ("first-of-others", Some("+7")),
    ] {
        hub.put(ADDONS, name, priority, false);
    }
    let mut turns = Vec::new();
    for _ in 0..20 {
        let plan = hub.decide();
        if !deleted(&plan).is_empty() {
            turns.push(deleted(&plan).join(" "));
        }
        hub.carry_out(plan);
    }
    assert_eq!(
        turns,
        [
            "none zero too-high negative word empty huge spaced",
            "first-of-others",
            "middle",
            "last",
            "w",
        ]
    );
    assert!(hub.cluster.is_none());
}

#[test]
fn what_is_being_deleted_is_awaited_and_not_deleted_again() {
    let mut hub = going();
    hub.put(ADDONS, "first", Some("1"), true);
    hub.put(ADDONS, "second", Some("2"), true);
    hub.put(WORKS, "w", None, true);
    hub.run();
    let plan = hub.decide();
    assert!(plan.is_empty());
    assert_eq!(again_after(&plan, hub.now()), Some(Duration::from_secs(2)));
    let message = "The resource managedclusteraddons is remaning, the remaining count is 2, the finalizer pending count is 1";
    assert_eq!(
        deleting(&hub),
        Some(("False", "ResourceRemaining", message))
    );

    hub.others_act();
    hub.run();
    let message = "The resource managedclusteraddons is remaning, the remaining count is 1, the finalizer pending count is 1";
    assert_eq!(
        deleting(&hub),
        Some(("False", "ResourceRemaining", message))
    );

    hub.others_act();
    hub.run();
    let message = "The resource manifestworks is remaning, the remaining count is 1, the finalizer pending count is 1";
    assert_eq!(
        deleting(&hub),
        Some(("False", "ResourceRemaining", message))
    );
    hub.settle();
    assert!(hub.cluster.is_none());
}

#[test]
fn what_cannot_be_listed_is_told_and_holds_the_finalizer() {
    let mut hub = going();
    hub.put(WORKS, "w", None, false);
    hub.unlistable.insert(kind(ADDONS), "forbidden".to_owned());
    hub.run();
    assert_eq!(
        deleting(&hub),
        Some((
            "False",
            "DeletingError",
            "failed to list resource managedclusteraddons. err:forbidden"
        ))
    );
    assert_eq!(reasons(&hub), ["ResourceCleanupFail"]);
    assert_eq!(
        hub.events[0].note,
        "failed to cleanup resources in cluster c1:failed to list resource managedclusteraddons. err:forbidden"
    );
    assert!(hub.events[0].warning);
    assert_eq!(hub.names(WORKS), ["w"], "works come after add-ons");
    assert!(hub.cluster().has_finalizer(labels::RESOURCE_CLEANUP));
    assert_eq!(
        again_after(&decided(&hub), hub.now()),
        Some(Duration::from_secs(2))
    );

    hub.unlistable.clear();
    hub.settle();
    assert!(hub.cluster.is_none());
    assert_eq!(
        reasons(&hub),
        ["ResourceCleanupFail", "ResourceCleanupCompleted"]
    );
}

#[test]
fn nothing_is_concluded_before_the_hub_was_asked() {
    let mut hub = going();
    let first = hub.with_facts(false, |facts| {
        let mut plan = ClusterPlan::default();
        decide(facts, hub.now(), &mut plan);
        plan
    });
    assert_eq!(deleted(&first), [] as [&str; 0]);
    assert_eq!(first.changes.remove_finalizers, [] as [&str; 0]);
    assert!(
        first
            .writes
            .iter()
            .all(|write| matches!(write.action, Action::Delete { .. }))
    );
    hub.objects
        .retain(|(resource, _), _| resource == "namespaces");
    let second = hub.with_facts(false, |facts| {
        let mut plan = ClusterPlan::default();
        decide(facts, hub.now(), &mut plan);
        plan
    });
    assert_eq!(second, ClusterPlan::default());
}

/// Either finalizer alone holds it: the other is missing on a cluster that was deleted while the gate was off.
#[test]
fn nothing_is_left_behind_whichever_finalizer_holds_the_cluster() {
    for own in [labels::API_RESOURCE_CLEANUP, labels::RESOURCE_CLEANUP] {
        let mut hub = going();
        hub.put(ADDONS, "a", None, false);
        hub.put(WORKS, "w", None, false);
        hub.cluster().finalizers = vec![own.to_owned()];
        hub.objects
            .retain(|(resource, _), _| resource == "namespaces");
        // Killed when it had told what is left, and deleted nothing yet.
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
fn what_does_not_bear_our_label_is_not_touched() {
    // A ManagedCluster named like somebody's namespace, never accepted, and deleted again.
    let mut hub = FakeHub::new("kube-system");
    hub.put(WORKS, "w", None, false);
    hub.insert(
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kube-system" } }),
    );
    let mut foreign = roles::work_binding(&hub.config, "kube-system");
    foreign["metadata"]["labels"] = json!({ "x": "y" });
    hub.insert(foreign);
    hub.run();
    let before = (hub.objects.clone(), hub.content.clone());
    hub.delete_cluster();
    assert_eq!(asked(&hub), []);
    hub.run();
    assert!(hub.cluster.is_none());
    assert_eq!((hub.objects, hub.content), before);
}

#[test]
fn a_label_that_names_another_cluster_is_not_ours() {
    let mut hub = going();
    for stored in hub.objects.values_mut() {
        stored.body["metadata"]["labels"][labels::CLUSTER_NAME] = json!("c2");
    }
    let before = hub.objects.clone();
    hub.run();
    assert!(hub.cluster.is_none());
    assert_eq!(hub.objects, before);
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
        "and nobody looks all the time"
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
fn with_other_kinds_to_clean_up_works_are_asked_for_all_the_same() {
    let mut hub = going();
    // Of this version there are none.
    let old = "work.open-cluster-management.io/v1alpha1/manifestworks";
    hub.config.gc_resources = vec![kind(old)];
    hub.put(WORKS, "w", None, true);
    hub.run();
    assert_eq!(asked(&hub), [kind(WORKS)]);
    assert!(
        hub.object("rolebindings", WORK).is_some(),
        "v1 is what counts"
    );
    assert!(!hub.cluster().has_finalizer(labels::RESOURCE_CLEANUP));
    assert!(hub.cluster().has_finalizer(labels::API_RESOURCE_CLEANUP));
    assert_eq!(
        again_after(&decided(&hub), hub.now()),
        Some(Duration::from_secs(2))
    );
    hub.content.clear();
    hub.run();
    assert!(hub.cluster.is_none());
}

#[test]
fn what_a_gone_cluster_left_behind_goes_too() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(ADDONS, "a", None, false);
    hub.put(WORKS, "w", None, true);
    hub.cluster = None;
    hub.run();
    assert_eq!(hub.names(ADDONS), [] as [&str; 0]);
    assert_eq!(hub.names(WORKS), ["w"]);
    assert_eq!(
        hub.object("rolebindings", WORK)
            .map(|stored| stored.deleting),
        Some(true)
    );
    assert_eq!(hub.objects.len(), 2, "the other permissions are gone");
    assert_eq!(
        again_after(&decided(&hub), hub.now()),
        Some(Duration::from_secs(30))
    );
    hub.settle();
    let left: Vec<&str> = hub
        .objects
        .keys()
        .map(|(resource, _)| &**resource)
        .collect();
    assert_eq!(left, ["namespaces"]);
    assert_eq!(asked(&hub), [], "and nothing is asked any more");
    assert_eq!(decided(&hub), ClusterPlan::default());
    assert!(
        hub.writes
            .iter()
            .all(|write| !matches!(write.action, Action::ApplyStatus { .. }))
    );
}

/// The clusters of a hub that is restored from a backup may come last.
#[test]
fn what_is_there_of_a_cluster_that_was_never_seen_is_not_cleaned_up() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w", None, false);
    let cluster = hub.cluster.take();
    hub.was_there = false;
    hub.run();
    assert_eq!(hub.names(WORKS), ["w"], "the works of a running cluster");
    hub.cluster = cluster;
    hub.settle();
    assert_eq!(hub.names(WORKS), ["w"]);
}

#[test]
fn a_gone_cluster_without_permissions_left_leaves_its_namespace_alone() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w", None, false);
    hub.cluster = None;
    hub.objects
        .retain(|(resource, _), _| resource == "namespaces");
    assert_eq!(asked(&hub), []);
    assert_eq!(decided(&hub), ClusterPlan::default());
}

#[test]
fn a_cluster_made_again_with_the_name_of_a_gone_one_keeps_what_is_there() {
    let mut hub = FakeHub::accepted("c1");
    let objects = hub.objects.clone();
    let cluster = hub.cluster();
    cluster.uid = "another".to_owned();
    cluster.finalizers.clear();
    cluster.conditions.clear();
    hub.run();
    assert_eq!(hub.objects, objects);
}

#[test]
fn many_objects_are_deleted_in_portions() {
    let mut hub = going();
    for at in 0..1200 {
        hub.put(ADDONS, &format!("a{at}"), None, false);
    }
    assert_eq!(deleted(&decided(&hub)).len(), 500);
    hub.settle();
    assert!(hub.cluster.is_none());
}

// Failures.

/// What is told of failures in a row for so long.
fn reported(hub: &FakeHub, failures: &[WriteFailure], lasted: Duration) -> ClusterPlan {
    hub.with_facts(true, |facts| {
        let mut plan = ClusterPlan::default();
        report(facts, failures, lasted, hub.now(), &mut plan);
        plan
    })
}

fn failure(code: u16) -> WriteFailure {
    WriteFailure {
        reconciler: NAME,
        target: Target {
            resource: kind(ADDONS),
            namespace: Some("c1".to_owned()),
            name: "a".to_owned(),
        },
        code,
        message: "denied by a webhook".to_owned(),
    }
}

#[test]
fn a_failed_deletion_is_told_until_it_succeeds() {
    let mut hub = going();
    hub.put(ADDONS, "a", None, false);
    for _ in 0..5 {
        let mut plan = hub.decide();
        plan.writes.retain(|write| {
            deleted(&ClusterPlan {
                writes: vec![write.clone()],
                ..ClusterPlan::default()
            })
            .is_empty()
        });
        hub.carry_out(plan);
        let plan = reported(&hub, &[failure(403)], Duration::ZERO);
        hub.carry_out(plan);
    }
    let message = "failed to clean up: managedclusteraddons \"a\" in namespace \"c1\" cannot be written: denied by a webhook";
    assert_eq!(deleting(&hub), Some(("False", "DeletingError", message)));
    assert_eq!(
        reasons(&hub),
        ["ResourceCleanupFail"],
        "once, not at each try"
    );
    hub.run();
    assert!(hub.cluster.is_none());
    assert_eq!(
        reasons(&hub),
        ["ResourceCleanupFail", "ResourceCleanupCompleted"]
    );
}

#[test]
fn only_failures_that_matter_are_told() {
    for (code, at_once) in [
        (0, false),
        (403, true),
        (409, false),
        (429, false),
        (500, false),
    ] {
        for (lasted, told) in [(0, at_once), (9, at_once), (10, true)] {
            let plan = reported(&going(), &[failure(code)], Duration::from_secs(lasted));
            assert_eq!(!plan.is_empty(), told, "{code}, after {lasted} s");
        }
    }
    let others = WriteFailure {
        reconciler: "taints",
        ..failure(403)
    };
    assert_eq!(
        reported(&going(), &[others], Duration::MAX),
        ClusterPlan::default()
    );
    assert_eq!(
        reported(&FakeHub::accepted("c1"), &[failure(403)], Duration::MAX),
        ClusterPlan::default()
    );
    let mut gone = going();
    gone.cluster = None;
    assert_eq!(
        reported(&gone, &[failure(403)], Duration::MAX),
        ClusterPlan::default()
    );
}

#[test]
fn a_failure_to_take_back_permissions_does_not_alternate_with_progress() {
    let mut hub = going();
    hub.put(ADDONS, "a", None, true);
    let role = roles::target(&roles::cluster_role(&hub.config, "c1", true));
    for round in 0..10 {
        let mut plan = hub.decide();
        plan.writes.retain(|write| write.target != role);
        hub.carry_out(plan);
        hub.others_act();
        let failure = WriteFailure {
            target: role.clone(),
            ..failure(403)
        };
        let plan = reported(&hub, &[failure], Duration::ZERO);
        assert!(round == 0 || plan.is_empty(), "{round}: {plan:?}");
        hub.carry_out(plan);
    }
    assert_eq!(
        deleting(&hub).map(|(_, reason, _)| reason),
        Some("DeletingError")
    );
    hub.run();
    assert!(hub.cluster.is_none());
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

proptest! {
    #[test]
    fn any_priority_is_between_0_and_100(value in "\\PC{0,6}") {
        let object = RemainingObject {
            name: String::new(),
            uid: String::new(),
            deleting: false,
            cleanup_priority: Some(value),
        };
        prop_assert!(priority(&object) <= 100);
    }
}

#[test]
fn a_cluster_that_is_gone_loses_its_permissions_and_a_reserved_namespace_none() {
    for (name, left) in [("c1", 0), ("default", 2), ("kube-system", 2), ("hub", 2)] {
        let mut hub = FakeHub::new(name);
        hub.cluster = None;
        let config = hub.config.clone();
        hub.insert(roles::cluster_role(&config, name, true));
        hub.insert(roles::registration_binding(&config, name));
        hub.run();
        assert_eq!(hub.objects.len(), left, "{name}");
    }
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

#[test]
fn that_an_object_is_too_large_does_not_pass_by_itself() {
    let too_large = WriteFailure {
        message: "etcdserver: request is too large".to_owned(),
        ..failure(500)
    };
    assert!(too_large.is_too_large() && !too_large.is_transient());
    assert!(!failure(500).is_too_large() && failure(500).is_transient());
}
