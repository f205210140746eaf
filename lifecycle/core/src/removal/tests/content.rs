//! The content of the namespace: what is deleted, and in which order.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::roles;

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

#[test]
fn what_does_not_bear_our_label_is_not_touched() {
    // A ManagedCluster with the name of a user's namespace, never accepted, and deleted again.
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
fn with_other_kinds_to_clean_up_works_are_asked_for_all_the_same() {
    let mut hub = going();
    // No object of this version exists.
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
fn many_objects_are_deleted_in_portions() {
    let mut hub = going();
    for at in 0..1200 {
        hub.put(ADDONS, &format!("a{at}"), None, false);
    }
    assert_eq!(deleted(&decided(&hub)).len(), 500);
    hub.settle();
    assert!(hub.cluster.is_none());
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
