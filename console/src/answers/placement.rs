//! The screens Placements and Placement: which clusters a placement selects, why, and what a changed one would select.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::ConditionAnswer;
use super::failure::Missing;
use crate::shown::Text;

/// The event `answer` of `screen=placements`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementsAnswer {
    /// Those that match, by namespace and name; those that need a look first.
    pub rows: Vec<PlacementRow>,
    /// The number of those that match.
    pub matched: usize,
    /// The number of all.
    pub total: usize,
}

/// A placement of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementRow {
    /// metadata.namespace
    pub namespace: Text,
    /// metadata.name
    pub name: Text,
    /// The state.
    pub state: PlacementState,
    /// Why it is in this state. Empty for placements that are satisfied.
    pub why: Text,
    /// Since when.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The number of selected clusters, as the controller wrote it.
    pub selected: i32,
    /// `spec.numberOfClusters`; left out if all are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<i32>,
    /// `spec.clusterSets`; empty if all that are bound to the namespace count.
    pub sets: Vec<Text>,
}

/// The state of a placement, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PlacementState {
    /// It cannot be evaluated.
    Misconfigured,
    /// It selects fewer clusters than it wants.
    Unsatisfied,
    /// No controller has looked at it yet.
    New,
    /// It selects what it wants.
    Satisfied,
}

/// The event `answer` of `screen=placement`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementAnswer {
    /// metadata.namespace
    pub namespace: Text,
    /// metadata.name
    pub name: Text,
    /// The placement as it is now would select this.
    pub selection: Selection,
    /// How what is stored differs from that, in sentences.
    pub differs: Vec<Text>,
    /// The clusters that match, the selected ones first.
    pub clusters: Vec<PlacedCluster>,
    /// The number of clusters that match.
    pub matched: usize,
    /// Each result, and its number of clusters.
    pub results: Vec<ResultCount>,
    /// Its YAML, to be changed.
    pub yaml: String,
    /// When this was decided.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The user may replace it.
    pub may_replace: bool,
    /// What the user lacks for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// What a placement selects: how many clusters each step leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// The steps, each with the number of clusters that it leaves.
    pub steps: Vec<FunnelStep>,
    /// The conditions, as they are computed.
    pub conditions: Vec<ConditionAnswer>,
    /// What keeps it from being evaluated, and what the gate refuses.
    pub faults: Vec<Text>,
    /// What does not keep it from being evaluated.
    pub warnings: Vec<Text>,
    /// The sets that it selects from.
    pub sets: Vec<Text>,
    /// What is to be said about the sets: bound and not named, named and not bound, bound and missing.
    pub set_notes: Vec<Text>,
    /// The groups of the selected clusters, if it makes several.
    pub groups: Vec<GroupCount>,
    /// When the result can change by time alone.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// A command that helps if it can select from no set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Text>,
    /// What is missing because of the user's rights.
    pub notes: Vec<Text>,
}

/// A step of the selection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunnelStep {
    /// What the clusters of this step have, such as "in its sets".
    pub title: Text,
    /// The number of clusters that are left.
    pub clusters: usize,
    /// Why the others are not, such as "3 have a taint that it does not tolerate".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<Text>,
}

/// A group of selected clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "names of the API")]
pub struct GroupCount {
    pub index: usize,
    pub name: Text,
    pub clusters: usize,
}

/// A result, and its number of clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultCount {
    /// The name, for the key `result` of the stream.
    pub result: String,
    /// In words.
    pub words: Text,
    /// The number of clusters.
    pub clusters: usize,
}

/// What becomes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacedCluster {
    /// The cluster.
    pub name: Text,
    /// It is selected, or kept.
    pub selected: bool,
    /// The result in words.
    pub result: Text,
    /// Why.
    pub reason: Text,
    /// Its place, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// The sum of the weighted scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The PlacementDecision that lists it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Text>,
}

/// `POST /api/placements/{namespace}/{name}/what-if` and `/replace`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacementRequest {
    /// The whole Placement.
    pub yaml: String,
    /// Only ask the hub what would happen. What-if never changes anything.
    #[serde(default)]
    pub dry_run: bool,
}

/// The answer of what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfAnswer {
    /// The mistakes of the YAML, each with its field. With mistakes the rest is left out.
    pub mistakes: Vec<Text>,
    /// What the changed placement would select.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Clusters that are not listed now.
    pub added: Vec<ChangedCluster>,
    /// The number of further ones.
    pub more_added: usize,
    /// Clusters that are listed now, and would not be any more.
    pub removed: Vec<ChangedCluster>,
    /// The number of further ones.
    pub more_removed: usize,
    /// The number of clusters that are listed now and stay.
    pub stay: usize,
}

/// A cluster that the decisions gain or lose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedCluster {
    /// The cluster.
    pub name: Text,
    /// Why.
    pub reason: Text,
}
