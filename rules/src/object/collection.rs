//! Lists and maps, read item by item, so that a reader can count, bound and check them while they are decoded.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::shape::unexpected;

/// Reads the items of a list.
pub trait Items<'de>: Sized {
    /// What is made of them; its default is made of `null`, as which Go writes an empty list.
    type Value: Default;

    /// Takes the items.
    ///
    /// # Errors
    /// One of them does not decode, or cannot be taken.
    fn read<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error>;
}

/// Reads the entries of a map.
pub trait Entries<'de>: Sized {
    /// What is made of them.
    type Value;

    /// What was expected, for errors about something else.
    const EXPECTED: &'static str;

    /// Takes the entries.
    ///
    /// # Errors
    /// One of them does not decode, or cannot be taken.
    fn read<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error>;
}

/// A list, and nothing else.
#[derive(Debug)]
pub struct Sequence<I>(pub I);

/// A map, and nothing else.
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
