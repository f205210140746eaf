//! Strings of a request.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A string of the request, borrowed unless it has escapes. A clone does not copy the text.
#[derive(Clone)]
pub struct Text<'a>(Held<'a>);

#[derive(Clone)]
enum Held<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Text<'_> {
    /// Returns the string.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Held::Borrowed(text) => text,
            Held::Shared(text) => text,
        }
    }

    /// Returns the string, independent of the request.
    pub fn into_owned(self) -> Text<'static> {
        Text(Held::Shared(match self.0 {
            Held::Borrowed(text) => text.into(),
            Held::Shared(text) => text,
        }))
    }

    /// Returns true if it is empty.
    pub fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self(Held::Borrowed(""))
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Held::Borrowed(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Held::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Held::Shared(text.into())))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}
