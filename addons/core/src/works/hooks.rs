//! The hooks of an add-on: Jobs and Pods that run before it is deleted.
//!
//! As in OCM, a finalizer keeps the ManagedClusterAddOn while its hooks run, and what the add-on deployed stays until they are complete. In
//! OCM a hook that failed holds the ManagedClusterAddOn until someone removes the finalizer. Here it is tried again: the work of the hooks
//! is deleted, with it the failed Job, and made anew.

use berth_api::conditions::{self, FALSE, TRUE, manifest_work};
use berth_api::work::{ManifestCondition, ResourceIdentifier};
use berth_api::{ManifestWork, text};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::configs::{JOB_FAILED, identifier};
use super::is_deleting;
use crate::object::Key;
use crate::template::Rendered;

/// The condition of a ManagedClusterAddOn that says whether its hooks are complete.
pub const HOOK_MANIFEST_COMPLETED: &str = "HookManifestCompleted";
/// The finalizer of a ManagedClusterAddOn with hooks on its cluster.
pub const PRE_DELETE_FINALIZER: &str = "addon.open-cluster-management.io/addon-pre-delete";
/// The finalizer of a ManagedClusterAddOn with hooks on the cluster that hosts its agent.
pub const HOSTING_PRE_DELETE_FINALIZER: &str =
    "addon.open-cluster-management.io/hosting-addon-pre-delete";

/// The finalizer of a ManagedClusterAddOn with manifests on the cluster that hosts its agent.
pub const HOSTING_MANIFESTS_FINALIZER: &str =
    "addon.open-cluster-management.io/hosting-manifests-cleanup";

/// How long after the work of the hooks was made a failed hook is tried again, at the earliest.
pub const TRY_AGAIN: SignedDuration = SignedDuration::from_mins(5);

/// Upper bound on the bytes of the name of a hook in a message.
const LONGEST_NAME: usize = 128;

/// The finalizers of ManagedClusterAddOns in former versions of OCM.
const FORMER_FINALIZERS: [&str; 3] = [
    "cluster.open-cluster-management.io/addon-pre-delete",
    "cluster.open-cluster-management.io/hosting-addon-pre-delete",
    "cluster.open-cluster-management.io/hosting-manifests-cleanup",
];

/// What decides about the hooks of an add-on.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The hooks. `None` if they are not known, as the template cannot be rendered.
    pub hooks: Option<&'a Hooks>,
    /// The work of the hooks, if it exists.
    pub work: Option<&'a ManifestWork>,
    /// The time.
    pub now: Timestamp,
}

/// The hooks of an add-on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks(Vec<Key>);

/// What is to be done about the hooks.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Remove the finalizer: there are no hooks.
    RemoveFinalizer,
    /// The work of the hooks should be as [`super::layout`] says. The deployed works stay.
    Run(Box<Condition>),
    /// Delete the work of the hooks, as one failed. It is made anew when it is gone.
    TryAgain(Box<Condition>),
    /// Wait, and look again at this time, if one is given. The deployed works stay.
    Wait(Box<Condition>, Option<Timestamp>),
    /// All hooks are complete: write the condition, then remove the finalizer.
    Complete(Box<Condition>),
}

/// The state of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Complete,
    Failed,
}

/// Decides about the hooks of an add-on that is being deleted, or whose cluster is. `generation`: that of the ManagedClusterAddOn, for the condition.
#[must_use]
pub fn decide(facts: &Facts<'_>, generation: Option<i64>) -> Step {
    let condition = |status: &str, reason: &str, message: String| {
        Box::new(Condition {
            type_: HOOK_MANIFEST_COMPLETED.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            last_transition_time: Time(facts.now),
            observed_generation: generation,
        })
    };
    let not_complete = |message: String| condition(FALSE, "HookManifestIsNotCompleted", message);
    let Some(hooks) = facts.hooks else {
        // Without the template nobody knows whether the hooks ran: to remove the finalizer would skip them.
        let message = "the hooks are not known, as the template of the add-on cannot be rendered";
        return Step::Wait(not_complete(message.to_owned()), None);
    };
    if hooks.is_empty() {
        return Step::RemoveFinalizer;
    }
    let Some(work) = facts.work else {
        return Step::Run(not_complete("the hooks are to be run".to_owned()));
    };
    let name = work.metadata.name.as_deref().unwrap_or_default();
    if is_deleting(work) {
        let message = format!("hook manifestWork {name} is being deleted, to be tried again");
        return Step::Wait(not_complete(message), None);
    }
    let states: Vec<_> = (hooks.0.iter())
        .map(|key| (state(work, key), key))
        .collect();
    if let Some((_, failed)) = states.iter().find(|(state, _)| *state == State::Failed) {
        let failed = format!(
            "hook manifestWork {name} is not completed: {} {}/{} failed",
            failed.kind,
            text::shorten(&failed.namespace, LONGEST_NAME),
            text::shorten(&failed.name, LONGEST_NAME)
        );
        let made = work.metadata.creation_timestamp.as_ref();
        let due = made.and_then(|made| made.0.checked_add(TRY_AGAIN).ok());
        return match due.filter(|due| *due > facts.now) {
            Some(due) => {
                let message = format!("{failed}, and is tried again at {due:.0}");
                Step::Wait(not_complete(message), Some(due))
            }
            None => Step::TryAgain(not_complete(format!("{failed}, and is tried again"))),
        };
    }
    let is_complete = states.iter().all(|(state, _)| *state == State::Complete);
    if is_complete && is_available(work) {
        let message = format!("hook manifestWork {name} is completed.");
        return Step::Complete(condition(TRUE, "HookManifestIsCompleted", message));
    }
    Step::Run(not_complete(format!(
        "hook manifestWork {name} is not completed"
    )))
}

/// Returns the finalizers of a ManagedClusterAddOn with or without one. As in OCM, the forms of former versions go with each change. `None`
/// if there is nothing to change.
#[must_use]
pub fn with_finalizer(stored: &[String], finalizer: &str, is_wanted: bool) -> Option<Vec<String>> {
    if stored.iter().any(|it| it == finalizer) == is_wanted {
        return None;
    }
    let kept = stored
        .iter()
        .filter(|it| *it != finalizer && !FORMER_FINALIZERS.contains(&it.as_str()));
    let mut finalizers: Vec<_> = kept.cloned().collect();
    if is_wanted {
        finalizers.push(finalizer.to_owned());
    }
    Some(finalizers)
}

/// Returns the finalizers of a ManagedClusterAddOn without those that wait for hooks, for a user who lets its hooks go. `None` if none waits
/// for hooks. That of the manifests on the hosting cluster stays, since the manager deletes these.
#[must_use]
pub fn without_hooks(stored: &[String]) -> Option<Vec<String>> {
    let [former_hook, former_hosting_hook, _] = FORMER_FINALIZERS;
    let of_hooks = [
        PRE_DELETE_FINALIZER,
        HOSTING_PRE_DELETE_FINALIZER,
        former_hook,
        former_hosting_hook,
    ];
    let kept: Vec<_> = stored
        .iter()
        .filter(|it| !of_hooks.contains(&it.as_str()))
        .cloned()
        .collect();
    (kept.len() < stored.len()).then_some(kept)
}

// === impl Hooks ===

impl Hooks {
    /// Returns the hooks among the objects of [`super::Place::Hook`].
    #[must_use]
    pub fn of(objects: &[Rendered]) -> Self {
        let objects = objects.iter().filter_map(|it| it.object.as_object());
        Self(objects.map(Key::of).collect())
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The condition Available of the work is about the spec as it is now.
fn is_available(work: &ManifestWork) -> bool {
    let status = work.status.as_ref();
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    conditions::condition_of(conditions, manifest_work::AVAILABLE).is_some_and(|condition| {
        let observed = condition.observed_generation;
        condition.status == TRUE && (observed.is_none() || observed == work.metadata.generation)
    })
}

fn state(work: &ManifestWork, key: &Key) -> State {
    let Some(reported) = reported(work, &identifier(key)) else {
        return State::Running;
    };
    let is = |name: &str, value: &str| text_value(reported, name) == Some(value);
    if is("JobComplete", TRUE) || is("PodPhase", "Succeeded") {
        State::Complete
    } else if is(JOB_FAILED, TRUE) || is("PodPhase", "Failed") {
        State::Failed
    } else {
        State::Running
    }
}

/// What the agent of the cluster reports about an object of a work.
pub(crate) fn reported<'a>(
    work: &'a ManifestWork,
    identifier: &ResourceIdentifier,
) -> Option<&'a ManifestCondition> {
    let mut all = work.status.as_ref()?.resource_status.manifests.iter();
    all.find(|it| {
        let meta = &it.resource_meta;
        (&meta.group, &meta.resource, &meta.namespace, &meta.name)
            == (
                &identifier.group,
                &identifier.resource,
                &identifier.namespace,
                &identifier.name,
            )
    })
}

fn text_value<'a>(reported: &'a ManifestCondition, name: &str) -> Option<&'a str> {
    let mut values = reported.status_feedback.values.iter();
    let value = values.find(|value| value.name == name)?;
    value.field_value.string.as_deref()
}
