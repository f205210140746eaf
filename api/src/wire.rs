//! Lenient deserialization, as in OCM's own clients, and short serialization.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize};

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

/// Returns whether the value is its type's default: an empty struct, which is not written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An object without a spec, with the `apiVersion` and `kind` of its type.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Typed<'a, S> {
    api_version: String,
    kind: String,
    metadata: &'a ObjectMeta,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a S>,
}

impl<'a, S> Typed<'a, S> {
    pub(crate) fn new<K: Resource<DynamicType = ()>>(
        metadata: &'a ObjectMeta,
        status: Option<&'a S>,
    ) -> Self {
        Self {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            metadata,
            status,
        }
    }
}
