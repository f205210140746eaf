//! What is an object is an object: decoders of structs take a list of the fields' values as well, which Kubernetes does not,
//! and which no patch could be written for.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// What is decoded from an object, and from nothing else.
#[derive(Clone, Copy, Debug)]
pub struct FromObject<T>(pub T);

/// An object; `null` is as good as absent.
pub(super) fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let object = Option::<FromObject<T>>::deserialize(deserializer)?;
    Ok(object.map(|FromObject(object)| object).unwrap_or_default())
}

/// An object that is there.
///
/// # Errors
/// It is something else, or does not decode.
pub fn required<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    FromObject::deserialize(deserializer).map(|FromObject(object)| object)
}

/// A list of objects; `null` is as good as absent.
pub(super) fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let objects = Option::<Vec<FromObject<T>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(objects
        .into_iter()
        .map(|FromObject(object)| object)
        .collect())
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FromObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer
            .deserialize_map(ObjectVisitor(PhantomData))
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
