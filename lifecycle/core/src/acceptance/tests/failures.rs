//! What the condition says of writes that failed.

use super::*;

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
    // All objects that do not depend on the roles exist.
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

fn failure(object: &Value, code: u16, message: &str) -> WriteFailure {
    WriteFailure {
        reconciler: NAME,
        target: roles::target(object),
        code,
        message: message.to_owned(),
    }
}

/// The report of failures that have lasted.
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
    // The refused object and code; and if that is reported: of a waiting cluster at once, later, and of an accepted cluster.
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
