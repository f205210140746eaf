//! The values of CEL.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::functions::formats::Format;
use super::functions::quantities::Quantity;
use super::functions::urls::Url;
use super::functions::versions::Version;

/// A value. Copies share their content.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.5`
    Double(f64),
    /// `"a"`
    String(Arc<str>),
    /// `b"a"`
    Bytes(Arc<[u8]>),
    /// `[1, 2]`
    List(Arc<[Value]>),
    /// `{"a": 1}`
    Map(Arc<BTreeMap<Key, Value>>),
    /// `timestamp("2020-01-01T00:00:00Z")`
    Timestamp(Timestamp),
    /// `duration("1h")`
    Duration(SignedDuration),
    /// `int`
    Type(&'static str),
    /// `optional.of(1)`
    Optional(Option<Arc<Value>>),
    /// `quantity("500m")`
    Quantity(Quantity),
    /// `ip("10.0.0.1")`
    Ip(IpAddr),
    /// `cidr("10.0.0.0/8")`
    Cidr(IpAddr, u8),
    /// `url("https://a")`
    Url(Arc<Url>),
    /// `semver("1.2.3")`
    Version(Arc<Version>),
    /// `format.dns1123Label().value()`
    Format(Format),
}

/// A key of a map. Integers of both types are one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `true`
    Bool(bool),
    /// `1`
    Int(i64),
    /// Above the largest signed integer.
    Uint(u64),
    /// `"a"`
    String(Arc<str>),
}

/// The counts of owners of a shared value, and what the allocator adds.
const COUNTS: usize = 32;

/// The places of a node of a map. One that was made at once has full nodes, except for the last.
const NODE: usize = 11;

// === impl Value ===

impl Value {
    /// The name of the value's type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Version(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// A list.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(items.into_iter().collect())
    }

    /// A map whose keys are texts.
    pub fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        let entries = entries.into_iter();
        Self::Map(Arc::new(
            entries
                .map(|(key, value)| (Key::from(key), value))
                .collect(),
        ))
    }

    /// The value of a key of a map, if it is a map with that key.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.get(&Key::from(name)),
            _ => None,
        }
    }

    pub(super) fn optional(value: Option<Self>) -> Self {
        Self::Optional(value.map(Arc::new))
    }

    /// Roughly the bytes that the value takes in memory, with what it shares with copies.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.heap()
    }

    fn heap(&self) -> usize {
        match self {
            Self::String(text) => COUNTS + text.len(),
            Self::Bytes(bytes) => COUNTS + bytes.len(),
            Self::List(items) => COUNTS + items.iter().map(Self::bytes).sum::<usize>(),
            Self::Map(entries) => {
                let place = size_of::<Key>() + size_of::<Self>();
                let places = entries.len().next_multiple_of(NODE) * place;
                let heap = |(key, value): (&Key, &Self)| key.heap() + value.heap();
                COUNTS + places + entries.iter().map(heap).sum::<usize>()
            }
            Self::Optional(Some(value)) => COUNTS + value.bytes(),
            // Their parts are small, and no object out of JSON has any.
            _ => 0,
        }
    }

    /// Roughly how much work it is to go through the value once.
    pub(super) fn size(&self) -> u64 {
        let size = match self {
            Self::String(text) => text.len() / 16,
            Self::Bytes(bytes) => bytes.len() / 16,
            Self::List(items) => items.len(),
            Self::Map(entries) => entries.len(),
            Self::Url(url) => url.text.len() / 16,
            Self::Version(version) => version.length / 16,
            _ => 0,
        };
        1 + size as u64
    }

    /// How much work it is to go through the value with all its parts, up to `most`. Values share parts, so that a small one may have any
    /// number of them.
    pub(super) fn whole_size(&self, most: u64) -> u64 {
        let mut size = self.size();
        let parts: &mut dyn Iterator<Item = (u64, &Self)> = match self {
            Self::List(items) => &mut items.iter().map(|it| (0, it)),
            Self::Map(entries) => &mut entries.iter().map(|(key, it)| (key.size(), it)),
            Self::Optional(Some(value)) => &mut std::iter::once((0, &**value)),
            _ => return size,
        };
        for (key, part) in parts {
            if size > most {
                break;
            }
            size = size.saturating_add(key + part.whole_size(most - size));
        }
        size
    }

    /// Returns whether the value is empty or zero.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(value) => value.is_empty(),
            Self::Bytes(value) => value.is_empty(),
            Self::List(value) => value.is_empty(),
            Self::Map(value) => value.is_empty(),
            Self::Duration(value) => value.is_zero(),
            Self::Optional(value) => value.is_none(),
            _ => false,
        }
    }

    /// Equality. Numbers are compared by value whatever their types; values of other types are different.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        self.equals_within(other, &mut { u64::MAX })
            .unwrap_or_default()
    }

    /// As [`Self::equals`]. Each part that is compared costs steps: values share parts, so that a small one may have any number of them. `None`
    /// if there are too few.
    pub(super) fn equals_within(&self, other: &Self, steps: &mut u64) -> Option<bool> {
        let text = |length: usize, steps: &mut u64| {
            *steps = steps.checked_sub(length as u64 / 16)?;
            Some(())
        };
        *steps = steps.checked_sub(1)?;
        Some(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::String(one), Self::String(other)) => {
                text(one.len().min(other.len()), steps)?;
                one == other
            }
            (Self::Bytes(one), Self::Bytes(other)) => {
                text(one.len().min(other.len()), steps)?;
                one == other
            }
            (Self::List(one), Self::List(other)) => {
                if one.len() != other.len() {
                    return Some(false);
                }
                for (one, other) in one.iter().zip(other.iter()) {
                    if !one.equals_within(other, steps)? {
                        return Some(false);
                    }
                }
                true
            }
            (Self::Map(one), Self::Map(other)) => {
                if one.len() != other.len() {
                    return Some(false);
                }
                for (key, value) in one.iter() {
                    *steps = steps.checked_sub(key.size())?;
                    let Some(other) = other.get(key) else {
                        return Some(false);
                    };
                    if !value.equals_within(other, steps)? {
                        return Some(false);
                    }
                }
                true
            }
            (Self::Type(one), Self::Type(other)) => one == other,
            (Self::Optional(one), Self::Optional(other)) => match (one, other) {
                (Some(one), Some(other)) => one.equals_within(other, steps)?,
                (one, other) => one.is_none() && other.is_none(),
            },
            (Self::Ip(one), Self::Ip(other)) => one == other,
            (Self::Cidr(one, length), Self::Cidr(other, other_length)) => {
                (one, length) == (other, other_length)
            }
            (Self::Url(one), Self::Url(other)) => {
                text(one.text.len().min(other.text.len()), steps)?;
                one == other
            }
            (Self::Format(one), Self::Format(other)) => one == other,
            (Self::Quantity(one), Self::Quantity(other)) => one == other,
            (Self::Version(one), Self::Version(other)) => {
                text(one.length.min(other.length), steps)?;
                one.compare(other).is_eq()
            }
            _ => self.compare(other) == Some(Ordering::Equal),
        })
    }

    /// The order of two values; `None` if their types have none.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => Some(one.cmp(other)),
            (Self::String(one), Self::String(other)) => Some(one.cmp(other)),
            (Self::Bytes(one), Self::Bytes(other)) => Some(one.cmp(other)),
            (Self::Timestamp(one), Self::Timestamp(other)) => Some(one.cmp(other)),
            (Self::Duration(one), Self::Duration(other)) => Some(one.cmp(other)),
            (Self::Int(one), Self::Int(other)) => Some(one.cmp(other)),
            (Self::Uint(one), Self::Uint(other)) => Some(one.cmp(other)),
            (Self::Int(one), Self::Uint(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
            (Self::Uint(one), Self::Int(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
            (Self::Double(one), Self::Double(other)) => one.partial_cmp(other),
            (Self::Double(one), Self::Int(other)) => one.partial_cmp(&(*other as f64)),
            (Self::Int(one), Self::Double(other)) => (*one as f64).partial_cmp(other),
            (Self::Double(one), Self::Uint(other)) => one.partial_cmp(&(*other as f64)),
            (Self::Uint(one), Self::Double(other)) => (*one as f64).partial_cmp(other),
            _ => None,
        }
    }

    /// The value as a key of a map.
    pub(super) fn key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(value) => Key::Bool(*value),
            Self::Int(value) => Key::Int(*value),
            Self::Uint(value) => i64::try_from(*value).map_or(Key::Uint(*value), Key::Int),
            Self::Double(value) if value.fract() == 0.0 && value.abs() < 9e18 => {
                Key::Int(*value as i64)
            }
            Self::String(value) => Key::String(value.clone()),
            _ => return None,
        })
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => Self::Int(value),
                (None, value) => Self::Double(value.unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(value) => Self::from(value.as_str()),
            serde_json::Value::Array(items) => Self::list(items.iter().map(Self::from)),
            serde_json::Value::Object(fields) => {
                let entries = fields.iter();
                let entries =
                    entries.map(|(key, value)| (Key::from(key.as_str()), Self::from(value)));
                Self::Map(Arc::new(entries.collect()))
            }
        }
    }
}

// === impl Key ===

impl Key {
    /// How much work it is to compare the key.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::String(text) => 1 + text.len() as u64 / 16,
            Self::Bool(_) | Self::Int(_) | Self::Uint(_) => 1,
        }
    }

    fn heap(&self) -> usize {
        match self {
            Self::String(text) => COUNTS + text.len(),
            Self::Bool(_) | Self::Int(_) | Self::Uint(_) => 0,
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<&Key> for Value {
    fn from(key: &Key) -> Self {
        match key {
            Key::Bool(value) => Self::Bool(*value),
            Key::Int(value) => Self::Int(*value),
            Key::Uint(value) => Self::Uint(*value),
            Key::String(value) => Self::String(value.clone()),
        }
    }
}
