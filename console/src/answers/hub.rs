//! How the server stands with the hub: the event `hub` of a stream.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::failure::Missing;
use crate::shown::Text;

/// Whether what a screen shows is fresh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HubAnswer {
    /// The state.
    pub state: Connection,
    /// Since when.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// Why, if it is not connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
    /// What the user can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Text>,
    /// For `refused`: the permission that the user lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// A state of the connection to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Connection {
    /// The first list is under way.
    Loading,
    /// The screen follows the hub.
    Connected,
    /// The hub does not answer. The screen shows its last state.
    Away,
    /// The hub refuses the list: the user may not list the kind, or the API server is not a hub.
    Refused,
}
