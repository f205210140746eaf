//! The conditions of a placement. Types, reasons and messages are OCM's, except where decisions are kept. With the gate
//! [`scores`](crate::Gates::scores), counts follow the message.

use berth_api::conditions::placement;
use berth_api::conditions::{FALSE, TRUE};
use berth_api::text::cut;

use crate::schedule::{Counts, Decisions, Fault, Schedule};

/// The longest message in characters, from the schema.
const LONGEST: usize = 32_768;

/// The beginning of the counts, after the message. The words are those of `berth placement explain`.
const COUNTS: &str = "; clusters in the sets: ";

/// The conditions of a placement, without their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// `PlacementSatisfied`
    pub satisfied: ConditionValue,
    /// `PlacementMisconfigured`
    pub misconfigured: ConditionValue,
}

/// A condition without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionValue {
    /// The type.
    pub type_: &'static str,
    /// The status: `True` or `False`.
    pub status: &'static str,
    /// The reason.
    pub reason: &'static str,
    /// The message, without counts.
    pub message: String,
    /// What follows the message: how many clusters each step left. Empty without the gate [`scores`](crate::Gates::scores).
    pub counts: String,
}

// === impl Schedule ===

impl Schedule<'_> {
    /// Returns the conditions of the placement.
    #[must_use]
    pub fn conditions(&self) -> Conditions {
        let (status, reason, message) = self.satisfied();
        let (message, _) = cut(&message, LONGEST);
        Conditions {
            satisfied: ConditionValue {
                type_: placement::SATISFIED,
                status,
                reason,
                message: message.to_owned(),
                counts: self.counted(),
            },
            misconfigured: self.misconfigured(),
        }
    }

    fn satisfied(&self) -> (&'static str, &'static str, String) {
        let eligible = &self.scene.eligible;
        let no = |reason, message| (FALSE, reason, message);
        if eligible.bindings == 0 {
            let message = "No valid ManagedClusterSetBindings found in placement namespace";
            return no(placement::NO_BINDINGS, message.to_owned());
        }
        if eligible.sets.is_empty() {
            let sets = self.rules.sets.join(",");
            let message =
                format!("None of ManagedClusterSets [{sets}] is bound to placement namespace");
            return no(placement::NO_INTERSECTION, message);
        }
        let other = |it: &&Fault<'_>| !matches!(it, Fault::Misconfigured(_));
        if let Some(fault) = self.fault.as_ref().filter(other) {
            return no(placement::NOT_ALL_DECISIONS_SCHEDULED, fault.to_string());
        }
        if self.counts.candidates == 0 {
            let sets: Vec<_> = eligible.sets.iter().map(|set| set.name).collect();
            let sets = sets.join(",");
            let message = format!("All ManagedClusterSets [{sets}] have no member ManagedCluster");
            return no(placement::ALL_SETS_EMPTY, message);
        }
        match (&self.decisions, self.decisions.len(), self.unscheduled) {
            (_, 0, _) => {
                let message = "No ManagedCluster matches any of the cluster predicate";
                no(placement::NO_CLUSTER_MATCHED, message.to_owned())
            }
            (Decisions::Kept(_), kept, _) => {
                let message = format!(
                    "The placement is misconfigured; {kept} cluster decisions are kept as they were"
                );
                no(placement::NOT_ALL_DECISIONS_SCHEDULED, message)
            }
            (_, _, 0) => {
                let message = "All cluster decisions scheduled".to_owned();
                (TRUE, placement::ALL_DECISIONS_SCHEDULED, message)
            }
            (_, _, missing) => {
                let message = format!("{missing} cluster decisions unscheduled");
                no(placement::NOT_ALL_DECISIONS_SCHEDULED, message)
            }
        }
    }

    /// How many clusters each step left, if they were evaluated.
    fn counted(&self) -> String {
        let Counts {
            candidates,
            unmatched,
            tainted,
            feasible,
            selected,
        } = self.counts;
        if !self.rules.records_scores() || self.fault.is_some() || candidates == 0 {
            return String::new();
        }
        format!(
            "{COUNTS}{candidates}; match no predicate: {unmatched}; taint not tolerated: {tainted}; ranked: {feasible}; selected: {selected}"
        )
    }

    fn misconfigured(&self) -> ConditionValue {
        let (status, reason, message) = match &self.fault {
            Some(fault @ Fault::Misconfigured(_)) => {
                let message = fault.to_string();
                let (message, _) = cut(&message, LONGEST);
                (TRUE, placement::REASON_MISCONFIGURED, message.to_owned())
            }
            _ => {
                let message = "Placement configurations check pass".to_owned();
                (FALSE, placement::SUCCEEDED, message)
            }
        };
        ConditionValue {
            type_: placement::MISCONFIGURED,
            status,
            reason,
            message,
            counts: String::new(),
        }
    }
}

// === impl ConditionValue ===

impl ConditionValue {
    /// The message with the counts.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.message, self.counts)
    }

    /// Returns whether a stored message is this one, with any counts or without.
    #[must_use]
    pub fn is_message(&self, stored: &str) -> bool {
        let rest = stored.strip_prefix(self.message.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(COUNTS))
    }
}
