//! The screen Sets: which clusters each set has, and which namespaces may place on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clusters::Counts;
use crate::shown::Text;

/// The event `answer` of `screen=sets`, and `GET /api/sets`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetsAnswer {
    /// The sets, by name.
    pub sets: Vec<SetRow>,
    /// The number of further ones.
    pub more: usize,
    /// The number of clusters whose label names no set.
    pub in_no_set: usize,
    /// What cannot be seen, and why.
    pub notes: Vec<Text>,
    /// The console refuses every write.
    pub read_only: bool,
}

/// A set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetRow {
    /// metadata.name
    pub name: Text,
    /// How it selects its clusters, in words that follow its name.
    pub selects: Text,
    /// Clusters can be moved into it: it selects them by the label that names a set.
    pub by_name: bool,
    /// The clusters in each state, if it selects them by name.
    pub counts: Counts,
    /// The number of those.
    pub clusters: usize,
    /// What its controller says about its clusters.
    pub reported: Text,
    /// It is being deleted.
    pub deleting: bool,
    /// The namespaces that it is bound to.
    pub bound: Vec<BoundTo>,
    /// The number of further ones.
    pub more_bound: usize,
}

/// A namespace that a set is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoundTo {
    /// The namespace.
    pub namespace: Text,
    /// Why the binding has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Text>,
}

/// `POST /api/clusters/{name}/set`: moves the cluster into the set.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoveRequest {
    /// The set.
    pub set: String,
    /// The hub decides about the write, and stores nothing.
    pub dry_run: bool,
}
