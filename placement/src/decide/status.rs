//! The status of a placement.

use berth_api::conditions::{self, FALSE, with_condition};
use berth_api::placement::DecisionGroupStatus;
use berth_api::plan::Write;
use berth_placement_core::ConditionValue;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Map, Value, json};

use super::{Due, precondition};
use crate::facts::Owner;
use crate::kinds::Kind;
use crate::layout::Layout;
use crate::recorded::Turn;

/// What is to be written about scores, reasons and counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scores {
    pub(super) turn: Turn,
    /// A PlacementDecision has other scores, and nothing else of it is due.
    pub(super) are_outdated: bool,
}

/// The status that is due, and when counts or scores can be written that have to wait.
#[derive(Default)]
pub(super) struct StatusDue {
    pub(super) write: Option<Write>,
    pub(super) later: Option<Timestamp>,
}

// === impl Due ===

impl Due<'_> {
    /// Writes the wanted status, if it differs. `scores`: `None` without the gate.
    pub(super) fn status(
        &self,
        groups: Vec<DecisionGroupStatus>,
        scores: Option<Scores>,
        now: Timestamp,
    ) -> StatusDue {
        let satisfied = &self.wanted.conditions.satisfied;
        let fresh = self.patch(Some(&groups), satisfied, satisfied.text(), now);
        let Some(Scores { turn, are_outdated }) = scores else {
            return StatusDue {
                write: self.patched(fresh),
                later: None,
            };
        };
        let stored = self.stored_counts(satisfied);
        let are_counts_outdated = stored.as_ref().is_some_and(|it| *it != satisfied.text());
        let differ = are_outdated || are_counts_outdated;
        let is_news = match stored {
            Some(text) => !self.patch(Some(&groups), satisfied, text, now).is_empty(),
            None => true,
        };
        let (may_write, later) = match turn {
            Turn::Now => (true, None),
            Turn::At(later) => (false, differ.then_some(later)),
        };
        let is_due = is_news || (differ && may_write);
        if !is_due {
            return StatusDue { write: None, later };
        }
        let mut patch = fresh;
        let has_scores = !self.wanted.records.is_empty() || !satisfied.counts.is_empty();
        // Now all scores are those of this evaluation.
        if has_scores && (may_write || !are_outdated) {
            patch.insert("lastScoreUpdateTime".to_owned(), json!(Time(now)));
        }
        StatusDue {
            write: self.patched(patch),
            later: None,
        }
    }

    /// Says in the status why decisions cannot be written.
    pub(super) fn failed(&self, why: &str, now: Timestamp) -> Option<Write> {
        let satisfied = unsatisfied(format!("the decisions cannot be written: {why}"));
        let text = satisfied.text();
        self.patched(self.patch(None, &satisfied, text, now))
    }

    /// The label of a PlacementDecision cannot have the placement's name, so the placement has no decisions.
    pub(super) fn unnameable(&self, mistakes: &[String], now: Timestamp) -> Option<Write> {
        let satisfied = unsatisfied(format!(
            "no cluster is selected: the name of the Placement cannot be the value of a label, create it again with another name: {}",
            mistakes.join("; ")
        ));
        let text = satisfied.text();
        self.patched(self.patch(Some(&[]), &satisfied, text, now))
    }

    /// The stored message of a condition, if the condition is stored and differs by the counts in its message at most.
    fn stored_counts(&self, wanted: &ConditionValue) -> Option<String> {
        let mut stored = self.placement.status.conditions.iter();
        let stored = stored.find(|it| it.type_ == wanted.type_)?;
        let is_it = stored.status == wanted.status
            && stored.reason == wanted.reason
            && wanted.is_message(&stored.message);
        is_it.then(|| stored.message.clone())
    }

    /// The fields that differ. `groups`: `None` if they stay. `message`: that of the condition `satisfied`.
    fn patch(
        &self,
        groups: Option<&[DecisionGroupStatus]>,
        satisfied: &ConditionValue,
        message: String,
        now: Timestamp,
    ) -> Map<String, Value> {
        let old = &self.placement.status;
        let misconfigured = &self.wanted.conditions.misconfigured;
        let mut conditions = old.conditions.clone();
        for (it, message) in [(satisfied, message), (misconfigured, misconfigured.text())] {
            if let Some(changed) = with_condition(&conditions, condition(it, message, now)) {
                conditions = changed;
            }
        }
        let mut patch = Map::new();
        if conditions != old.conditions {
            patch.insert("conditions".to_owned(), json!(conditions));
        }
        let Some(groups) = groups else { return patch };
        let number: i32 = groups.iter().map(|group| group.cluster_count).sum();
        if number != old.number_of_selected_clusters {
            patch.insert("numberOfSelectedClusters".to_owned(), json!(number));
        }
        if groups != old.decision_groups {
            patch.insert("decisionGroups".to_owned(), json!(groups));
        }
        patch
    }

    fn patched(&self, patch: Map<String, Value>) -> Option<Write> {
        if patch.is_empty() {
            return None;
        }
        let owner = self.owner();
        let body = json!({
            "metadata": precondition(owner.uid, &self.placement.resource_version),
            "status": patch,
        });
        let mut write = self.write(owner.name, body, Some("status"));
        write.target.resource = Kind::Placement.resource();
        Some(write)
    }
}

fn unsatisfied(message: String) -> ConditionValue {
    ConditionValue {
        type_: conditions::placement::SATISFIED,
        status: FALSE,
        reason: conditions::placement::NOT_ALL_DECISIONS_SCHEDULED,
        message,
        counts: String::new(),
    }
}

/// The groups, for the status.
pub(super) fn groups(owner: Owner<'_>, layout: &Layout<'_>) -> Vec<DecisionGroupStatus> {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let groups = layout.groups.iter().enumerate().map(|(index, group)| {
        let places = layout.places.iter().filter(|place| place.group == index);
        DecisionGroupStatus {
            cluster_count: count(group.clusters.len()),
            decision_group_index: count(index),
            decision_group_name: group.name.clone(),
            decisions: places.map(|place| owner.decision(place.number)).collect(),
        }
    });
    groups.collect()
}

fn condition(wanted: &ConditionValue, message: String, now: Timestamp) -> Condition {
    conditions::new(wanted.type_, (wanted.status, wanted.reason), message, now)
}
