//! The text of parts that rules do not read, counted while it is skipped.

use std::fmt;

use berth_api::labels;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::collection::{Entries, Map};
use super::{Annotations, Text};

/// The number of bytes of the strings in a list, or in the objects of a list. Other values count nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight(pub usize);

/// The text of a string; nothing of any other value.
struct OfText(usize);

/// Decodes the finalizers, without the hub's own.
pub(super) fn finalizers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Weight, D::Error> {
    let is_of_hub =
        |text: &str| [labels::API_RESOURCE_CLEANUP, labels::RESOURCE_CLEANUP].contains(&text);
    deserializer.deserialize_any(Strings(is_of_hub))
}

/// Decodes a list of strings.
struct Strings<F>(F);

// === impl Weight ===

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfList;

        impl<'de> Visitor<'de> for OfList {
            type Value = Weight;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of objects")
            }

            fn visit_unit<E: Error>(self) -> Result<Weight, E> {
                Ok(Weight::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Weight, A::Error> {
                let mut sum = 0;
                while let Some(OfFields(bytes)) = items.next_element()? {
                    sum += bytes;
                }
                Ok(Weight(sum))
            }
        }

        deserializer.deserialize_any(OfList)
    }
}

/// The text of the values of an object.
struct OfFields(usize);

impl<'de> Deserialize<'de> for OfFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map(Self(0)).deserialize(deserializer)
    }
}

impl<'de> Entries<'de> for OfFields {
    type Value = Self;

    const EXPECTED: &'static str = "an object";

    fn read<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            let OfText(bytes) = map.next_value()?;
            self.0 += bytes;
        }
        Ok(self)
    }
}

// === impl OfText ===

impl<'de> Deserialize<'de> for OfText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfAny;

        impl<'de> Visitor<'de> for OfAny {
            type Value = OfText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OfText, E> {
                Ok(OfText(text.len()))
            }

            fn visit_unit<E: Error>(self) -> Result<OfText, E> {
                Ok(OfText(0))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<OfText, E> {
                Ok(OfText(0))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<OfText, E> {
                Ok(OfText(0))
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<OfText, E> {
                Ok(OfText(0))
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<OfText, E> {
                Ok(OfText(0))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OfText, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(OfText(0))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OfText, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(OfText(0))
            }
        }

        deserializer.deserialize_any(OfAny)
    }
}

// === impl Strings ===

impl<'de, F: Fn(&str) -> bool> Visitor<'de> for Strings<F> {
    type Value = Weight;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_unit<E: Error>(self) -> Result<Weight, E> {
        Ok(Weight::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Weight, A::Error> {
        let mut sum = 0;
        while let Some(item) = items.next_element::<Text<'de>>()? {
            if !self.0(item.as_str()) {
                sum += item.as_str().len();
            }
        }
        Ok(Weight(sum))
    }
}

// === impl Annotations ===

impl<'de: 'a, 'a> Deserialize<'de> for Annotations<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map(ReadAnnotations).deserialize(deserializer)
    }
}

/// Decodes the annotations that rules read, and counts the text of all.
struct ReadAnnotations;

impl<'de> Entries<'de> for ReadAnnotations {
    type Value = Annotations<'de>;

    const EXPECTED: &'static str = "an object";

    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut annotations = Annotations::default();
        let mut deny_now = None;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if key.as_str() != labels::DENY_NOW {
                let OfText(bytes) = map.next_value()?;
                annotations.bytes += key.as_str().len() + bytes;
                continue;
            }
            if deny_now.is_some() {
                return Err(A::Error::duplicate_field(labels::DENY_NOW));
            }
            let value: Option<Text<'de>> = map.next_value()?;
            let bytes = value.as_ref().map_or(0, |it| it.as_str().len());
            annotations.bytes += key.as_str().len() + bytes;
            deny_now = Some(value);
        }
        annotations.deny_now = deny_now.flatten();
        Ok(annotations)
    }
}
