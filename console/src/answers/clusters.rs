//! The screen Clusters: a table of which a page shows a window.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::shown::Text;

/// The state of a cluster. The first that applies, in the order of the handshake's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Nobody has decided about the cluster.
    Pending,
    /// An admin denied it.
    Denied,
    /// It is accepted, and its agent has not joined yet.
    Accepted,
    /// Its agent has joined, and has reported nothing yet.
    Joined,
    /// Its agent reports, and its API server is healthy.
    Available,
    /// Its agent reports that its API server is not healthy.
    Unavailable,
    /// The hub does not hear of its agent.
    Unknown,
    /// It is being deleted.
    Deleting,
}

/// A row of the table. Its key is the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRow {
    /// metadata.name
    pub name: Text,
    /// The state.
    pub state: State,
    /// Since when, from the condition that says so.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Why it is in this state: the message of the condition. Empty for clusters that are available.
    pub why: Text,
    /// The ManagedClusterSet of its label; empty without one.
    pub set: Text,
    /// The version of Kubernetes.
    pub version: Text,
    /// Capacity, as the agent reports it.
    pub cpu: Text,
    /// Capacity, as the agent reports it.
    pub memory: Text,
    /// `berth cordon` or `berth drain` keeps placements away.
    pub cordoned: bool,
    /// Number of taints.
    pub taints: usize,
    /// When it was created.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
}

/// The number of clusters in each state, of those that the query matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the states have documentation")]
pub struct Counts {
    pub pending: usize,
    pub denied: usize,
    pub accepted: usize,
    pub joined: usize,
    pub available: usize,
    pub unavailable: usize,
    pub unknown: usize,
    pub deleting: usize,
}

/// The event `window`: the rows from `from` on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// Number of all clusters.
    pub total: usize,
    /// Number of clusters that the query matches.
    pub matched: usize,
    /// The states of those.
    pub counts: Counts,
    /// The place of the first row among those that match.
    pub from: usize,
    /// The rows, in order.
    pub rows: Vec<ClusterRow>,
}

/// The event `delta`: what has changed since the last `window` or `delta`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delta {
    /// As in [`Window`].
    pub total: usize,
    /// As in [`Window`].
    pub matched: usize,
    /// As in [`Window`].
    pub counts: Counts,
    /// As in [`Window`].
    pub from: usize,
    /// The names of the rows of the window now, in order.
    pub order: Vec<Text>,
    /// The rows of these that are new or have changed.
    pub rows: Vec<ClusterRow>,
}
