//! Taints of a ManagedCluster, decoded field by field.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess};

use super::Text;
use super::shape::{ByFields, Fields, once};

/// A taint of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint<'a> {
    /// The key.
    pub key: Text<'a>,
    /// The value.
    pub value: Text<'a>,
    /// The effect.
    pub effect: Text<'a>,
    /// The time at which the taint was added, in RFC 3339.
    pub time_added: Option<Text<'a>>,
    /// True if the object has an unknown field, or a known field with an empty value. To write the taint anew would lose
    /// that.
    pub says_more: bool,
}

/// The fields decoded so far.
#[derive(Default)]
struct Reading<'a> {
    key: Option<Option<Text<'a>>>,
    value: Option<Option<Text<'a>>>,
    effect: Option<Option<Text<'a>>>,
    time_added: Option<Option<Text<'a>>>,
    unknown: bool,
}

impl<'de> Fields<'de> for Reading<'de> {
    fn take<A: MapAccess<'de>>(&mut self, field: &str, map: &mut A) -> Result<bool, A::Error> {
        match field {
            "key" => once(&mut self.key, "key", map),
            "value" => once(&mut self.value, "value", map),
            "effect" => once(&mut self.effect, "effect", map),
            "timeAdded" => once(&mut self.time_added, "timeAdded", map),
            _ => {
                self.unknown = true;
                Ok(false)
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Taint<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut reading = Reading::default();
        ByFields(&mut reading).deserialize(deserializer)?;
        let is_empty = |field: &Option<Option<Text<'_>>>| matches!(field, Some(text) if text.as_ref().is_none_or(Text::is_empty));
        let Reading {
            key,
            value,
            effect,
            time_added,
            unknown,
        } = reading;
        let says_more = unknown || [&key, &value, &effect].into_iter().any(is_empty);
        Ok(Self {
            key: key.flatten().unwrap_or_default(),
            value: value.flatten().unwrap_or_default(),
            effect: effect.flatten().unwrap_or_default(),
            time_added: time_added.flatten(),
            says_more,
        })
    }
}
