//! The session of a browser.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shown::Text;

/// `POST /api/session`: trades the one-time code for a cookie.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeRequest {
    /// The code of the address that the terminal prints.
    pub code: String,
}

/// `GET /api/session`: the user, as the hub knows the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAnswer {
    /// The user's name at the hub. Left out if the hub does not tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Text>,
    /// The user's groups.
    pub groups: Vec<Text>,
    /// The URL of the hub's API server.
    pub server: Text,
    /// The context of the kubeconfig, if a flag names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Text>,
    /// The console refuses every write.
    pub read_only: bool,
    /// The version of Berth.
    pub version: String,
}
