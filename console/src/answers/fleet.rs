//! The screen Fleet: whether anything is wrong, and what needs a person.

use schemars::JsonSchema;
use serde::Serialize;

use super::clusters::Counts;
use crate::shown::Text;

/// The event `answer` of `screen=fleet`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetAnswer {
    /// The number of clusters.
    pub total: usize,
    /// The clusters in each state.
    pub counts: Counts,
    /// The number of cordoned clusters.
    pub cordoned: usize,
    /// What needs a person, the worst first.
    pub needs: Vec<Need>,
    /// The number of further ones.
    pub more: usize,
    /// The clusters of each set; those without a set last, with an empty name.
    pub sets: Vec<FleetSet>,
    /// The number of further sets.
    pub more_sets: usize,
    /// How many clusters run each minor version of Kubernetes, the newest first.
    pub versions: Vec<Share>,
    /// How many clusters are in each region, by the claim `region.open-cluster-management.io`.
    pub regions: Vec<Share>,
    /// What cannot be seen, and why.
    pub notes: Vec<Text>,
}

/// Something that needs a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    /// How bad it is.
    pub severity: NeedSeverity,
    /// A sentence.
    pub text: Text,
    /// The page that says more: a path of this console.
    pub link: String,
    /// Since when.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<jiff::Timestamp>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NeedSeverity {
    /// Something does not work.
    Broken,
    /// Something waits for a person.
    Waits,
}

/// The clusters of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetSet {
    /// The set; empty for clusters without one.
    pub name: Text,
    /// The number of clusters.
    pub total: usize,
    /// The clusters in each state.
    pub counts: Counts,
}

/// A part of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// What they share, such as a version.
    pub name: Text,
    /// A query of the screen Clusters that finds them.
    pub query: Text,
    /// The number of clusters.
    pub clusters: usize,
}
