//! What becomes of one cluster.

use std::cmp::Reverse;
use std::fmt::Write as _;

use berth_api::cluster::Taint;
use berth_api::placement::{PlacementSpec, Toleration, TolerationOperator};
use jiff::Timestamp;
use serde::Serialize;

use crate::facts::Cluster;
use crate::misconfigured::Part;
use crate::outcome::{ClusterOutcome, Rejection, Standing, Tolerance};
use crate::predicates::Mismatch;

/// What becomes of a cluster, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedCluster {
    /// The cluster's name.
    pub name: String,
    /// The result.
    pub result: ClusterResult,
    /// Why, in one line.
    pub reason: String,
    /// The PlacementDecision that lists the cluster now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The group that the cluster belongs to, if it is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<ExplainedGroup>,
    /// The place among the clusters that passed the filters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// The sum of the weighted scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The scores.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<ExplainedScore>,
    /// For each predicate the first requirement that the cluster does not meet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<ExplainedMismatch>,
    /// The taint that is not tolerated, the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taint: Option<ExplainedTaint>,
}

/// What becomes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ClusterResult {
    /// It is selected.
    Selected,
    /// The placement cannot be evaluated, and the previous decision is kept.
    Kept,
    /// It passed the filters, and others have a higher rank.
    RankedOut,
    /// It matches no predicate.
    Unmatched,
    /// It has a taint that is not tolerated.
    Tainted,
    /// The placement cannot be evaluated.
    Undecided,
    /// It is being deleted.
    Deleting,
    /// It belongs to none of the sets that the placement selects from.
    NotInSets,
}

/// The group of a selected cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedGroup {
    /// The position.
    pub index: usize,
    /// The name; empty for clusters that no group of the placement selects.
    pub name: String,
}

/// The score that one prioritizer gives a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedScore {
    /// The prioritizer.
    pub prioritizer: String,
    /// Its weight.
    pub weight: i32,
    /// The score; absent if the cluster lacks what is scored, or its score expired. It then counts as 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}

/// Why a cluster does not match a predicate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedMismatch {
    /// The index of the predicate.
    pub predicate: usize,
    /// `labelSelector`, `claimSelector` or `celSelector`.
    pub part: &'static str,
    /// The requirement or the expression.
    pub requirement: String,
    /// The label or the claim that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its value on the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Why the expression has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A taint that is not tolerated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedTaint {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The effect.
    pub effect: String,
    /// When it was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Timestamp>,
    /// When the last toleration of it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerated_until: Option<Timestamp>,
}

// === impl ClusterResult ===

impl ClusterResult {
    /// Returns true for clusters that the decisions are to list.
    #[must_use]
    pub fn is_selected(self) -> bool {
        matches!(self, Self::Selected | Self::Kept)
    }

    /// The result in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::Kept => "kept",
            Self::RankedOut => "ranked out",
            Self::Unmatched => "no predicate matches",
            Self::Tainted => "tainted",
            Self::Undecided => "undecided",
            Self::Deleting => "being deleted",
            Self::NotInSets => "in no set",
        }
    }
}

// === impl ExplainedCluster ===

impl ExplainedCluster {
    pub(super) fn new(
        cluster: &Cluster,
        outcome: &ClusterOutcome<'_>,
        spec: &PlacementSpec,
        group: Option<ExplainedGroup>,
        decision: Option<String>,
    ) -> Self {
        let mut this = Self {
            name: cluster.name.clone(),
            result: ClusterResult::Undecided,
            reason: outcome.to_string(),
            decision,
            group,
            rank: None,
            score: None,
            scores: Vec::new(),
            mismatches: Vec::new(),
            taint: None,
        };
        match outcome {
            ClusterOutcome::Undecided { is_kept: true } => this.result = ClusterResult::Kept,
            ClusterOutcome::Undecided { is_kept: false } => {}
            ClusterOutcome::Ranked(standing) => this.ranked(standing),
            ClusterOutcome::Rejected(Rejection::Deleting) => this.result = ClusterResult::Deleting,
            ClusterOutcome::Rejected(Rejection::NotInSets { .. }) => {
                this.result = ClusterResult::NotInSets
            }
            ClusterOutcome::Rejected(Rejection::Unmatched(mismatches)) => {
                this.result = ClusterResult::Unmatched;
                this.mismatches = mismatches.iter().map(ExplainedMismatch::new).collect();
            }
            ClusterOutcome::Rejected(Rejection::Tainted { taint, tolerance }) => {
                this.result = ClusterResult::Tainted;
                this.taint = Some(ExplainedTaint::new(taint, *tolerance));
                // Writing to a string does not fail.
                let _ = write!(this.reason, " ({})", advice(taint, *tolerance, spec));
            }
        }
        this
    }

    fn ranked(&mut self, standing: &Standing<'_>) {
        self.result = if standing.is_selected {
            ClusterResult::Selected
        } else {
            ClusterResult::RankedOut
        };
        self.rank = Some(standing.rank);
        self.score = Some(standing.score);
        let parts = standing.parts.iter();
        self.scores = parts
            .map(|part| ExplainedScore {
                prioritizer: part.prioritizer.to_string(),
                weight: part.weight,
                score: part.score,
            })
            .collect();
        // The rank, the score and the cut have fields of their own.
        let parts: Vec<_> = standing.parts.iter().map(ToString::to_string).collect();
        self.reason = parts.join(" + ");
        let mut add = |words: &str| {
            if !self.reason.is_empty() {
                self.reason.push_str("; ");
            }
            self.reason.push_str(words);
        };
        if standing.is_avoided {
            add("behind clusters without a taint PreferNoSelect");
        }
        match standing.cut {
            _ if standing.is_selected => {}
            Some(_) if standing.is_spread => add("kept out by spread constraints"),
            Some(cut) => add(&format!(
                "rank {}, cut after {} with score {}",
                standing.rank, cut.cluster, cut.score
            )),
            None => add("no cluster is wanted"),
        }
    }

    /// The order of the explanation.
    pub(super) fn order(&self) -> (Reverse<bool>, ClusterResult, usize, &str) {
        let rank = self.rank.unwrap_or_default();
        let is_listed = self.decision.is_some();
        let is_rejected = self.result > ClusterResult::RankedOut;
        // Of the rejected clusters, those that lose their decision come first.
        (
            Reverse(!is_rejected || is_listed),
            self.result,
            rank,
            self.name.as_str(),
        )
    }
}

/// What the placement would need to select the cluster.
fn advice(taint: &Taint, tolerance: Tolerance, spec: &PlacementSpec) -> String {
    match tolerance {
        Tolerance::Ended(_) => {
            return "a toleration without tolerationSeconds does not end".to_owned();
        }
        Tolerance::Unknown => return "set timeAdded of the taint".to_owned(),
        Tolerance::None => {}
    }
    let mut tolerations = spec.tolerations.iter().enumerate();
    let near = tolerations.find(|(_, it)| it.key == taint.key);
    if let Some((index, toleration)) = near {
        return format!(
            "spec.tolerations[{index}] has the key, but {}",
            difference(toleration, taint)
        );
    }
    "no toleration has its key".to_owned()
}

fn difference(toleration: &Toleration, taint: &Taint) -> String {
    match &toleration.effect {
        Some(effect) if *effect != taint.effect && !effect.as_str().is_empty() => {
            return format!(
                "the effect {}, not {}",
                effect.as_str(),
                taint.effect.as_str()
            );
        }
        _ => {}
    }
    match &toleration.operator {
        TolerationOperator::Other(other) if !other.is_empty() => {
            format!("the unknown operator {other:?}")
        }
        _ => format!(
            "the value {:?}, not {:?}: the operator Exists tolerates any value",
            toleration.value, taint.value
        ),
    }
}

// === impl ExplainedMismatch ===

impl ExplainedMismatch {
    fn new(mismatch: &Mismatch) -> Self {
        Self {
            predicate: mismatch.predicate,
            part: match mismatch.part {
                Part::Labels => "labelSelector",
                Part::Claims => "claimSelector",
                Part::Cel => "celSelector",
            },
            requirement: mismatch.requirement.clone(),
            key: mismatch.key.clone(),
            found: mismatch.found.clone(),
            error: mismatch.error.clone(),
        }
    }
}

// === impl ExplainedTaint ===

impl ExplainedTaint {
    fn new(taint: &Taint, tolerance: Tolerance) -> Self {
        Self {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.as_str().to_owned(),
            time_added: taint.time_added.as_ref().map(|time| time.0),
            tolerated_until: match tolerance {
                Tolerance::Ended(until) => Some(until),
                Tolerance::None | Tolerance::Unknown => None,
            },
        }
    }
}
