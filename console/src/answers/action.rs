//! Actions: what a user may do with an object, and what an action did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failure::Missing;
use crate::shown::Text;

/// An action on a cluster or a rollout. Its name is the last segment of `POST /api/clusters/{name}/{act}`, and of
/// `POST /api/replicasets/{namespace}/{name}/{act}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Act {
    /// Accept the cluster and approve the CSRs of its agent.
    Accept,
    /// End the acceptance.
    Deny,
    /// The same, and revoke the agent's rights on ManifestWorks at once.
    DenyNow,
    /// Keep new placements away.
    Cordon,
    /// End that.
    Uncordon,
    /// Pause the rollouts of a replica set.
    Pause,
    /// End that.
    Resume,
    /// Approve the step of a rollout that waits.
    Approve,
}

/// The body of an action.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionRequest {
    /// The hub decides about the writes, and stores nothing.
    pub dry_run: bool,
    /// For `approve`: what its dry run has shown. Another step is not approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
}

/// What an action did, or would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionAnswer {
    /// Sentences: what was written, and what needed no change.
    pub done: Vec<Text>,
    /// What the user should know.
    pub warnings: Vec<Text>,
    /// Nothing was stored.
    pub dry_run: bool,
    /// The same as a command.
    pub command: Text,
    /// Of a dry run of `approve`: the step that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Text>,
}

/// An action that a screen offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The action.
    pub act: Act,
    /// The user may take it, as far as permissions go.
    pub allowed: bool,
    /// Why it cannot be taken: a state of the object, `--read-only`, or a permission that is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Text>,
    /// The permission that is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// The same as a command.
    pub command: Text,
}

/// `POST /api/clusters/{name}/label`: changes labels of the cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelRequest {
    /// Words such as `KEY=VALUE`, which sets a label, and `KEY-`, which removes it.
    pub labels: Vec<String>,
    /// The hub decides about the write, and stores nothing.
    pub dry_run: bool,
}
