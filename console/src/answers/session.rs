//! The session of a browser.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shown::Text;

/// A way to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The one-time code of the address that the terminal prints.
    Code,
    /// A pasted token of the hub.
    Token,
    /// An OpenID provider.
    Oidc,
    /// An authenticating proxy before the console.
    Proxy,
}

/// `GET /api/sign-in`: how users sign in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInAnswer {
    /// The ways, the best first.
    pub ways: Vec<Way>,
    /// The OpenID provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<Text>,
}

/// `POST /api/session`: trades a code or a token for a cookie. One of them is given.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignInRequest {
    /// The code of the address that the terminal prints.
    pub code: Option<String>,
    /// A token of the hub.
    pub token: Option<String>,
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
    /// How the user has signed in.
    pub way: Way,
    /// When the user's token ends, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
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
