//! Errors.

use schemars::JsonSchema;
use serde::Serialize;

use crate::shown::Text;

/// The body of every response that is not a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorAnswer {
    /// What went wrong.
    pub error: Failure,
}

/// What went wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// One or more sentences. Those of the hub or its gate are repeated word for word.
    pub message: Text,
    /// What the user can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Text>,
    /// The HTTP status code.
    pub code: u16,
    /// One word for programs, such as `Forbidden`, `NotSignedIn`, `BadQuery` or `HubAway`.
    pub reason: Text,
    /// For `BadQuery`: where in the query the error is, in UTF-16 code units from its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// For a refusal: the permission that the user lacks, as `berth can-i` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// A permission that the user lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    /// Such as `verb "update" on managedclusters/accept in API group ..., name "c1"`.
    pub permission: Text,
    /// A ClusterRole of an installation that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Text>,
    /// The command by which an admin grants it.
    pub command: Text,
}
