//! What differs between a manifest and the object on the cluster, in a bounded form for users.

use std::fmt;

/// Differences that are kept; the others are counted.
const MAX_DIFFERENCES: usize = 10;
/// Bytes of a value that are kept.
const MAX_VALUE: usize = 64;
/// Bytes of a path that are kept.
const MAX_PATH: usize = 160;

/// The fields that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The first ones, in the order of the manifest.
    pub shown: Vec<Difference>,
    /// How many there are.
    pub count: usize,
}

/// A field that differs. Values of Secrets are not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field, such as `spec.replicas`; an item of a list by its key: `spec.containers[name="a"].image`.
    pub path: String,
    /// The value in the manifest as JSON, cut if it is long. Empty: the manifest does not have the field.
    pub ours: String,
    /// The value on the cluster as JSON, cut if it is long. Empty: the object does not have the field.
    pub theirs: String,
    /// The field manager that last wrote the field, if known.
    pub manager: Option<String>,
}

/// What a watched object needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// A request is due. False for drift that the strategy leaves alone (ReadOnly; the spec of a Pod).
    pub write: bool,
    /// What differs. Empty if only the owner reference is missing, or if the strategy does not compare (CreateOnly).
    pub differences: Differences,
}
