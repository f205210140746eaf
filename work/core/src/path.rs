//! Paths of fields within an object, while it is walked.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// A field of an object.
    Field(String),
    /// The item of a list that has these fields.
    Key(Map<String, Value>),
    /// The item of a list that is equal to this value.
    Member(Value),
    /// An item of a list by its position.
    Index(usize),
}

/// A path from the root of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Path(pub(crate) Vec<Part>);

// === impl Path ===

impl Path {
    /// Calls a function with the path extended by one part.
    pub(crate) fn within<R>(&mut self, part: Part, walk: impl FnOnce(&mut Self) -> R) -> R {
        self.0.push(part);
        let result = walk(self);
        self.0.pop();
        result
    }

    /// Does the path match a pattern, such as `spec.ports[].protocol`? `[]` stands for any item.
    pub(crate) fn matches(&self, pattern: &str) -> bool {
        let mut parts = self.0.iter();
        for name in pattern.split('.') {
            let (name, items) = name
                .strip_suffix("[]")
                .map_or((name, false), |name| (name, true));
            if !matches!(parts.next(), Some(Part::Field(field)) if field == name) {
                return false;
            }
            if items && matches!(parts.next(), None | Some(Part::Field(_))) {
                return false;
            }
        }
        parts.next().is_none()
    }

    /// Is the last part this field?
    pub(crate) fn ends_with(&self, name: &str) -> bool {
        matches!(self.0.last(), Some(Part::Field(last)) if last == name)
    }

    /// The names of the fields, from the last one.
    pub(crate) fn fields_from_last(&self) -> impl Iterator<Item = &str> {
        self.0.iter().rev().filter_map(|part| match part {
            Part::Field(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

impl From<&str> for Part {
    fn from(name: &str) -> Self {
        Self::Field(name.to_owned())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, part) in self.0.iter().enumerate() {
            match part {
                Part::Field(name) if is_plain(name) => {
                    if position > 0 {
                        f.write_char('.')?;
                    }
                    f.write_str(name)?;
                }
                Part::Field(name) => write!(f, "[{name:?}]")?,
                Part::Key(key) => {
                    f.write_char('[')?;
                    for (position, (name, value)) in key.iter().enumerate() {
                        let comma = if position > 0 { "," } else { "" };
                        write!(f, "{comma}{name}={value}")?;
                    }
                    f.write_char(']')?;
                }
                Part::Member(value) => write!(f, "[{value}]")?,
                Part::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Can the name be read without quotes?
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'$'))
}
