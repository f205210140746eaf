//! Lenient deserialization, as in OCM's own clients.

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default.
///
/// Go clients write `null` for an empty list or map, and read it as empty.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
