//! What the condition says of deletions that failed.

use super::*;
use crate::roles;

/// The report of failures that have lasted this long.
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
fn that_an_object_is_too_large_does_not_pass_by_itself() {
    let too_large = WriteFailure {
        message: "etcdserver: request is too large".to_owned(),
        ..failure(500)
    };
    assert!(too_large.is_too_large() && !too_large.is_transient());
    assert!(!failure(500).is_too_large() && failure(500).is_transient());
}
