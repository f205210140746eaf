//! The user of a request.

use std::collections::BTreeMap;

use serde::Serialize;

/// A user, as authenticated or impersonated, serialized as a `UserInfo`. Groups are complete: nothing is implied any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct User {
    /// The user name.
    #[serde(rename = "username", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The uid; empty for users that have none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Every group, `system:authenticated` included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Extras; keys in lower case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with a name and groups.
    pub fn new(name: impl Into<String>, groups: &[&str]) -> Self {
        Self {
            name: name.into(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..Self::default()
        }
    }
}
