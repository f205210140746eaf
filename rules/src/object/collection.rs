//! Decodes lists and maps item by item, so that a reader can count, limit and check the items on the way.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::shape::unexpected;

/// A reader of the items of a list.
pub trait Items<'de>: Sized {
    /// The result. Its default stands for `null`, which is how Go writes an empty list.
    type Value: Default;

    /// Reads the items.
    ///
    /// # Errors
    /// An item cannot be decoded, or the reader refuses it.
    fn read<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error>;
}

/// A reader of the entries of a map.
pub trait Entries<'de>: Sized {
    /// The result.
    type Value;

    /// The expectation, for the error about a value of another type.
    const EXPECTED: &'static str;

    /// Reads the entries.
    ///
    /// # Errors
    /// An entry cannot be decoded, or the reader refuses it.
    fn read<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error>;
}

/// Decodes a list and refuses other types.
#[derive(Debug)]
pub struct Sequence<I>(pub I);

/// Decodes a map and refuses other types.
#[derive(Debug)]
pub struct Map<E>(pub E);

// === impl Sequence ===

impl<'de, I: Items<'de>> DeserializeSeed<'de> for Sequence<I> {
    type Value = I::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, I: Items<'de>> Visitor<'de> for Sequence<I> {
    type Value = I::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Err(unexpected(text, &self))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(I::Value::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        self.0.read(items)
    }
}

// === impl Map ===

impl<'de, E: Entries<'de>> DeserializeSeed<'de> for Map<E> {
    type Value = E::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, E: Entries<'de>> Visitor<'de> for Map<E> {
    type Value = E::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(E::EXPECTED)
    }

    fn visit_str<R: Error>(self, text: &str) -> Result<Self::Value, R> {
        Err(unexpected(text, &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
        self.0.read(entries)
    }
}
