//! What a denied cluster loses, and when.

use super::*;

#[test]
fn a_namespace_that_terminates_is_not_held_by_the_work_binding_when_the_works_are_gone() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w", None, true);
    hub.object_mut("namespaces", "c1").deleting = true;
    hub.object_mut("rolebindings", WORK).deleting = true;
    hub.run();
    assert_eq!(
        hub.object("rolebindings", WORK)
            .map(|stored| stored.deleting),
        Some(true)
    );
    let plan = decided(&hub);
    assert_eq!(again_after(&plan, hub.now()), Some(Duration::from_secs(30)));

    hub.content.clear();
    assert_eq!(due(&hub), ["patch rolebindings c1-work"]);
    hub.settle();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED), "with a new namespace");
    assert_eq!(
        hub.object("rolebindings", WORK)
            .map(|stored| stored.deleting),
        Some(false)
    );
}

#[test]
fn denial_reduces_the_role_and_takes_the_role_bindings() {
    let mut hub = FakeHub::accepted("c1");
    hub.cluster().accepted = false;
    assert_eq!(
        due(&hub),
        [
            "apply clusterroles c1",
            "delete rolebindings c1-registration",
            "delete rolebindings c1-work",
        ]
    );
    hub.run();
    assert_eq!(rule_count(&hub), 1, "it may see itself");
    assert!(hub.object("clusterrolebindings", &names_role()).is_some());
    assert!(hub.object("rolebindings", REGISTRATION).is_none());
    assert!(hub.object("rolebindings", WORK).is_none());
    assert!(hub.object("namespaces", "c1").is_some());
    assert_eq!(hub_accepted(&hub), Some(DENIED));
    assert_eq!(reasons(&hub), ["ManagedClusterDenied"]);
    assert_eq!(
        hub.events[0].note,
        "managed cluster c1 is denied by hub cluster admin"
    );
    assert!(hub.cluster().has_finalizer(labels::API_RESOURCE_CLEANUP));
    assert_eq!(hub.decide(), ClusterPlan::default());
}

#[test]
fn a_denial_waits_for_the_works() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w1", None, true);
    hub.put(WORKS, "w2", None, true);
    hub.put(ADDONS, "a", None, false);
    hub.cluster().accepted = false;
    assert_eq!(
        hub.with_facts(true, removal::questions),
        [],
        "nothing has to be known to begin with"
    );
    hub.run();
    assert_eq!(hub.with_facts(true, removal::questions), [kind(WORKS)]);
    let (status, reason, message) = hub_accepted(&hub).expect("it is told");
    assert_eq!(
        (status, reason),
        ("True", "HubClusterAdminAccepted"),
        "as the agent has work to do"
    );
    assert_eq!(
        message,
        "Denied by hub cluster admin; takes effect when the cluster's agent has removed its work: 2 ManifestWorks are \
         left in namespace \"c1\""
    );
    assert_eq!(rule_count(&hub), 1);
    assert!(hub.object("rolebindings", REGISTRATION).is_none());
    assert_eq!(
        hub.object("rolebindings", WORK)
            .map(|stored| stored.deleting),
        Some(true)
    );
    assert_eq!(
        again_after(&decided(&hub), hub.now()),
        Some(Duration::from_secs(2))
    );
    assert_eq!(hub.names(WORKS), ["w1", "w2"], "a denial deletes none");

    hub.content
        .get_mut(&kind(WORKS))
        .expect("there are works")
        .pop();
    hub.run();
    let (_, _, message) = hub_accepted(&hub).expect("it is told");
    assert!(message.contains("1 ManifestWork is left"), "{message}");

    hub.unlistable.insert(kind(WORKS), "forbidden".to_owned());
    hub.run();
    let (_, _, message) = hub_accepted(&hub).expect("it is told");
    assert!(
        message.contains("ManifestWorks cannot be listed (forbidden)"),
        "{message}"
    );
    assert_eq!(
        again_after(&decided(&hub), hub.now()),
        Some(Duration::from_secs(2))
    );

    hub.unlistable.clear();
    hub.content.clear();
    hub.run();
    assert!(hub.object("rolebindings", WORK).is_none());
    assert_eq!(hub_accepted(&hub), Some(DENIED));
    assert_eq!(decided(&hub), ClusterPlan::default());
    assert_eq!(reasons(&hub), ["ManagedClusterDenied"], "once");
}

/// A cluster with a work that has just been denied.
fn denied_with_work() -> FakeHub {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w", None, true);
    hub.cluster().accepted = false;
    hub
}

#[test]
fn a_denial_now_waits_for_no_works() {
    let mut hub = denied_with_work();
    let mut waiting = hub.clone();
    waiting.run();
    assert!(waiting.object("rolebindings", WORK).is_some());
    for hub in [&mut hub, &mut waiting] {
        hub.cluster().denied_now = true;
        // The number of works does not matter, so neither does a failed list of them.
        hub.unlistable.insert(kind(WORKS), "forbidden".to_owned());
        assert_eq!(hub.with_facts(true, removal::questions), []);
        hub.run();
        assert!(hub.object("rolebindings", WORK).is_none());
        assert!(hub.object("rolebindings", REGISTRATION).is_none());
        assert_eq!(hub_accepted(hub), Some(DENIED));
        assert_eq!(hub.names(WORKS), ["w"], "the works stay as they are");
        assert_eq!(decided(hub), ClusterPlan::default());
    }
    // It may be accepted again, and the next denial is like any other.
    hub.cluster().accepted = true;
    hub.cluster().denied_now = false;
    hub.unlistable.clear();
    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
    hub.cluster().accepted = false;
    hub.run();
    assert!(
        hub.object("rolebindings", WORK)
            .is_some_and(|it| it.deleting)
    );
}

#[test]
fn a_denial_now_that_has_begun_is_not_stopped() {
    let mut hub = denied_with_work();
    hub.cluster().denied_now = true;
    let plan = hub.decide();
    hub.carry_out(plan);
    let work = hub.object("rolebindings", WORK).expect("it goes next");
    assert_eq!((work.deleting, work.finalizers.len()), (false, 0));
    hub.cluster().denied_now = false;
    hub.run();
    assert!(hub.object("rolebindings", WORK).is_none());
    assert_eq!(hub_accepted(&hub), Some(DENIED));
}

#[test]
fn a_cluster_deleted_while_it_is_denied_now_leaves_its_agent_nothing() {
    let mut hub = denied_with_work();
    hub.cluster().denied_now = true;
    hub.delete_cluster();
    hub.run();
    assert!(hub.object("rolebindings", WORK).is_none());
    assert!(hub.cluster.is_some(), "it waits for the work");
}

#[test]
fn the_annotation_counts_only_while_acceptance_is_off() {
    for (accepts, value, expected) in [
        (false, Some("true"), true),
        (true, Some("true"), false),
        (false, Some("false"), false),
        (false, None, false),
    ] {
        let object = json!({
            "metadata": {"annotations": {labels::DENY_NOW: value}},
            "spec": {"hubAcceptsClient": accepts},
        });
        assert_eq!(Cluster::read(&object).denied_now, expected, "{object}");
    }
}

#[test]
fn nothing_is_concluded_from_works_that_nobody_asked_for() {
    let mut hub = FakeHub::accepted("c1");
    hub.cluster().accepted = false;
    let plan = hub.decide();
    hub.carry_out(plan);
    let plan = hub.with_facts(false, |facts| {
        let mut plan = ClusterPlan::default();
        decide(facts, hub.now(), &mut plan);
        plan
    });
    assert_eq!(plan, ClusterPlan::default());
}

#[test]
fn only_our_finalizer_is_taken_from_the_work_binding() {
    let mut hub = FakeHub::accepted("c1");
    hub.object_mut("rolebindings", WORK)
        .finalizers
        .push("example.com/keep".to_owned());
    hub.cluster().accepted = false;
    hub.run();
    let stored = hub
        .object("rolebindings", WORK)
        .expect("somebody else keeps it");
    assert_eq!(stored.finalizers, ["example.com/keep"]);
    assert_eq!(
        hub_accepted(&hub),
        Some(DENIED),
        "that is no reason to wait"
    );
    let Some(Write {
        action: Action::Patch { subresource, body },
        ..
    }) = hub
        .writes
        .iter()
        .find(|write| matches!(write.action, Action::Patch { .. }))
    else {
        panic!("it was patched");
    };
    assert_eq!(*subresource, None);
    assert!(body["metadata"]["resourceVersion"].is_string() && body["metadata"]["uid"].is_string());
}

#[test]
fn a_denied_cluster_comes_back() {
    let mut hub = FakeHub::accepted("c1");
    let before = hub.portrait();
    hub.cluster().accepted = false;
    hub.run();
    hub.cluster().accepted = true;
    hub.run();
    assert_eq!(hub.portrait(), before);
    assert_eq!(
        reasons(&hub),
        ["ManagedClusterDenied", "ManagedClusterAccepted"]
    );
}

#[test]
fn a_denial_taken_back_while_works_are_left_keeps_them() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w", None, true);
    hub.cluster().accepted = false;
    hub.run();
    hub.cluster().accepted = true;
    hub.run();
    assert_eq!(
        hub_accepted(&hub),
        Some(ACCEPTED),
        "the binding still does its service"
    );
    assert_eq!(
        hub.object("rolebindings", WORK)
            .map(|stored| stored.deleting),
        Some(true)
    );
    assert_eq!(
        decided(&hub),
        ClusterPlan::default(),
        "without looking at it all the time"
    );

    hub.content.clear();
    hub.run();
    let binding = hub.object("rolebindings", WORK).expect("it is there");
    assert!(!binding.deleting, "it has been made anew");
    assert_eq!(binding.finalizers, [labels::MANIFEST_WORK_CLEANUP]);
}

#[test]
fn permissions_are_taken_however_far_the_acceptance_had_got() {
    let complete = FakeHub::accepted("c1");
    // Killed after any number of its objects were created; and then the admin denies the cluster.
    for stop in 0..=complete.objects.len() {
        for condition_there in [None, Some(("False", "Error", "failed"))] {
            let mut hub = FakeHub::new("c1");
            hub.objects = complete.objects.clone().into_iter().take(stop).collect();
            if let Some((status, reason, message)) = condition_there {
                hub.cluster().conditions = vec![condition(HUB_ACCEPTED, status, reason, message)];
            }
            hub.run();
            assert!(rule_count(&hub) <= 1, "{stop}");
            assert!(hub.object("rolebindings", REGISTRATION).is_none(), "{stop}");
            assert!(hub.object("rolebindings", WORK).is_none(), "{stop}");
            let has_role = role_of(&hub).is_some();
            if has_role || condition_there.is_some() {
                assert_eq!(hub_accepted(&hub), Some(DENIED), "{stop}");
            } else {
                assert_eq!(hub_accepted(&hub), None, "{stop}");
            }
        }
    }
}

#[test]
fn a_denied_role_that_grants_more_is_reduced_again() {
    let mut hub = FakeHub::accepted("c1");
    hub.cluster().accepted = false;
    hub.run();
    hub.events.clear();
    let rules = roles::cluster_role(&hub.config, "c1", true)["rules"].clone();
    hub.object_mut("clusterroles", &names_role()).body["rules"] = rules;
    hub.insert(roles::registration_binding(&hub.config, "c1"));
    hub.run();
    assert_eq!(rule_count(&hub), 1);
    assert!(hub.object("rolebindings", REGISTRATION).is_none());
    assert_eq!(reasons(&hub), [] as [&str; 0], "the denial is old news");
}

#[test]
fn a_role_that_somebody_holds_back_from_deletion_is_reduced_as_well() {
    let mut hub = FakeHub::accepted("c1");
    let role = hub.object_mut("clusterroles", &names_role());
    role.finalizers.push("example.com/keep".to_owned());
    role.deleting = true;
    hub.cluster().accepted = false;
    hub.run();
    assert_eq!(rule_count(&hub), 1);
    assert_eq!(hub_accepted(&hub), Some(DENIED));
}

#[test]
fn what_is_held_back_from_deletion_is_told_if_the_cluster_waits_for_it() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    let body = roles::registration_binding(&hub.config, "c1");
    let held = hub.insert(body);
    held.finalizers.push("example.com/keep".to_owned());
    held.deleting = true;
    hub.run();
    assert_eq!(
        hub_accepted(&hub),
        Some((
            "False",
            "Error",
            "Waits for the deletion of objects that will be created again: rolebindings \
             \"open-cluster-management:managedcluster:c1:registration\""
        ))
    );
    hub.objects
        .remove(&("rolebindings".to_owned(), REGISTRATION.to_owned()));
    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
}

#[test]
fn denying_one_of_two_clusters_leaves_the_labels_of_each() {
    // Here, OCM labels one cluster's objects with another's name.
    let mut hub = FakeHub::accepted("c1");
    hub.config.labels.insert("team".to_owned(), "a".to_owned());
    let mut other = FakeHub::new("c2");
    other.config = hub.config.clone();
    other.cluster().accepted = true;
    other.run();
    hub.cluster().accepted = false;
    hub.run();
    let role = role_of(&hub).expect("it is there");
    assert_eq!(
        role.body["metadata"]["labels"],
        json!({ "team": "a", (labels::CLUSTER_NAME): "c1" })
    );
}
