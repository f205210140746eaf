//! Lenient deserialization, as in OCM's own clients, and short serialization.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{Error, Visitor};
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

/// Reads a text.
pub(crate) struct TextVisitor<T>(pub(crate) fn(&str) -> T);

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok((self.0)(text))
    }
}

/// Reads and writes an enum as the text of its variant: the name, or the text that is given. Any other text is `Other`, unchanged.
///
/// serde's `untagged` would do the same, but its errors neither say what was found, nor are they where the value is.
macro_rules! text_of {
    ($type:ident: $($variant:ident $(= $text:literal)?),+) => {
        impl $type {
            /// The value as it is written.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => crate::wire::text_of!(@ $variant $($text)?),)+
                    Self::Other(text) => text,
                }
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(crate::wire::TextVisitor(|text| match text {
                    $(crate::wire::text_of!(@ $variant $($text)?) => Self::$variant,)+
                    _ => Self::Other(text.to_owned()),
                }))
            }
        }
    };
    (@ $variant:ident $text:literal) => { $text };
    (@ $variant:ident) => { stringify!($variant) };
}

pub(crate) use text_of;
