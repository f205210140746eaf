//! Who sends a request.

use std::collections::BTreeMap;

/// A user, as authenticated or impersonated. Groups are complete: nothing is implied any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The user name.
    pub name: String,
    /// The uid; empty for users that have none.
    pub uid: String,
    /// Every group, `system:authenticated` included.
    pub groups: Vec<String>,
    /// Extras; keys in lower case.
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
