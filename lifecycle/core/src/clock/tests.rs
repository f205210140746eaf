use super::*;
use crate::testing::scene::{Scene, applied_condition};
use berth_api::plan::{Action, Write};
use conditions::cluster::CLOCK_SYNCED;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

/// A cluster whose agent's clock was this much ahead of the hub's when a renewal was seen.
fn ahead(apart: SignedDuration) -> Scene {
    let mut scene = Scene::new().renewed(Duration::ZERO);
    let lease = scene.lease.as_mut().unwrap();
    lease.renew_time = lease.observed_wall.map(|hub| hub + apart);
    scene
}

fn seconds(seconds: i64) -> Scene {
    ahead(SignedDuration::from_secs(seconds))
}

fn skipping(mut scene: Scene) -> Scene {
    scene.cluster().skip_clock_check = true;
    scene
}

fn duration(mut scene: Scene, seconds: i32) -> Scene {
    scene.cluster().lease_duration_seconds = Some(seconds);
    scene
}

fn times(renew_time: Option<Timestamp>, observed_wall: Option<Timestamp>) -> Scene {
    let mut scene = seconds(0);
    let lease = scene.lease.as_mut().unwrap();
    lease.renew_time = renew_time;
    lease.observed_wall = observed_wall;
    scene
}

/// The written status.
fn written(plan: &ClusterPlan) -> Option<String> {
    assert_eq!((&plan.changes, plan.again), (&Default::default(), None));
    match &plan.writes[..] {
        [] => None,
        [
            Write {
                action: Action::ApplyStatus { body, .. },
                ..
            },
        ] => {
            let condition = applied_condition(body);
            assert_eq!(condition.type_, CLOCK_SYNCED);
            Some(condition.status)
        }
        more => panic!("{more:?}"),
    }
}

#[test]
fn clocks_are_compared_by_renewals_that_were_seen() {
    let now = seconds(0).now.wall;
    let mut no_lease = seconds(301);
    no_lease.lease = None;
    let mut gone = seconds(301);
    gone.cluster = None;
    let nanosecond = SignedDuration::from_nanos(1);
    let grace = SignedDuration::from_secs(300);
    let rows: Vec<(&str, Scene, Option<&str>)> = vec![
        // Upstream's cases.
        ("close", seconds(5), Some("True")),
        ("not close", seconds(301), Some("False")),
        (
            "not close, nobody is to ask",
            skipping(seconds(301)),
            Some("True"),
        ),
        // And others. (For other values of the annotation, see below.)
        ("behind", seconds(-301), Some("False")),
        (
            "behind, nobody is to ask",
            skipping(seconds(-301)),
            Some("True"),
        ),
        ("just close", ahead(grace - nanosecond), Some("True")),
        ("just not close", ahead(grace), Some("False")),
        (
            "just close, behind",
            ahead(nanosecond - grace),
            Some("True"),
        ),
        ("just not close, behind", ahead(-grace), Some("False")),
        ("said already", seconds(5).with(CLOCK_SYNCED, "True"), None),
        (
            "said already, not close",
            seconds(301).with(CLOCK_SYNCED, "False"),
            None,
        ),
        (
            "mended",
            seconds(5).with(CLOCK_SYNCED, "False"),
            Some("True"),
        ),
        (
            "lost",
            seconds(301).with(CLOCK_SYNCED, "True"),
            Some("False"),
        ),
        (
            "nobody could tell",
            seconds(301).with(CLOCK_SYNCED, "Unknown"),
            Some("False"),
        ),
        (
            "nobody is to ask any more",
            skipping(seconds(301)).with(CLOCK_SYNCED, "False"),
            Some("True"),
        ),
        ("no lease", no_lease, None),
        ("no cluster", gone, None),
        ("no renewal was seen yet", times(Some(now), None), None),
        (
            "no renewal was seen yet, nobody is to ask",
            skipping(times(Some(now), None)),
            None,
        ),
        ("nil renewTime", times(None, Some(now)), None),
        (
            "Go's zero",
            times(Some("0001-01-01T00:00:00Z".parse().unwrap()), Some(now)),
            Some("False"),
        ),
        (
            "the year 9999",
            times(Some("9999-12-30T00:00:00Z".parse().unwrap()), Some(now)),
            Some("False"),
        ),
        (
            "as far apart as can be",
            times(Some(Timestamp::MIN), Some(Timestamp::MAX)),
            Some("False"),
        ),
        (
            "as far apart as can be, ahead",
            times(Some(Timestamp::MAX), Some(Timestamp::MIN)),
            Some("False"),
        ),
        (
            "the grace follows the lease's duration",
            duration(seconds(5), 1),
            Some("False"),
        ),
        (
            "a longer one, too",
            duration(seconds(3000), 601),
            Some("True"),
        ),
        ("zero is a minute", duration(seconds(299), 0), Some("True")),
        (
            "negative is a minute",
            duration(seconds(301), i32::MIN),
            Some("False"),
        ),
        (
            "the most overflows nothing",
            duration(seconds(301), i32::MAX),
            Some("True"),
        ),
    ];
    for (sentence, scene, expected) in rows {
        let plan = scene.decide(decide);
        assert_eq!(written(&plan).as_deref(), expected, "{sentence}");
    }
}

#[test]
fn only_the_annotations_value_true_keeps_the_clocks_from_being_compared() {
    for (value, expected) in [
        ("true", "True"),
        ("false", "False"),
        ("True", "False"),
        ("", "False"),
    ] {
        let object = serde_json::from_value::<berth_api::ManagedCluster>(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {
                "name": "c1",
                "annotations": { "registration.open-cluster-management.io/skip-clock-sync-check": value },
            },
            "spec": {},
        }));
        let mut scene = seconds(301);
        scene.cluster = Some(object.unwrap().into());
        assert_eq!(
            written(&scene.decide(decide)).as_deref(),
            Some(expected),
            "{value:?}"
        );
    }
}

#[test]
fn it_is_told_in_the_words_of_ocm() {
    for (scene, status, reason, message) in [
        (
            seconds(5),
            "True",
            "ManagedClusterClockSynced",
            "The clock of the managed cluster is synced with the hub.",
        ),
        (
            seconds(301),
            "False",
            "ManagedClusterClockOutOfSync",
            "The clock of hub and agent is out of sync. This may cause the Unknown status and affect agent \
             functionalities.",
        ),
    ] {
        let plan = scene.decide(decide);
        let expected = Write {
            target: status::cluster_target("c1"),
            action: Action::ApplyStatus {
                manager: "berth-clock",
                body: json!({
                    "apiVersion": "cluster.open-cluster-management.io/v1",
                    "kind": "ManagedCluster",
                    "metadata": { "name": "c1" },
                    "status": { "conditions": [{
                        "type": "ManagedClusterConditionClockSynced",
                        "status": status,
                        "reason": reason,
                        "message": message,
                        "lastTransitionTime": "2026-08-11T12:00:00Z",
                    }] },
                }),
            },
            reconciler: "clock",
            events: vec![Event {
                warning: false,
                reason: "ManagedClusterClockSyncedConditionUpdated",
                note: format!("update managed cluster \"c1\" clock synced condition to {status}."),
                namespace: None,
            }],
        };
        assert_eq!(plan.writes, [expected]);
    }
}

proptest! {
    #[test]
    fn what_is_carried_out_is_not_asked_for_again_whatever_the_hubs_clock_does(
        apart in any::<i32>(),
        seconds_of_lease in any::<i32>(),
        before in prop::option::of("True|False|Unknown"),
        skip: bool,
        jump in -7200_i64..7200,
    ) {
        let mut scene = duration(seconds(i64::from(apart)), seconds_of_lease);
        scene.cluster().skip_clock_check = skip;
        if let Some(before) = before {
            scene = scene.with(CLOCK_SYNCED, &before);
        }
        let rounds = usize::from(!scene.decide(decide).is_empty());
        scene.settles(decide, rounds);
        scene.now.wall += SignedDuration::from_secs(jump);
        prop_assert!(scene.decide(decide).is_empty());
    }
}
