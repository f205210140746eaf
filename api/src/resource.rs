//! A kind of object, in the form of request paths.

/// A kind of object, by the name of its resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    /// Empty for the core group.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// The plural name.
    pub resource: String,
}

// === impl GroupVersionResource ===

impl GroupVersionResource {
    /// The resource of a group (empty: the core group) in a version.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
        }
    }
}
