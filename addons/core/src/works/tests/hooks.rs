//! Decisions about hooks.

use berth_api::ManifestWork;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};

use super::rendered;
use crate::works::hooks::{
    Facts, HOSTING_PRE_DELETE_FINALIZER, Hooks, PRE_DELETE_FINALIZER, Step, TRY_AGAIN, decide,
    with_finalizer, without_hooks,
};

fn hooks() -> Hooks {
    Hooks::of(&[
        rendered(
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"}}),
        ),
        rendered(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}),
        ),
    ])
}

fn made_at() -> Timestamp {
    Timestamp::from_second(1_700_000_000).unwrap()
}

/// The work of the hooks, with what is reported about Job and Pod.
fn work(job: Value, pod: Value) -> ManifestWork {
    let value = |(name, value): (&String, &Value)| json!({"name": name, "fieldValue": {"type": "String", "string": value}});
    let values = |all: Value| {
        all.as_object()
            .unwrap()
            .iter()
            .map(value)
            .collect::<Vec<_>>()
    };
    serde_json::from_value(json!({
        "metadata": {"name": "addon-x-pre-delete", "generation": 2, "creationTimestamp": made_at()},
        "status": {
            "conditions": [condition("Available", 2)],
            "resourceStatus": {"manifests": [
                {
                    "conditions": [],
                    "resourceMeta": {"group": "batch", "resource": "jobs", "namespace": "n", "name": "j", "ordinal": 0},
                    "statusFeedback": {"values": values(job)},
                },
                {
                    "conditions": [],
                    "resourceMeta": {"group": "", "resource": "pods", "namespace": "n", "name": "p", "ordinal": 1},
                    "statusFeedback": {"values": values(pod)},
                },
            ]},
        },
    }))
    .unwrap()
}

fn condition(type_: &str, generation: i64) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: "R".to_owned(),
        message: String::new(),
        last_transition_time: Time(made_at()),
        observed_generation: Some(generation),
    }
}

/// The decision about an add-on with hooks that is being deleted.
fn decided(work: Option<&ManifestWork>, now: Timestamp) -> Step {
    let facts = Facts {
        hooks: Some(&hooks()),
        work,
        now,
    };
    decide(&facts, Some(4))
}

fn complete() -> ManifestWork {
    work(
        json!({"JobComplete": "True"}),
        json!({"PodPhase": "Succeeded"}),
    )
}

#[track_caller]
fn words(step: &Step) -> (&'static str, String) {
    match step {
        Step::Run(condition) => ("run", condition.message.clone()),
        Step::TryAgain(condition) => ("try again", condition.message.clone()),
        Step::Wait(condition, _) => ("wait", condition.message.clone()),
        Step::Complete(condition) => ("complete", condition.message.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_hooks_the_finalizer_goes() {
    let facts = Facts {
        hooks: Some(&Hooks::default()),
        work: None,
        now: made_at(),
    };
    assert_eq!(decide(&facts, None), Step::RemoveFinalizer);
}

#[test]
fn hooks_run_until_all_are_complete() {
    let soon = made_at() + SignedDuration::from_secs(1);
    let mut stale = complete();
    stale.metadata.generation = Some(3);
    let mut dying = complete();
    dying.metadata.deletion_timestamp = Some(Time(soon));
    let running = work(json!({}), json!({"PodPhase": "Succeeded"}));
    let open = "hook manifestWork addon-x-pre-delete is not completed";
    for (sentence, work, expected) in [
        ("38: no work yet", None, ("run", "the hooks are to be run")),
        ("a Job runs", Some(&running), ("run", open)),
        (
            "what is available is a former spec",
            Some(&stale),
            ("run", open),
        ),
        (
            "a work that goes",
            Some(&dying),
            (
                "wait",
                "hook manifestWork addon-x-pre-delete is being deleted, to be tried again",
            ),
        ),
        (
            "40: all are complete",
            Some(&complete()),
            (
                "complete",
                "hook manifestWork addon-x-pre-delete is completed.",
            ),
        ),
    ] {
        let step = decided(work, soon);
        let (kind, message) = words(&step);
        assert_eq!((kind, message.as_str()), expected, "{sentence}");
    }
    let Step::Complete(condition) = decided(Some(&complete()), soon) else {
        panic!()
    };
    let Condition {
        type_,
        status,
        reason,
        observed_generation,
        ..
    } = *condition;
    assert_eq!(
        (
            type_.as_str(),
            status.as_str(),
            reason.as_str(),
            observed_generation
        ),
        (
            "HookManifestCompleted",
            "True",
            "HookManifestIsCompleted",
            Some(4)
        )
    );
}

#[test]
fn a_hook_that_failed_is_tried_again_after_a_while() {
    // 39.
    let job = work(json!({"JobFailed": "True"}), json!({}));
    let pod = work(
        json!({"JobComplete": "True"}),
        json!({"PodPhase": "Failed"}),
    );
    let due = made_at() + TRY_AGAIN;
    let early = due - SignedDuration::from_secs(1);
    for (failed, name) in [(&job, "Job n/j"), (&pod, "Pod n/p")] {
        let step = decided(Some(failed), early);
        assert_eq!(
            words(&step).1,
            format!(
                "hook manifestWork addon-x-pre-delete is not completed: {name} failed, and is tried again at {due}"
            )
        );
        let Step::Wait(condition, again) = step else {
            panic!("{step:?}")
        };
        assert_eq!(again, Some(due));
        assert_eq!(
            (condition.status.as_str(), condition.reason.as_str()),
            ("False", "HookManifestIsNotCompleted")
        );
        let (kind, message) = words(&decided(Some(failed), due));
        assert_eq!(kind, "try again");
        assert!(
            message.ends_with(&format!("{name} failed, and is tried again")),
            "{message}"
        );
    }
}

#[test]
fn hooks_that_are_not_known_are_not_skipped() {
    let facts = Facts {
        hooks: None,
        work: None,
        now: made_at(),
    };
    let (kind, message) = words(&decide(&facts, None));
    assert_eq!(kind, "wait");
    assert_eq!(
        message,
        "the hooks are not known, as the template of the add-on cannot be rendered"
    );
}

#[test]
fn former_finalizers_go_with_each_change() {
    let own = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let former = "cluster.open-cluster-management.io/addon-pre-delete";
    for (sentence, stored, is_wanted, expected) in [
        (
            "added",
            own(&["a", former]),
            true,
            Some(own(&["a", PRE_DELETE_FINALIZER])),
        ),
        (
            "removed",
            own(&[PRE_DELETE_FINALIZER, former, "a"]),
            false,
            Some(own(&["a"])),
        ),
        (
            "no change",
            own(&[PRE_DELETE_FINALIZER, former]),
            true,
            None,
        ),
        ("nothing to remove", own(&[former]), false, None),
    ] {
        assert_eq!(
            with_finalizer(&stored, PRE_DELETE_FINALIZER, is_wanted),
            expected,
            "{sentence}"
        );
    }
}

#[test]
fn a_user_lets_hooks_go_and_no_other_finalizer() {
    let own = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let former = "cluster.open-cluster-management.io/addon-pre-delete";
    let hosted = "addon.open-cluster-management.io/hosting-manifests-cleanup";
    for (stored, expected) in [
        (own(&[]), None),
        (own(&[hosted, "other/one"]), None),
        (own(&[PRE_DELETE_FINALIZER]), Some(own(&[]))),
        (
            own(&[hosted, HOSTING_PRE_DELETE_FINALIZER, former, "other/one"]),
            Some(own(&[hosted, "other/one"])),
        ),
    ] {
        assert_eq!(without_hooks(&stored), expected, "{stored:?}");
    }
}
