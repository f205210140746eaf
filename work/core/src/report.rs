//! The status of a ManifestWork.
//!
//! # Promises
//! - A status that nothing has changed in is equal to the stored one: nothing is to be written.
//! - Reasons and messages are those of OCM, and what OCM's agent stored is taken over. A condition's time moves when its status changes, and
//!   that of StatusFeedbackSynced when the reported fields change.
//! - Each condition has the generation that it was observed for. Conditions of rules are removed with their rules.
//! - The API server accepts the status: each type of condition and each name of a value exists once, and the states of objects are bounded.
//!   Conditions of the ManifestWork are about all objects, also about those whose state is left out.

use berth_api::ManifestWork;
use berth_api::conditions::{FALSE, TRUE, UNKNOWN, condition_of, manifest, manifest_work};
use berth_api::text::shorten;
use berth_api::work::{
    ManifestCondition, ManifestResourceMeta, ManifestResourceStatus, ManifestWorkStatus,
    StatusFeedbackResult,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::aggregate::{self, Counted};
use crate::bound::{bound, room, shortened};
use crate::conditions;
use crate::config::Rules;
use crate::evaluate::Evaluated;
use crate::health::{self, Health, Judgement};
use crate::merge::{Conditions, Stamp, StoredManifests, is_built_in};
use crate::spending::Spending;
use crate::waiting::IS_DELETED;

/// The longest error in a message, in bytes.
pub(crate) const LONGEST_ERROR: usize = 1024;

/// What is known of an object of the ManifestWork.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The object, and its position in the manifests. What is unknown is empty.
    pub meta: ManifestResourceMeta,
    /// The result of applying the manifest; `None` keeps what is stored.
    pub applied: Option<Applied>,
    /// The object on the cluster.
    pub live: Live<'a>,
    /// What differs from the manifest; `None` reports nothing about it.
    pub drift: Option<Drift>,
    /// The rules of the ManifestWork for the object.
    pub rules: Rules<'a>,
}

/// The result of applying a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The object is as the manifest prescribes.
    Complete,
    /// The manifest could not be applied.
    Failed {
        /// `APPLIED_FAILED` or `IGNORE_FIELD_ERROR` of [`berth_api::conditions::manifest`].
        reason: &'static str,
        /// The whole message of the condition.
        message: String,
    },
}

/// An object on the cluster.
#[derive(Clone, Copy, Debug)]
pub enum Live<'a> {
    /// It exists. Evaluate the response to a write before its [`Applied`] is reported: rollouts trust conditions of one generation.
    Evaluated(&'a Evaluated),
    /// It does not exist. Reported fields and conditions of condition rules stay as they are stored.
    Missing,
    /// It exists, and the rules of the ManifestWork cost too much to evaluate them now. Reported fields and conditions of condition rules
    /// stay as they are stored.
    Postponed,
    /// It could not be read; the error. Reported fields and conditions of condition rules stay as they are stored.
    Failed(&'a str),
    /// The executor may not read it: only whether it exists is reported, if that is known. Reported fields, and conditions of rules other than
    /// Complete, are removed.
    Withheld {
        /// It exists.
        exists: Option<bool>,
        /// Why it is not read.
        refusal: &'a str,
    },
    /// The manifest does not identify an object: it is invalid, or the cluster does not have its kind.
    Incomplete,
}

/// What an object has that its manifest does not prescribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drift {
    /// Nothing differs.
    Same,
    /// The fields: path, ours, theirs.
    Differs(String),
}

/// The new status of a ManifestWork.
///
/// `observed` has an entry for each manifest, in their order; the state of other objects is removed. Applied is set when each manifest
/// was applied or failed in this generation.
///
/// A ManifestWork that is being deleted keeps the states of its objects. Those in `observed` are updated.
///
/// The API server has refused the status as too large `too_large` times in this generation: each time the states have half as much room.
#[must_use]
pub fn report(
    work: &ManifestWork,
    observed: &[Observed<'_>],
    too_large: u32,
    now: Timestamp,
) -> ManifestWorkStatus {
    let nothing = ManifestWorkStatus::default();
    let stored = work.status.as_ref().unwrap_or(&nothing);
    let states = &stored.resource_status.manifests;
    let stamp = Stamp::new(work.metadata.generation, now);
    let is_deleting = work.metadata.deletion_timestamp.is_some();
    let positions = StoredManifests::new(states).positions(observed.iter().map(|it| &it.meta));
    let mut counted = Counted::default();
    let mut manifests = if is_deleting {
        states.clone()
    } else {
        Vec::with_capacity(observed.len())
    };
    for (it, at) in observed.iter().zip(positions) {
        let mut state = |stored| it.state(stored, stamp, &mut counted);
        match at {
            Some(at) if is_deleting => manifests[at] = state(Some(&states[at])),
            None if is_deleting => {}
            at => manifests.push(state(at.map(|at| &states[at]))),
        }
    }
    let mut conditions = Conditions::new(&stored.conditions, stamp);
    if !is_deleting || !observed.is_empty() {
        if observed.len() == work.spec.workload.manifests.len() {
            aggregate::applied(&mut conditions, &manifests, stamp.generation);
        }
        aggregate::available(&mut conditions, &manifests);
        aggregate::rules(&mut conditions, &manifests, counted, stamp.generation);
    }
    if is_deleting {
        // What it waits for is said by `waits`, and stays until that is known anew.
        let said = condition_of(&stored.conditions, manifest_work::DELETING);
        let said = said.filter(|it| it.status == TRUE && it.message.starts_with(IS_DELETED));
        let message = said.map_or_else(|| IS_DELETED.to_owned(), |it| it.message.clone());
        conditions.set(
            manifest_work::DELETING,
            TRUE,
            manifest_work::WORK_DELETING,
            message,
        );
    }
    let left_out = bound(&mut manifests, || {
        room(work) >> too_large.min(usize::BITS - 1)
    });
    if left_out > 0 {
        conditions.append(
            manifest_work::AVAILABLE,
            &format!(
                "; the status leaves out the states of {left_out} manifests: it would be too large. Use several ManifestWorks"
            ),
        );
    }
    ManifestWorkStatus {
        conditions: conditions.into_conditions(),
        resource_status: ManifestResourceStatus { manifests },
    }
}

/// Says in the status of a ManifestWork that is being deleted what that waits for: a message of [`waits_for`](crate::waits_for).
pub fn waits(status: &mut ManifestWorkStatus, message: &str) {
    let mut all = status.conditions.iter_mut();
    if let Some(condition) = all.find(|it| it.type_ == manifest_work::DELETING) {
        condition.message = message.to_owned();
    }
}

/// Says in the status of a ManifestWork that is being deleted that an admin of the cluster holds it: a message of the condition Held.
pub fn waits_for_hold(status: &mut ManifestWorkStatus, message: &str) {
    waits(status, &format!("{IS_DELETED}; {message}"));
}

/// The conditions of a ManifestWork with the condition Held, for this reason and with this message; `None` removes it.
#[must_use]
pub fn held(
    conditions: &[Condition],
    generation: Option<i64>,
    held: Option<(&'static str, String)>,
    now: Timestamp,
) -> Vec<Condition> {
    let mut conditions = Conditions::new(conditions, Stamp::new(generation, now));
    match held {
        Some((reason, message)) => conditions.set(manifest_work::HELD, TRUE, reason, message),
        None => {
            let reasons = [manifest_work::CHANGES_HELD, manifest_work::ALL_HELD];
            let stored = conditions.get(manifest_work::HELD);
            // A condition rule may set one of this name.
            if stored.is_some_and(|it| reasons.contains(&&*it.reason)) {
                conditions.remove(manifest_work::HELD);
            }
        }
    }
    conditions.into_conditions()
}

/// The conditions of a ManifestWork that is not carried out. States of its objects stay as they are stored.
#[must_use]
pub fn refused(work: &ManifestWork, message: String, now: Timestamp) -> Vec<Condition> {
    let stored = work.status.as_ref().map_or(&[][..], |it| &it.conditions);
    let stamp = Stamp::new(work.metadata.generation, now);
    let mut conditions = Conditions::new(stored, stamp);
    conditions.set(
        manifest_work::APPLIED,
        FALSE,
        manifest_work::TOO_LARGE,
        message,
    );
    conditions.into_conditions()
}

/// Returns true if the status says in this generation that the ManifestWork is not carried out, in these words.
#[must_use]
pub fn is_refused(work: &ManifestWork, message: &str) -> bool {
    let stored = work.status.as_ref().map_or(&[][..], |it| &it.conditions);
    condition_of(stored, manifest_work::APPLIED).is_some_and(|it| {
        (&*it.status, &*it.reason, &*it.message) == (FALSE, manifest_work::TOO_LARGE, message)
            && it.observed_generation == work.metadata.generation
    })
}

// === impl Observed ===

impl Observed<'_> {
    /// The state of the object, from the stored one.
    fn state(
        &self,
        stored: Option<&ManifestCondition>,
        stamp: Stamp,
        counted: &mut Counted,
    ) -> ManifestCondition {
        let old = stored.map_or(&[][..], |it| &it.conditions);
        let mut conditions = Conditions::new(old, stamp);
        let mut feedback = stored.map_or_else(Default::default, |it| it.status_feedback.clone());
        self.set_applied(&mut conditions);
        self.set_available(&mut conditions);
        if let Live::Evaluated(evaluated) = self.live {
            set_feedback(&mut conditions, &mut feedback, evaluated);
            for it in &evaluated.conditions {
                conditions.set(&it.type_, it.status, it.reason, it.message.clone());
            }
        } else {
            self.keep_complete(&mut conditions);
        }
        if let Live::Postponed = self.live {
            let (reason, message) = (manifest::STATUS_FEEDBACK_SYNC_FAILED, Spending::message());
            conditions.set(manifest::STATUS_FEEDBACK_SYNCED, FALSE, reason, message);
        }
        if let Live::Withheld { .. } = self.live {
            feedback = StatusFeedbackResult::default();
            conditions.remove(manifest::STATUS_FEEDBACK_SYNCED);
            conditions.remove_unset_rules();
        }
        self.set_health(&mut conditions, stamp, counted);
        self.set_drift(&mut conditions, counted);
        match self.live {
            Live::Evaluated(_) | Live::Withheld { .. } => conditions.remove_unset_rules(),
            Live::Missing | Live::Postponed | Live::Failed(_) | Live::Incomplete => {
                conditions.remove_old_rules();
            }
        }
        ManifestCondition {
            conditions: conditions.into_conditions(),
            resource_meta: self.meta.clone(),
            status_feedback: feedback,
        }
    }

    /// A Job that is finished may be removed, and must not run again because something else in the ManifestWork changes.
    fn keep_complete(&self, conditions: &mut Conditions) {
        let complete = conditions.get(manifest_work::COMPLETE);
        let complete = complete.filter(|it| it.status == TRUE).cloned();
        if let Some(complete) = complete
            && conditions::sets(&self.meta, self.rules.conditions, manifest_work::COMPLETE)
        {
            conditions.set(
                manifest_work::COMPLETE,
                TRUE,
                &complete.reason,
                complete.message,
            );
        }
    }

    fn set_applied(&self, conditions: &mut Conditions) {
        let (status, reason, message) = match &self.applied {
            None => return,
            Some(Applied::Complete) => {
                let message = "Apply manifest complete".to_owned();
                (TRUE, manifest::APPLIED_COMPLETE, message)
            }
            Some(Applied::Failed { reason, message }) => {
                let message = shorten(message, LONGEST_ERROR).into_owned();
                (FALSE, *reason, message)
            }
        };
        conditions.set(manifest::APPLIED, status, reason, message);
    }

    /// Available also names the condition rules that have no effect, and no condition of their own.
    fn set_available(&self, conditions: &mut Conditions) {
        let (status, reason, mut message) = match self.live {
            Live::Evaluated(_)
            | Live::Postponed
            | Live::Withheld {
                exists: Some(true), ..
            } => {
                let message = "Resource is available".to_owned();
                (TRUE, manifest::RESOURCE_AVAILABLE, message)
            }
            Live::Missing
            | Live::Withheld {
                exists: Some(false),
                ..
            } => {
                let message = "Resource is not available".to_owned();
                (FALSE, manifest::RESOURCE_NOT_AVAILABLE, message)
            }
            Live::Failed(error)
            | Live::Withheld {
                exists: None,
                refusal: error,
            } => {
                let message = format!("Failed to fetch resource: {error}");
                let message = shorten(&message, LONGEST_ERROR).into_owned();
                (UNKNOWN, manifest::FETCHING_RESOURCE_FAILED, message)
            }
            Live::Incomplete => {
                let message = "Resource meta is incomplete".to_owned();
                (UNKNOWN, manifest::INCOMPLETE_RESOURCE_META, message)
            }
        };
        for fault in conditions::unreported(&self.meta, self.rules.conditions) {
            let fault = shortened(fault, LONGEST_ERROR);
            message = format!("{message}; {fault}");
        }
        conditions.set(manifest::AVAILABLE, status, reason, message);
    }

    /// Sets Progressing and Degraded by the rules of the agent, unless condition rules set them.
    fn set_health(&self, conditions: &mut Conditions, stamp: Stamp, counted: &mut Counted) {
        let ManifestResourceMeta { group, kind, .. } = &self.meta;
        let current = |type_| {
            let stored = conditions.get(type_);
            stored.filter(|it| it.observed_generation == stamp.generation)
        };
        let is_complete = current(manifest_work::COMPLETE).is_some_and(|it| it.status == TRUE);
        let is_judged = current(manifest_work::PROGRESSING).is_some_and(is_built_in);
        let health = match self.live {
            Live::Evaluated(evaluated) => evaluated.health.clone(),
            // A Job that is finished may be removed.
            Live::Missing if is_complete && is_judged => return,
            Live::Missing if is_complete => Health::Settled,
            Live::Missing => health::missing(group, kind),
            Live::Postponed | Live::Failed(_) | Live::Withheld { .. } | Live::Incomplete => {
                let rules = self.rules.conditions;
                let is_by_rule = conditions::sets(&self.meta, rules, manifest_work::PROGRESSING);
                if health::has_rule(group, kind) && !is_judged && !is_by_rule {
                    counted.unknown += 1;
                }
                return;
            }
        };
        match health {
            Health::Unruled => {}
            Health::Settled => counted.settled += 1,
            Health::Judged(Judgement {
                progressing,
                degraded,
            }) => {
                self.set_built_in(conditions, manifest_work::PROGRESSING, progressing);
                self.set_built_in(conditions, manifest_work::DEGRADED, degraded);
            }
        }
    }

    /// Drifted is absent from objects that never differed.
    fn set_drift(&self, conditions: &mut Conditions, counted: &mut Counted) {
        let is_withheld = matches!(self.live, Live::Withheld { .. });
        let drift = self.drift.as_ref().filter(|_| !is_withheld);
        counted.knows_drift |= drift.is_some();
        let built_in = conditions
            .get(manifest_work::DRIFTED)
            .is_some_and(is_built_in);
        match drift {
            None if built_in => conditions.remove(manifest_work::DRIFTED),
            Some(Drift::Same) if built_in => {
                let message = "The object is as its manifest says".to_owned();
                self.set_built_in(conditions, manifest_work::DRIFTED, (false, message));
            }
            None | Some(Drift::Same) => {}
            Some(Drift::Differs(message)) => {
                let message = shortened(message.clone(), LONGEST_ERROR);
                self.set_built_in(conditions, manifest_work::DRIFTED, (true, message));
            }
        }
    }

    /// A condition rule for the same type wins.
    fn set_built_in(
        &self,
        conditions: &mut Conditions,
        type_: &str,
        (holds, message): (bool, String),
    ) {
        if !conditions::sets(&self.meta, self.rules.conditions, type_) {
            let status = if holds { TRUE } else { FALSE };
            let reason = manifest::CONDITION_RULE_BUILT_IN;
            conditions.set(type_, status, reason, message);
        }
    }
}

/// Sets StatusFeedbackSynced. Its time moves when a value changes.
fn set_feedback(
    conditions: &mut Conditions,
    feedback: &mut StatusFeedbackResult,
    evaluated: &Evaluated,
) {
    let (status, reason, message) = match &evaluated.feedback {
        None => (TRUE, manifest::NO_STATUS_FEEDBACK_SYNCED, String::new()),
        Some(found) => match &found.error {
            None => (TRUE, manifest::STATUS_FEEDBACK_SYNCED, String::new()),
            Some(error) => {
                let message = format!("Sync status feedback failed with error {error}");
                (FALSE, manifest::STATUS_FEEDBACK_SYNC_FAILED, message)
            }
        },
    };
    conditions.set(manifest::STATUS_FEEDBACK_SYNCED, status, reason, message);
    let values = evaluated.feedback.as_ref().map(|it| &it.values[..]);
    let values = values.unwrap_or_default();
    if feedback.values != values {
        feedback.values = values.to_vec();
        conditions.touch(manifest::STATUS_FEEDBACK_SYNCED);
    }
}

#[cfg(test)]
mod tests;
