//! Reads Kubernetes' protobuf encoding of objects.
//!
//! kubectl and other clients in Go send built-in kinds in this encoding, and do not retry in another one. They accept JSON
//! responses, so that devhub never writes protobuf. An object is read into its JSON form.

mod wire;

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Number, Value};

use crate::object::time;
use wire::{Field, Malformed, Reader};

/// What every encoded object begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Messages are this deep in one another at most.
const DEPTH_MAX: usize = 64;

/// Why bytes are no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecodeError {
    /// Something else altogether.
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    Magic,
    /// Broken.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Of a kind whose messages are not known here.
    #[error("no kind {kind:?} is registered for version {api_version:?} in protobuf")]
    UnknownKind {
        /// Its `apiVersion`.
        api_version: String,
        /// Its `kind`.
        kind: String,
    },
}

/// Reads an object.
///
/// # Errors
/// [`DecodeError`]
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    let envelope = bytes.strip_prefix(MAGIC).ok_or(DecodeError::Magic)?;
    let (mut type_meta, mut raw): (&[u8], &[u8]) = (&[], &[]);
    for field in Reader::new(envelope) {
        match field? {
            (1, Field::Bytes(bytes)) => type_meta = bytes,
            (2, Field::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    for field in Reader::new(type_meta) {
        match field? {
            (1, Field::Bytes(bytes)) => api_version = text(bytes),
            (2, Field::Bytes(bytes)) => kind = text(bytes),
            _ => {}
        }
    }
    let Some(message) = message_of(&api_version, &kind) else {
        return Err(DecodeError::UnknownKind { api_version, kind });
    };
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    message.read(raw, &mut object, 0)?;
    Ok(object.into())
}

fn message_of(api_version: &str, kind: &str) -> Option<&'static Message> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let package = match group.split('.').next() {
        _ if kind == "DeleteOptions" => "meta",
        None | Some("") => "core",
        Some(package) => package,
    };
    let known = version == "v1" || package == "meta";
    MESSAGES
        .get(format!("{package}.{kind}").as_str())
        .filter(|_| known)
}

static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
    let lines = include_str!("protobuf/messages.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (name, fields) = line.split_once(' ').unwrap_or((line, ""));
            Some((name, Message::parse(fields)?))
        })
        .collect()
});

/// A message: its fields by their numbers.
struct Message(HashMap<u32, Slot>);

/// A field of a message.
struct Slot {
    /// Its name in JSON; empty for a message whose fields are the object's own.
    name: &'static str,
    /// True if it counts even if it is zero.
    counts_as_zero: bool,
    shape: Shape,
    sort: Sort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    One,
    List,
    Map,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Text,
    Bytes,
    Boolean,
    Integer,
    Double,
    Message(&'static str),
}

impl Message {
    fn parse(fields: &'static str) -> Option<Self> {
        let slots = fields.split_whitespace().map(|field| {
            let (number, rest) = field.split_once(':')?;
            Some((number.parse().ok()?, Slot::parse(rest)?))
        });
        slots.collect::<Option<_>>().map(Self)
    }

    /// Reads an encoded message into fields of an object.
    fn read(
        &self,
        bytes: &[u8],
        into: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed::TooDeep);
        }
        for field in Reader::new(bytes) {
            let (number, field) = field?;
            // Newer clients have fields that are not known here.
            if let Some(slot) = self.0.get(&number) {
                slot.read(field, into, depth + 1)?;
            }
        }
        Ok(())
    }
}

impl Slot {
    fn parse(text: &'static str) -> Option<Self> {
        if let Some(message) = text.strip_prefix('&') {
            return Some(Self {
                name: "",
                counts_as_zero: false,
                shape: Shape::One,
                sort: Sort::Message(message),
            });
        }
        let (name, sort) = text.split_once(':')?;
        let (shape, sort) = match (sort.strip_prefix("[]"), sort.strip_prefix("{}")) {
            (Some(item), _) => (Shape::List, item),
            (_, Some(value)) => (Shape::Map, value),
            _ => (Shape::One, sort),
        };
        Some(Self {
            name: name.trim_start_matches('!'),
            counts_as_zero: name.starts_with('!'),
            shape,
            sort: match sort {
                "s" => Sort::Text,
                "y" => Sort::Bytes,
                "b" => Sort::Boolean,
                "i" => Sort::Integer,
                "d" => Sort::Double,
                message => Sort::Message(message.strip_prefix('@')?),
            },
        })
    }

    fn read(
        &self,
        field: Field<'_>,
        into: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Malformed> {
        if self.name.is_empty() {
            if let (Sort::Message(name), Field::Bytes(bytes)) = (self.sort, field)
                && let Some(message) = MESSAGES.get(name)
            {
                message.read(bytes, into, depth)?;
            }
            return Ok(());
        }
        match self.shape {
            Shape::One => match self.sort.read(field, depth)? {
                Some(value) if self.counts_as_zero || !is_zero(&value) => {
                    into.insert(self.name.to_owned(), value);
                }
                _ => {}
            },
            Shape::List => {
                let list = into
                    .entry(self.name)
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let (Value::Array(list), Some(item)) = (list, self.sort.read(field, depth)?) {
                    list.push(item);
                }
            }
            Shape::Map => {
                let Field::Bytes(entry) = field else {
                    return Err(Malformed::WireType);
                };
                let (mut key, mut value) = (String::new(), None);
                for field in Reader::new(entry) {
                    match field? {
                        (1, Field::Bytes(bytes)) => key = text(bytes),
                        (2, field) => value = self.sort.read(field, depth)?,
                        _ => {}
                    }
                }
                let map = into
                    .entry(self.name)
                    .or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(map) = map {
                    map.insert(key, value.unwrap_or_else(|| self.sort.zero()));
                }
            }
        }
        Ok(())
    }
}

impl Sort {
    /// The value of the field; `None` if it counts as absent, such as the zero time.
    fn read(self, field: Field<'_>, depth: usize) -> Result<Option<Value>, Malformed> {
        Ok(Some(match (self, field) {
            (Self::Text, Field::Bytes(bytes)) => text(bytes).into(),
            (Self::Bytes, Field::Bytes(bytes)) => BASE64_STANDARD.encode(bytes).into(),
            (Self::Boolean, Field::Number(number)) => (number != 0).into(),
            (Self::Integer, Field::Number(number)) => number.cast_signed().into(),
            (Self::Double, Field::Fixed64(bits)) => double(f64::from_bits(bits)),
            (Self::Message(name), Field::Bytes(bytes)) => {
                return match MESSAGES.get(name) {
                    Some(message) => {
                        let mut object = Map::new();
                        message.read(bytes, &mut object, depth)?;
                        Ok(Some(object.into()))
                    }
                    None => special(name, bytes, depth),
                };
            }
            _ => return Err(Malformed::WireType),
        }))
    }

    /// What a map's entry without a value holds.
    fn zero(self) -> Value {
        match self {
            Self::Text | Self::Bytes => "".into(),
            Self::Boolean => false.into(),
            Self::Integer | Self::Double => 0.into(),
            Self::Message(_) => Value::Object(Map::new()),
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// As Go writes a double: a whole one without a fraction.
fn double(value: f64) -> Value {
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < WHOLE {
        #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
        return (value as i64).into();
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Messages whose JSON is no object of their fields.
fn special(name: &str, bytes: &[u8], depth: usize) -> Result<Option<Value>, Malformed> {
    let fields = Reader::new(bytes).collect::<Result<Vec<_>, _>>()?;
    let number = |wanted: u32| {
        let found = fields
            .iter()
            .rev()
            .find_map(|&(number, field)| match field {
                Field::Number(value) if number == wanted => Some(value.cast_signed()),
                _ => None,
            });
        found.unwrap_or_default()
    };
    let all = |wanted: u32| {
        fields
            .iter()
            .filter_map(move |&(number, field)| match field {
                Field::Bytes(bytes) if number == wanted => Some(bytes),
                _ => None,
            })
    };
    let one = |wanted: u32| all(wanted).next_back();
    let schema = |bytes: &[u8]| {
        let sort = Sort::Message("apiextensions.JSONSchemaProps");
        sort.read(Field::Bytes(bytes), depth)
    };
    Ok(match name {
        "meta.Time" if !fields.is_empty() => moment(number(1), 0).map(|at| time(at).into()),
        "meta.MicroTime" if !fields.is_empty() => moment(number(1), number(2))
            .map(|at| at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string().into()),
        "meta.FieldsV1" | "runtime.RawExtension" | "apiextensions.JSON" => {
            let raw = one(1).unwrap_or_default();
            serde_json::from_slice(raw).ok()
        }
        "intstr.IntOrString" if number(1) == 0 => Some(number(2).into()),
        "intstr.IntOrString" => Some(text(one(3).unwrap_or_default()).into()),
        "resource.Quantity" => Some(text(one(1).unwrap_or_default()).into()),
        "ExtraValue" => Some(all(1).map(text).collect()),
        "apiextensions.JSONSchemaPropsOrArray" => match one(1) {
            Some(bytes) => schema(bytes)?,
            None => {
                let schemas = all(2).map(schema).collect::<Result<Vec<_>, _>>()?;
                Some(schemas.into_iter().flatten().collect())
            }
        },
        "apiextensions.JSONSchemaPropsOrBool" => match one(2) {
            Some(bytes) => schema(bytes)?,
            None => Some((number(1) != 0).into()),
        },
        "apiextensions.JSONSchemaPropsOrStringArray" => match one(1) {
            Some(bytes) => schema(bytes)?,
            None => Some(all(2).map(text).collect()),
        },
        _ => None,
    })
}

fn moment(seconds: i64, nanoseconds: i64) -> Option<Timestamp> {
    Timestamp::new(seconds, i32::try_from(nanoseconds).ok()?).ok()
}

#[cfg(test)]
mod tests;
