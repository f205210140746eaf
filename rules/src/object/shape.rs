//! Decodes objects only from JSON objects. serde also decodes a struct from a list of its values, which Kubernetes refuses,
//! and which a patch could not change.
//!
//! Decoders quote text in a wrong place. Here, the quote is cut: it could be as large as the request, and six times as
//! large with escapes.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, Expected, IgnoredAny, MapAccess, Unexpected,
    Visitor,
};

use super::Text;
use crate::display::cut_bytes;

/// The maximum number of bytes in a quote.
const QUOTED: usize = 256;

/// A value that is decoded from an object, and from no other type.
#[derive(Clone, Copy, Debug)]
pub struct FromObject<T>(pub T);

/// Decodes an object; `null` counts as absent.
pub(super) fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let object = Option::<FromObject<T>>::deserialize(deserializer)?;
    Ok(object.map(|FromObject(object)| object).unwrap_or_default())
}

/// Decodes an object that must be present.
///
/// # Errors
/// The value has another type, or cannot be decoded.
pub fn required<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    FromObject::deserialize(deserializer).map(|FromObject(object)| object)
}

/// Decodes a boolean; `null` counts as absent.
///
/// # Errors
/// The value has another type.
pub fn boolean<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    struct BooleanVisitor;

    impl Visitor<'_> for BooleanVisitor {
        type Value = Option<bool>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a boolean")
        }

        fn visit_bool<E: Error>(self, value: bool) -> Result<Option<bool>, E> {
            Ok(Some(value))
        }

        fn visit_unit<E: Error>(self) -> Result<Option<bool>, E> {
            Ok(None)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Option<bool>, E> {
            Err(unexpected(text, &self))
        }
    }

    deserializer.deserialize_any(BooleanVisitor)
}

/// Decodes an integer; `null` counts as absent.
pub(super) fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    struct IntegerVisitor;

    impl Visitor<'_> for IntegerVisitor {
        type Value = Option<i64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("i64")
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<Option<i64>, E> {
            Ok(Some(value))
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<Option<i64>, E> {
            let value = i64::try_from(value);
            value
                .map(Some)
                .map_err(|_| E::custom("the number is too large, expected i64"))
        }

        fn visit_unit<E: Error>(self) -> Result<Option<i64>, E> {
            Ok(None)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Option<i64>, E> {
            Err(unexpected(text, &self))
        }
    }

    deserializer.deserialize_any(IntegerVisitor)
}

/// Returns the error about a string in place of another type.
pub(super) fn unexpected<E: Error>(text: &str, expected: &dyn Expected) -> E {
    E::invalid_type(Unexpected::Str(cut_bytes(text, QUOTED)), expected)
}

/// Reads the fields of an object one by one.
pub(super) trait Fields<'de> {
    /// Reads the value of a known field, or returns false: then the caller skips the value.
    fn take<A: MapAccess<'de>>(&mut self, field: &str, map: &mut A) -> Result<bool, A::Error>;
}

/// Decodes an object field by field, and refuses other types.
pub(super) struct ByFields<'f, F>(pub(super) &'f mut F);

impl<'de, F: Fields<'de>> DeserializeSeed<'de> for ByFields<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: Fields<'de>> Visitor<'de> for ByFields<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        Err(unexpected(text, &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key::<Text<'de>>()? {
            if !self.0.take(field.as_str(), &mut map)? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Decodes a field, and refuses a duplicate. `null` becomes `Some(None)`.
pub(super) fn once<'de, A, T>(
    seen: &mut Option<Option<T>>,
    field: &'static str,
    map: &mut A,
) -> Result<bool, A::Error>
where
    A: MapAccess<'de>,
    T: Deserialize<'de>,
{
    if seen.is_some() {
        return Err(A::Error::duplicate_field(field));
    }
    *seen = Some(map.next_value()?);
    Ok(true)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FromObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
                Err(unexpected(text, &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer
            .deserialize_any(ObjectVisitor(PhantomData))
            .map(Self)
    }
}
#[cfg(test)]
mod tests {
    use crate::object::{Binding, Cluster};

    #[test]
    fn nothing_but_an_object_is_read_as_one() {
        for (sentence, cluster, words) in [
            (
                "an object",
                r#"{"metadata":{},"spec":{"taints":[{"key":"k"}]}}"#,
                "",
            ),
            ("no spec", r#"{"metadata":{}}"#, ""),
            ("null for a spec", r#"{"metadata":{},"spec":null}"#, ""),
            (
                "null for taints",
                r#"{"metadata":{},"spec":{"taints":null}}"#,
                "",
            ),
            (
                "a list for metadata",
                r#"{"metadata":["c1"]}"#,
                "invalid type: sequence, expected an object",
            ),
            ("no metadata", "{}", ""),
            ("null for metadata", r#"{"metadata":null}"#, ""),
            (
                "a list for the spec",
                r#"{"metadata":{},"spec":[true]}"#,
                "invalid type: sequence, expected an object",
            ),
            (
                "a list for a taint",
                r#"{"metadata":{},"spec":{"taints":[["k","v"]]}}"#,
                "invalid type: sequence, expected an object",
            ),
            (
                "null for a taint",
                r#"{"metadata":{},"spec":{"taints":[null]}}"#,
                "invalid type: null, expected an object",
            ),
            (
                "a list for a client config",
                r#"{"metadata":{},"spec":{"managedClusterClientConfigs":[["https://a"]]}}"#,
                "invalid type: sequence, expected an object",
            ),
            (
                "a key twice",
                r#"{"metadata":{},"spec":{"hubAcceptsClient":true,"hubAcceptsClient":false}}"#,
                "duplicate field `hubAcceptsClient`",
            ),
        ] {
            let error = serde_json::from_str::<Cluster<'_>>(cluster).err();
            let error = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(
                error.starts_with(words) && error.is_empty() == words.is_empty(),
                "{sentence}: {error}"
            );
        }
        let binding = serde_json::from_str::<Binding<'_>>(r#"{"metadata":{},"spec":["prod"]}"#);
        assert!(binding.is_err(), "a list for a binding's spec: {binding:?}");
    }
}
