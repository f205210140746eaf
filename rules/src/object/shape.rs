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
///
/// # Errors
/// It is something else, or does not decode.
pub fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let object = Option::<FromObject<T>>::deserialize(deserializer)?;
    Ok(object.map(|FromObject(object)| object).unwrap_or_default())
}

/// An object that is there.
pub(super) fn required<'de, D, T>(deserializer: D) -> Result<T, D::Error>
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
