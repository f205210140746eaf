//! One element of a path into an object, in the notation of `FieldsV1`.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

use crate::writes::go;

/// One step of a path.
///
/// The order is that of field sets: fields, keys, values, indices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// A field of an object: `f:name`
    Field(String),
    /// The item of a list that has these fields, sorted by name: `k:{"type":"Ready"}`
    Key(Vec<(String, Scalar)>),
    /// This item of a set: `v:"x"`
    Value(Scalar),
    /// The item at this place: `i:0`
    Index(i64),
}

/// Why a step cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadElement {
    #[error("key must be 2 characters long:")]
    Short,
    #[error("missing colon: {0}")]
    NoColon(String),
    #[error("cannot read {0}")]
    Malformed(String),
}

impl PathElement {
    /// A field.
    pub(crate) fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// A key of these fields, in any order.
    pub(crate) fn key(mut fields: Vec<(String, Scalar)>) -> Self {
        fields.sort();
        Self::Key(fields)
    }

    /// Reads a step; `None` if its sort is unknown, so that it is skipped.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, BadElement> {
        let [sort, colon, ..] = text.as_bytes() else {
            return Err(BadElement::Short);
        };
        let content = match (colon, text.get(2..)) {
            (b':', Some(content)) => content,
            _ => return Err(BadElement::NoColon(text.to_owned())),
        };
        let malformed = || BadElement::Malformed(text.to_owned());
        let element = match sort {
            b'f' => Self::field(content),
            b'v' => Self::Value(Scalar(
                serde_json::from_str(content).map_err(|_| malformed())?,
            )),
            b'k' => {
                let fields: Map<String, Value> =
                    serde_json::from_str(content).map_err(|_| malformed())?;
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name, Scalar(value)));
                Self::key(fields.collect())
            }
            b'i' => Self::Index(content.parse().map_err(|_| malformed())?),
            _ => return Ok(None),
        };
        Ok(Some(element))
    }

    /// Writes the step.
    pub(crate) fn print(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), value.0.clone()));
                format!("k:{}", go::json(&Value::Object(fields.collect())))
            }
            Self::Value(value) => format!("v:{}", go::json(&value.0)),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// The step as messages show it: `.name`, `[type="Ready"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={}", value.0)?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", value.0),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A path as messages show it.
pub(crate) fn path_in_words(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// A value within a path: mostly a scalar, though a key may hold any JSON.
///
/// Numbers are compared by what they mean: `1` is `1.0`.
#[derive(Clone, Debug)]
pub(crate) struct Scalar(pub(crate) Value);

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

/// Returns true if two values are the same; numbers by what they mean.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    compare(one, other) == Ordering::Equal
}

/// Numbers, strings, booleans, lists, objects, null.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let unequal = one
                .iter()
                .zip(other)
                .map(|(one, other)| compare(one, other))
                .find(|order| order.is_ne());
            unequal.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        (Value::Object(one), Value::Object(other)) => {
            let unequal = one
                .iter()
                .zip(other)
                .map(|(one, other)| one.0.cmp(other.0).then_with(|| compare(one.1, other.1)))
                .find(|order| order.is_ne());
            unequal.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(one: &serde_json::Number, other: &serde_json::Number) -> Ordering {
    let integer = |number: &serde_json::Number| {
        number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from))
    };
    if let (Some(one), Some(other)) = (integer(one), integer(other)) {
        return one.cmp(&other);
    }
    let (one, other) = (
        one.as_f64().unwrap_or_default(),
        other.as_f64().unwrap_or_default(),
    );
    // Of JSON's numbers, 0 and -0 are the only ones that total_cmp tells apart though they are equal.
    if one == other {
        Ordering::Equal
    } else {
        one.total_cmp(&other)
    }
}
