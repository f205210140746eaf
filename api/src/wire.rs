//! How the types are read from JSON: as leniently as OCM's own clients read.

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default.
///
/// Go clients write `null` for a list or map that they leave out, and read it as empty.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
