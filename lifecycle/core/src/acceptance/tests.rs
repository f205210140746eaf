use super::*;
use crate::cluster_plan::ClusterChanges;
use crate::names;
use crate::testing::{ADDONS, FakeHub, Stored, WORKS, again_after, condition, kind};
use berth_api::plan::Target;
use serde_json::{Value, json};
use std::time::Duration;

mod laws;

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

/// A write, as a short sentence.
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
fn that_the_roles_of_all_agents_cannot_be_written_is_told_by_those_that_wait_for_them() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    hub.common_roles = false;
    hub.common_roles_failure = Some("clusterroles \"r\" cannot be written: no".to_owned());
    hub.run();
    let message = "Waits for the ClusterRoles that all agents share: clusterroles \"r\" cannot be written: no; if they cannot be \
                   granted here: kubectl apply -f manifests/server/agent-roles.yaml";
    assert_eq!(hub_accepted(&hub), Some(("False", "Error", message)));
    assert_eq!(reasons(&hub), [] as [&str; 0], "it is not accepted");
    // All that does not depend on them is there.
    assert!(hub.object("clusterrolebindings", &names_role()).is_some());
    hub.common_roles = true;
    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));

    hub.common_roles = false;
    assert_eq!(
        hub.decide(),
        ClusterPlan::default(),
        "what runs has no need of them"
    );
    hub.objects
        .remove(&("rolebindings".to_owned(), WORK.to_owned()));
    assert_eq!(hub.decide(), ClusterPlan::default(), "its agent would stop");
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
    // The patch has failed.
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
fn what_is_reserved_or_a_workspace_is_refused() {
    // name, whether its namespace bears the cluster's label already, bindings in it, what the refusal says
    let long = "x".repeat(64);
    let rows: [(&str, bool, &[&str], Option<&str>); 20] = [
        ("default", false, &[], Some("reserved")),
        ("default", true, &[], Some("reserved")),
        ("kube-system", true, &[], Some("reserved")),
        ("kube-public", false, &[], Some("reserved")),
        ("kube-node-lease", false, &[], Some("reserved")),
        ("kube-anything", false, &[], Some("reserved")),
        // OCM has let it in: its agent is not cut off.
        ("kube-anything", true, &[], None),
        ("kubernetes", false, &[], None),
        ("hub", false, &[], Some("reserved")),
        ("open-cluster-management", false, &[], Some("reserved")),
        ("open-cluster-management-hub", false, &[], Some("reserved")),
        (
            "open-cluster-management-agent",
            false,
            &[],
            Some("reserved"),
        ),
        (
            "open-cluster-management-agent-addon",
            true,
            &[],
            Some("reserved"),
        ),
        (
            "open-cluster-management-agent2",
            false,
            &[],
            Some("reserved"),
        ),
        ("open-cluster", false, &[], None),
        (
            "team",
            false,
            &["prod"],
            Some("holds ManagedClusterSetBinding \"prod\", which"),
        ),
        (
            "team",
            false,
            &["prod", "test", "x"],
            Some("\"prod\" and 2 more"),
        ),
        ("team", true, &["prod"], None),
        ("a.b", false, &[], Some("must not contain dots")),
        (
            &long,
            false,
            &[],
            Some("must be no more than 63 characters"),
        ),
    ];
    for (name, labelled, bindings, expected) in rows {
        let mut hub = FakeHub::new(name);
        hub.cluster().accepted = true;
        hub.bindings = bindings.iter().map(|&name| name.to_owned()).collect();
        if labelled {
            hub.insert(roles::namespace(&hub.config, name));
        }
        let before = hub.objects.clone();
        let row = format!("{name}, labelled: {labelled}, bindings: {bindings:?}");
        hub.run();
        let (status, reason, message) = hub_accepted(&hub).expect("it is told");
        match expected {
            None => assert_eq!((status, reason, message), ACCEPTED, "{row}"),
            Some(why) => {
                assert_eq!((status, reason), ("False", "Error"), "{row}");
                assert!(message.starts_with("Not accepted: "), "{row}: {message}");
                assert!(message.contains(why), "{row}: {message}");
                assert!(
                    message.contains("delete"),
                    "{row} names the remedy: {message}"
                );
                assert_eq!(hub.objects, before, "{row}: nothing is made or labelled");
                assert_eq!(reasons(&hub), [] as [&str; 0], "{row}");
                let api = labels::API_RESOURCE_CLEANUP;
                assert!(!hub.cluster().has_finalizer(api), "{row}");
            }
        }
    }
}

#[test]
fn names_of_shared_groups_and_roles_are_refused_always() {
    assert_eq!(
        names::agent_group("managed-clusters"),
        berth_api::agents::ALL
    );
    assert_eq!(
        names::cluster_role("registration"),
        names::REGISTRATION_ROLE
    );
    assert_eq!(names::cluster_role("work"), names::WORK_ROLE);
    for (name, why) in [
        ("managed-clusters", "the group of all agents"),
        ("registration", "one that all agents share"),
        ("work", "one that all agents share"),
        ("openshift-x", "begin with \"openshift-\""),
    ] {
        let mut hub = FakeHub::new(name);
        hub.cluster().accepted = true;
        hub.run();
        let (status, reason, message) = hub_accepted(&hub).expect("it is told");
        assert_eq!((status, reason), ("False", "Error"), "{name}");
        assert!(message.contains(why), "{name}: {message}");
        assert!(hub.objects.is_empty(), "{name}");
    }
}

#[test]
fn a_cluster_that_was_accepted_before_its_name_was_reserved_is_kept_with_a_warning() {
    for name in ["default", "kube-system", "hub", "registration", "work"] {
        let mut hub = FakeHub::accepted("c1");
        // As another hub has made it.
        hub.name = name.to_owned();
        hub.objects.clear();
        for body in [
            roles::namespace(&hub.config, name),
            roles::cluster_role_binding(&hub.config, name),
            roles::registration_binding(&hub.config, name),
            roles::work_binding(&hub.config, name),
        ] {
            hub.insert(body);
        }
        hub.run();
        let (status, reason, message) = hub_accepted(&hub).expect("it is told");
        assert_eq!((status, reason), (ACCEPTED.0, ACCEPTED.1), "{name}");
        assert!(message.starts_with(ACCEPTED.2), "{name}: {message}");
        assert!(message.contains("is reserved"), "{name}: {message}");
        assert_eq!(reasons(&hub), ["ManagedClusterNameReserved"], "{name}");
        assert!(hub.events[0].warning);
        for object in ["registration", "work"] {
            let binding = format!("open-cluster-management:managedcluster:{name}:{object}");
            assert!(hub.object("rolebindings", &binding).is_some(), "{name}");
        }
        // The roles that all agents share are not overwritten for one of them.
        let role = names::cluster_role(name);
        let shared = ["registration", "work"].contains(&name);
        let own = hub.object("clusterroles", &role);
        assert_eq!(own.is_none(), shared, "{name}");
    }
}

#[test]
fn the_cluster_whose_group_is_that_of_all_agents_loses_all_rights_at_once() {
    let name = "managed-clusters";
    for (accepted, deleting) in [(true, false), (false, false), (true, true)] {
        let mut hub = FakeHub::accepted("c1");
        hub.name = name.to_owned();
        hub.objects.clear();
        for body in [
            roles::namespace(&hub.config, name),
            roles::cluster_role(&hub.config, name, true),
            roles::cluster_role_binding(&hub.config, name),
            roles::registration_binding(&hub.config, name),
            roles::work_binding(&hub.config, name),
        ] {
            hub.insert(body);
        }
        // Work that nobody takes down does not hold it.
        hub.put(WORKS, "work", None, true);
        hub.cluster().accepted = accepted;
        hub.cluster().deleting = deleting;
        hub.run();
        let left: Vec<_> = hub.objects.keys().map(|(kind, _)| &**kind).collect();
        assert_eq!(left, ["namespaces"], "accepted: {accepted}");
        if deleting {
            continue;
        }
        let (status, _, message) = hub_accepted(&hub).expect("it is told");
        assert_eq!(status, "False", "accepted: {accepted}");
        assert!(
            !accepted || message.contains("the group of all agents"),
            "{message}"
        );
    }
}

#[test]
fn a_refused_cluster_is_accepted_when_the_reason_is_gone_and_else_forgotten() {
    let mut hub = FakeHub::new("team");
    hub.cluster().accepted = true;
    hub.bindings.push("prod".to_owned());
    hub.run();
    let mut other = hub.clone();

    hub.bindings.clear();
    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));

    other.cluster().accepted = false;
    other.run();
    assert_eq!(hub_accepted(&other), Some(DENIED));
    assert!(
        other.objects.is_empty(),
        "and has no permissions: {:?}",
        other.objects
    );
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
    assert_eq!(
        plan,
        ClusterPlan::default(),
        "and nobody looks at it all the time"
    );

    hub.settle();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
    assert!(!hub.object("namespaces", "c1").expect("it is new").deleting);
}

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
        "Denied by hub cluster admin; takes effect when the cluster's agent has taken down its work: 2 ManifestWorks are \
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

/// A denied cluster whose agent holds a work, and which nobody looked at since.
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
        // Nobody needs to know.
        hub.unlistable.insert(kind(WORKS), "forbidden".to_owned());
        assert_eq!(hub.with_facts(true, removal::questions), []);
        hub.run();
        assert!(hub.object("rolebindings", WORK).is_none());
        assert!(hub.object("rolebindings", REGISTRATION).is_none());
        assert_eq!(hub_accepted(hub), Some(DENIED));
        assert_eq!(hub.names(WORKS), ["w"], "the works stay as they are");
        assert_eq!(decided(hub), ClusterPlan::default());
    }
    // It may come back, and the next denial is as any other.
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
    // Killed after any number of its objects were there; and the admin changed her mind.
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
            "Waits for what is being deleted, and will be made anew: rolebindings \
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
    // OCM renders one cluster's objects with another's name here.
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

#[test]
fn clusters_are_accepted_automatically_once_and_only_for_trusted_senders() {
    let accepted_by_ocm = Some(ACCEPTED);
    // gate, trusted, accepted, condition, annotation, then: is accepted by us, is annotated by us
    type Row = (
        &'static str,
        bool,
        bool,
        bool,
        Option<(&'static str, &'static str, &'static str)>,
        bool,
        (bool, bool),
    );
    let rows: [Row; 9] = [
        (
            "the gate is off",
            false,
            true,
            false,
            None,
            false,
            (false, false),
        ),
        (
            "a request of a listed identity",
            true,
            true,
            false,
            None,
            false,
            (true, true),
        ),
        (
            "no such request (OCM would accept)",
            true,
            false,
            false,
            None,
            false,
            (false, false),
        ),
        (
            "an accepted one is annotated only",
            true,
            false,
            true,
            accepted_by_ocm,
            false,
            (false, true),
        ),
        (
            "just accepted by a person",
            true,
            true,
            true,
            None,
            false,
            (false, true),
        ),
        (
            "annotated, then denied: that stands",
            true,
            true,
            false,
            Some(DENIED),
            true,
            (false, false),
        ),
        (
            "denied before the gate was on",
            true,
            true,
            false,
            Some(DENIED),
            false,
            (false, false),
        ),
        (
            "is being denied",
            true,
            true,
            false,
            accepted_by_ocm,
            false,
            (false, false),
        ),
        (
            "annotated in advance",
            true,
            true,
            false,
            None,
            true,
            (false, false),
        ),
    ];
    for (row, gate, trusted, accepted, shown, annotated, (accepts, annotates)) in rows {
        let mut hub = FakeHub::new("c1");
        hub.config.gates.auto_approval = gate;
        hub.trusted_request = trusted;
        hub.insert(roles::namespace(&hub.config, "c1"));
        let cluster = hub.cluster();
        cluster.accepted = accepted;
        cluster.auto_accepted_on = annotated.then(|| "2020-01-01T00:00:00Z".to_owned());
        cluster.conditions = shown
            .map(|(status, reason, message)| condition(HUB_ACCEPTED, status, reason, message))
            .into_iter()
            .collect();
        let plan = decided(&hub);
        assert_eq!(plan.changes.accept, accepts, "{row}");
        let time = plan
            .changes
            .annotations
            .get("open-cluster-management.io/automatically-accepted-on");
        let expected = annotates.then_some("2023-11-14T22:13:20Z");
        assert_eq!(time.map(String::as_str), expected, "{row}");
        if accepts {
            assert_eq!(plan.writes, [], "{row}: that comes first");
        }
    }
}

#[test]
fn an_automatic_acceptance_ends_like_any_other_and_a_denial_stands() {
    let mut hub = FakeHub::new("c1");
    hub.config.gates.auto_approval = true;
    hub.trusted_request = true;
    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));
    hub.cluster().accepted = false;
    hub.run();
    assert!(!hub.cluster().accepted);
    assert_eq!(hub_accepted(&hub), Some(DENIED));
}

#[test]
fn no_reserved_name_is_accepted_automatically() {
    for name in ["default", "kube-system", "hub", "kube-x", "team"] {
        let mut hub = FakeHub::new(name);
        hub.config.gates.auto_approval = true;
        hub.trusted_request = true;
        hub.bindings.push("prod".to_owned());
        assert_eq!(decided(&hub), ClusterPlan::default(), "{name}");
    }
    let mut hub = FakeHub::new("c1");
    hub.config.gates.auto_approval = true;
    hub.trusted_request = true;
    hub.insert(roles::namespace(&hub.config, "c1")).deleting = true;
    assert_eq!(
        decided(&hub),
        ClusterPlan::default(),
        "nor into a namespace that terminates"
    );
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

// Failures.

fn failure(object: &Value, code: u16, message: &str) -> WriteFailure {
    WriteFailure {
        reconciler: NAME,
        target: roles::target(object),
        code,
        message: message.to_owned(),
    }
}

/// What is told of failures that have lasted.
fn reported(hub: &FakeHub, failures: &[WriteFailure]) -> ClusterPlan {
    reported_after(hub, failures, Duration::from_secs(10))
}

fn reported_after(hub: &FakeHub, failures: &[WriteFailure], lasted: Duration) -> ClusterPlan {
    hub.with_facts(true, |facts| {
        let mut plan = ClusterPlan::default();
        report(facts, failures, lasted, hub.now(), &mut plan);
        plan
    })
}

#[test]
fn a_failure_is_told_with_the_object_and_the_reason() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    let role = roles::cluster_role(&hub.config, "c1", true);
    let binding = roles::work_binding(&hub.config, "c1");
    let failures = [
        failure(&binding, 404, "namespaces \"c1\" not found"),
        failure(
            &role,
            403,
            "attempting to grant RBAC permissions not currently held",
        ),
    ];
    let plan = reported(&hub, &failures);
    hub.carry_out(plan);
    let (status, reason, message) = hub_accepted(&hub).expect("it is told");
    assert_eq!((status, reason), ("False", "Error"));
    assert_eq!(
        message,
        "clusterroles \"open-cluster-management:managedcluster:c1\" cannot be written: attempting to grant RBAC \
         permissions not currently held\n\
         rolebindings \"open-cluster-management:managedcluster:c1:work\" in namespace \"c1\" cannot be written: \
         namespaces \"c1\" not found"
    );
    assert_eq!(reasons(&hub), [] as [&str; 0], "it is not accepted");

    let [first, second] = failures;
    assert_eq!(
        reported(&hub, &[second, first]),
        ClusterPlan::default(),
        "once, in whatever order"
    );

    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED), "when it works at last");
    assert_eq!(reasons(&hub), ["ManagedClusterAccepted"]);
}

#[test]
fn what_may_pass_by_itself_is_told_when_it_has_lasted_and_never_of_a_running_cluster() {
    let config = FakeHub::new("c1").config;
    let namespace = roles::namespace(&config, "c1");
    let binding = roles::work_binding(&config, "c1");
    let moment = Duration::from_millis(9_999);
    // What is refused, and whether it is told of a cluster that waits: at once, and later; and of one that is accepted.
    for (row, object, code, at_once, later, running) in [
        ("no answer", &namespace, 0, false, true, false),
        ("a conflict", &namespace, 409, false, true, false),
        ("a busy hub", &namespace, 429, false, true, false),
        ("a fault of the hub's", &namespace, 500, false, true, false),
        ("a hub that starts", &namespace, 503, false, true, false),
        ("nonsense", &namespace, u16::MAX, false, true, false),
        ("a role not seen yet", &binding, 404, false, true, false),
        ("no permission", &namespace, 403, true, true, true),
        (
            "a kind that is not there",
            &namespace,
            404,
            true,
            true,
            true,
        ),
        ("an invalid object", &namespace, 422, true, true, true),
        ("an invalid request", &binding, 400, true, true, true),
    ] {
        let mut hub = FakeHub::new("c1");
        hub.cluster().accepted = true;
        let failures = [failure(object, code, "no")];
        for (lasted, told) in [
            (Duration::ZERO, at_once),
            (moment, at_once),
            (Duration::from_secs(10), later),
            (Duration::MAX, later),
        ] {
            let plan = reported_after(&hub, &failures, lasted);
            assert_eq!(!plan.is_empty(), told, "{row}, after {lasted:?}");
        }
        let plan = reported(&FakeHub::accepted("c1"), &failures);
        assert_eq!(!plan.is_empty(), running, "{row}, running");
    }
}

#[test]
fn what_is_refused_for_good_is_told_without_what_may_pass_beside_it() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    let busy = failure(&roles::namespace(&hub.config, "c1"), 503, "starting");
    let refused = failure(&roles::work_binding(&hub.config, "c1"), 403, "no");
    let plan = reported_after(&hub, &[busy, refused], Duration::ZERO);
    hub.carry_out(plan);
    let (_, _, message) = hub_accepted(&hub).expect("it is told");
    assert!(message.ends_with("cannot be written: no"), "{message}");
    assert!(!message.contains("starting"), "{message}");
}

#[test]
fn what_others_failed_at_or_is_told_otherwise_is_not_told() {
    let body = roles::namespace(&FakeHub::new("c1").config, "c1");
    let failures = [failure(&body, 403, "no")];
    let mut waiting = FakeHub::new("c1");
    waiting.cluster().accepted = true;
    let others = WriteFailure {
        reconciler: "heartbeat",
        ..failures[0].clone()
    };
    assert_eq!(reported(&waiting, &[others]), ClusterPlan::default());
    assert_eq!(reported(&waiting, &[]), ClusterPlan::default());

    let mut denied = FakeHub::accepted("c1");
    denied.cluster().accepted = false;
    assert_eq!(reported(&denied, &failures), ClusterPlan::default());
    let mut deleted = FakeHub::accepted("c1");
    deleted.cluster().deleting = true;
    assert_eq!(reported(&deleted, &failures), ClusterPlan::default());
    let mut terminating = FakeHub::accepted("c1");
    terminating.object_mut("namespaces", "c1").deleting = true;
    assert_eq!(reported(&terminating, &failures), ClusterPlan::default());
    let mut refused = FakeHub::new("default");
    refused.cluster().accepted = true;
    assert_eq!(reported(&refused, &failures), ClusterPlan::default());
}

#[test]
fn a_message_is_bounded_whatever_failed() {
    let mut hub = FakeHub::new("c1");
    hub.cluster().accepted = true;
    let failures: Vec<WriteFailure> = (0..10_000)
        .map(|at| {
            let mut body = roles::work_binding(&hub.config, "c1");
            body["metadata"]["name"] = json!(format!("{at}"));
            failure(&body, 422, &"ä€\u{1F600}".repeat(1000))
        })
        .collect();
    let plan = reported(&hub, &failures);
    hub.carry_out(plan);
    let (_, _, message) = hub_accepted(&hub).expect("it is told");
    assert!(message.len() <= 2000, "{}", message.len());
    assert!(message.ends_with("and 9995 more"), "{message}");
}

#[test]
fn a_binding_to_another_role_is_made_anew() {
    for (resource, name) in [
        ("clusterrolebindings", names_role()),
        ("rolebindings", REGISTRATION.to_owned()),
        ("rolebindings", WORK.to_owned()),
    ] {
        for works in [0, 1] {
            let mut hub = FakeHub::accepted("c1");
            let before = hub.portrait()["objects"].clone();
            for _ in 0..works {
                hub.put(WORKS, "w", None, true);
            }
            hub.object_mut(resource, &name).body["roleRef"]["name"] = json!("view");
            for _ in 0..10 {
                let plan = hub.decide();
                let failures = hub.carry_out(plan);
                let plan = reported(&hub, &failures);
                hub.carry_out(plan);
            }
            assert_eq!(hub.portrait()["objects"], before, "{name}");
            assert_eq!(hub_accepted(&hub), Some(ACCEPTED), "{name}");
            assert_eq!(hub.names(WORKS).len(), works);
        }
    }
}

#[test]
fn what_is_invalid_for_another_reason_is_not_deleted() {
    let hub = FakeHub::accepted("c1");
    let binding = roles::work_binding(&hub.config, "c1");
    let plan = reported(
        &hub,
        &[failure(&binding, 422, "metadata.labels: Invalid value")],
    );
    assert_eq!(
        plan.writes.iter().map(said).collect::<Vec<_>>(),
        ["status managedclusters c1"]
    );
}

/// As OCM lets it in, whose denial writes the rules of a denied cluster over the role of all agents.
#[test]
fn denying_a_name_of_all_agents_takes_what_it_has_and_writes_nothing_to_the_shared_roles() {
    for name in ["registration", "work", "managed-clusters"] {
        let mut hub = FakeHub::new(name);
        let config = hub.config.clone();
        hub.cluster().conditions =
            vec![condition(HUB_ACCEPTED, ACCEPTED.0, ACCEPTED.1, ACCEPTED.2)];
        if name == "managed-clusters" {
            hub.insert(roles::cluster_role(&config, name, true));
        } else {
            let role = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": names::cluster_role(name), "labels": {(labels::CLUSTER_NAME): ""}},
                "rules": [],
            });
            hub.insert(role);
        }
        hub.insert(roles::cluster_role_binding(&config, name));
        hub.insert(roles::registration_binding(&config, name));
        let shared = hub.object("clusterroles", &names::cluster_role(name));
        let shared = shared.filter(|_| name != "managed-clusters").cloned();
        hub.run();
        let left: Vec<_> = hub.objects.values().cloned().collect();
        assert_eq!(left, Vec::from_iter(shared), "{name}");
        assert_eq!(hub_accepted(&hub), Some(DENIED), "{name}");
    }
}
