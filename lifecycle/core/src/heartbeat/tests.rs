use super::*;
use crate::facts::Owned;
use crate::testing::scene::{Scene, applied_condition, now};
use conditions::cluster::{AVAILABLE, HUB_ACCEPTED};
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::Value;

mod first_sight;

const GRACE: Duration = Duration::from_secs(300);

fn accepted() -> Scene {
    Scene::new().with(HUB_ACCEPTED, "True")
}

fn available() -> Scene {
    accepted().with(AVAILABLE, "True")
}

fn denied() -> Scene {
    Scene::new().with(HUB_ACCEPTED, "False")
}

fn deleting(mut scene: Scene) -> Scene {
    scene.cluster().deleting = true;
    scene
}

fn duration(mut scene: Scene, seconds: impl Into<Option<i32>>) -> Scene {
    scene.cluster().lease_duration_seconds = seconds.into();
    scene
}

fn namespace(mut scene: Scene, namespace: Option<Owned>) -> Scene {
    scene.owned.namespace = namespace;
    scene
}

/// Names the write of a plan.
fn due(plan: &ClusterPlan) -> &'static str {
    assert_eq!(plan.changes, Default::default());
    match &plan.writes[..] {
        [] => "nothing",
        [write] => match &write.action {
            Action::CreateOrPatch { .. } => "lease",
            Action::ApplyStatus { body, .. } => {
                let condition = applied_condition(body);
                assert_eq!(
                    (&*condition.type_, &*condition.status),
                    (AVAILABLE, "Unknown")
                );
                "unknown"
            }
            other => panic!("{other:?}"),
        },
        more => panic!("{more:?}"),
    }
}

#[test]
fn the_hub_makes_the_lease_and_tells_when_it_is_no_longer_renewed() {
    let ago = |scene: Scene, seconds| scene.renewed(Duration::from_secs(seconds));
    let terminating = Some(Owned {
        deleting: true,
        ..Owned::default()
    });
    let mut gone = available().renewed(GRACE);
    gone.cluster = None;
    let mut nil = available().renewed(GRACE);
    nil.lease.as_mut().unwrap().renew_time = None;
    let mut ahead = available().renewed(Duration::ZERO);
    ahead.lease.as_mut().unwrap().renewed += Duration::from_secs(9);
    // The expected write, and the seconds until the next decision.
    let rows: Vec<(&str, Scene, &str, Option<u64>)> = vec![
        // Upstream's cases.
        (
            "a cluster never accepted has none",
            Scene::new(),
            "nothing",
            None,
        ),
        ("a cluster once accepted gets one", denied(), "lease", None),
        ("an accepted cluster gets one", accepted(), "lease", None),
        (
            "its agent is silent",
            ago(available(), 300),
            "unknown",
            None,
        ),
        (
            "a denied cluster's agent is silent",
            ago(denied(), 300),
            "unknown",
            None,
        ),
        (
            "its agent renews",
            ago(available(), 0),
            "nothing",
            Some(300),
        ),
        (
            "a deleted cluster gets none",
            deleting(accepted()),
            "unknown",
            None,
        ),
        (
            "it is unknown already",
            ago(accepted().with(AVAILABLE, "Unknown"), 300),
            "nothing",
            None,
        ),
        (
            "a minute is left",
            ago(available(), 240),
            "nothing",
            Some(60),
        ),
        (
            "four and a half minutes are left",
            ago(available(), 30),
            "nothing",
            Some(270),
        ),
        // And others.
        ("the cluster is gone", gone, "nothing", None),
        (
            "a deleted cluster is unknown already",
            deleting(accepted().with(AVAILABLE, "Unknown")),
            "nothing",
            None,
        ),
        (
            "a deleted cluster's agent renews",
            deleting(ago(available(), 0)),
            "nothing",
            Some(300),
        ),
        (
            "a deleted cluster's agent is silent",
            deleting(ago(available(), 300)),
            "unknown",
            None,
        ),
        (
            "a deleted cluster that was never accepted",
            deleting(Scene::new()),
            "nothing",
            None,
        ),
        (
            "acceptance failed",
            Scene::new().with(HUB_ACCEPTED, "Unknown"),
            "lease",
            None,
        ),
        (
            "a lease is no proof of acceptance",
            ago(Scene::new(), 900),
            "nothing",
            None,
        ),
        (
            "the namespace is not there yet",
            namespace(accepted(), None),
            "nothing",
            None,
        ),
        (
            "the namespace terminates",
            namespace(accepted(), terminating),
            "nothing",
            None,
        ),
        (
            "the agent never came",
            ago(accepted(), 300),
            "unknown",
            None,
        ),
        (
            "the cluster did not work before",
            ago(accepted().with(AVAILABLE, "False"), 300),
            "unknown",
            None,
        ),
        (
            "it comes back",
            ago(accepted().with(AVAILABLE, "Unknown"), 1),
            "nothing",
            Some(299),
        ),
        (
            "nil renewTime: how long ago it was seen counts",
            nil,
            "unknown",
            None,
        ),
        (
            "a renewal later than now is fresh",
            ahead,
            "nothing",
            Some(309),
        ),
        // Durations.
        (
            "no duration is a minute",
            ago(duration(available(), None), 299),
            "nothing",
            Some(1),
        ),
        (
            "zero is a minute",
            ago(duration(available(), 0), 299),
            "nothing",
            Some(1),
        ),
        (
            "zero is a minute: over",
            ago(duration(available(), 0), 300),
            "unknown",
            None,
        ),
        (
            "negative is a minute",
            ago(duration(available(), -1), 299),
            "nothing",
            Some(1),
        ),
        (
            "the least is a minute",
            ago(duration(available(), i32::MIN), 299),
            "nothing",
            Some(1),
        ),
        (
            "the least is a minute: over",
            ago(duration(available(), i32::MIN), 300),
            "unknown",
            None,
        ),
        (
            "a second: five are left",
            ago(duration(available(), 1), 0),
            "nothing",
            Some(5),
        ),
        (
            "a second: over",
            ago(duration(available(), 1), 5),
            "unknown",
            None,
        ),
        (
            "OCM's product overflows here",
            ago(duration(available(), 429_496_730), 9),
            "nothing",
            Some(2_147_483_641),
        ),
        (
            "the most is 340 years",
            ago(duration(available(), i32::MAX), 300),
            "nothing",
            Some(10_737_417_935),
        ),
    ];
    for (sentence, scene, expected, left) in rows {
        let plan = scene.decide(decide);
        assert_eq!(due(&plan), expected, "{sentence}");
        let left = left.map(|left| scene.now.instant + Duration::from_secs(left));
        assert_eq!(plan.again, left, "{sentence}");
    }
}

#[test]
fn unknown_is_said_once_in_the_words_of_ocm_and_only_of_what_was_seen() {
    let mut scene = available().renewed(GRACE);
    let others = scene.cluster().conditions[0].clone();
    let plan = scene.decide(decide);
    let [write] = &plan.writes[..] else {
        panic!("{plan:?}");
    };
    assert_eq!(write.target, status::cluster_target("c1"));
    assert_eq!(
        write.action,
        Action::ApplyStatus {
            manager: "berth-heartbeat",
            body: json!({
                "apiVersion": "cluster.open-cluster-management.io/v1",
                "kind": "ManagedCluster",
                "metadata": { "name": "c1", "resourceVersion": "7" },
                "status": { "conditions": [{
                    "type": "ManagedClusterConditionAvailable",
                    "status": "Unknown",
                    "reason": "ManagedClusterLeaseUpdateStopped",
                    "message": "Registration agent stopped updating its lease.",
                    "lastTransitionTime": "2026-08-11T12:00:00Z",
                }] },
            }),
        }
    );
    assert_eq!(
        write.events,
        [Event {
            warning: true,
            reason: "AvailableUnknown",
            note: "The c1 is successfully imported. However, the connection check from the managed cluster to the hub \
                   cluster has failed"
                .to_owned(),
            namespace: Some("c1".to_owned()),
        }]
    );
    scene.settles(decide, 1);
    assert_eq!(scene.cluster().conditions[0], others, "others stay");
    // A cluster that is Unknown already gets no write.
    scene.now.instant += Duration::from_hours(1000);
    assert_eq!(scene.decide(decide), ClusterPlan::default());
}

#[test]
fn the_agent_that_comes_back_is_watched_again() {
    let mut scene = available().renewed(GRACE);
    scene.settles(decide, 1);
    scene = scene.renewed(Duration::ZERO);
    scene.cluster().conditions[1].status = "True".to_owned();
    assert_eq!(due(&scene.decide(decide)), "nothing");
    scene.now.instant += GRACE;
    scene.settles(decide, 1);
    assert_eq!(scene.cluster().condition_status(AVAILABLE), Some("Unknown"));
}

#[test]
fn the_lease_is_ocms_and_one_that_is_there_only_gets_our_label() {
    let mut scene = accepted();
    scene.config.labels.insert("a".to_owned(), "b".to_owned());
    let plan = scene.decide(decide);
    let [write] = &plan.writes[..] else {
        panic!("{plan:?}");
    };
    let Target {
        resource,
        namespace,
        name,
    } = &write.target;
    assert_eq!(
        (&*resource.group, &*resource.version, &*resource.resource),
        ("coordination.k8s.io", "v1", "leases")
    );
    assert_eq!(
        (namespace.as_deref(), &**name),
        (Some("c1"), "managed-cluster-lease")
    );
    let Action::CreateOrPatch { body, patch } = &write.action else {
        panic!("{write:?}");
    };
    assert_eq!(
        *body,
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": "managed-cluster-lease",
                "namespace": "c1",
                "labels": { "open-cluster-management.io/cluster-name": "c1" },
            },
            "spec": {
                "holderIdentity": "managed-cluster-lease",
                "renewTime": "2026-08-11T12:00:00.500000Z",
            },
        })
    );
    // Kubernetes' own type reads it.
    let _: k8s_openapi::api::coordination::v1::Lease =
        serde_json::from_value(body.clone()).unwrap();
    assert_eq!(
        *patch,
        json!({ "metadata": { "labels": {
            "open-cluster-management.io/cluster-name": "c1",
            "open-cluster-management.io/addon-name": Value::Null,
        } } })
    );
    scene.settles(decide, 1);
    assert_eq!(
        scene.decide(decide).again,
        Some(scene.now.instant + GRACE),
        "made now, it is watched from now on"
    );
}

proptest! {
    /// One round of writes is enough, for any stored state.
    #[test]
    fn what_is_carried_out_is_not_asked_for_again(
        accepted in prop::option::of("True|False"),
        available in prop::option::of("True|False|Unknown"),
        lease in prop::option::of(0_u64..20_000),
        seconds in prop::option::of(prop_oneof![any::<i32>(), -2..4000]),
        deleting: bool,
        terminating in prop::option::of(any::<bool>()),
    ) {
        let mut scene = duration(Scene::new(), seconds);
        for (type_, status) in [(HUB_ACCEPTED, accepted), (AVAILABLE, available)] {
            if let Some(status) = status {
                scene = scene.with(type_, &status);
            }
        }
        if let Some(ago) = lease {
            scene = scene.renewed(Duration::from_secs(ago));
        }
        scene.cluster().deleting = deleting;
        scene.owned.namespace = terminating.map(|deleting| Owned { deleting, ..Owned::default() });
        let plan = scene.decide(decide);
        // A lease is either expired now, or checked again at its expiry.
        prop_assert!(plan.is_empty() || plan.again.is_none());
        prop_assert!(plan.again.is_none_or(|again| again > scene.now.instant));
        let rounds = usize::from(!plan.is_empty());
        scene.settles(decide, rounds);
    }

    /// Setting the hub's clock between renewals changes no verdict.
    #[test]
    fn a_jump_of_the_hubs_clock_changes_no_verdict(
        silent in 0_u64..700,
        jump in -7200_i64..7200,
        seconds in 0..120,
    ) {
        let mut scene = duration(available(), seconds).renewed(Duration::from_secs(silent));
        let before = scene.decide(decide);
        scene.now.wall += SignedDuration::from_secs(jump);
        let after = scene.decide(decide);
        prop_assert_eq!((due(&before), before.again), (due(&after), after.again));
    }

    /// Unknown at the expiry, and not before.
    #[test]
    fn the_timer_ends_when_the_lease_does(seconds in any::<i32>(), silent in 0_u64..300) {
        let mut scene = duration(available(), seconds).renewed(Duration::from_secs(silent));
        if let Some(again) = scene.decide(decide).again {
            scene.now.instant = again - Duration::from_nanos(1);
            prop_assert_eq!(due(&scene.decide(decide)), "nothing");
            scene.now.instant = again;
            prop_assert_eq!(due(&scene.decide(decide)), "unknown");
        }
    }
}
