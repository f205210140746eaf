//! Text of the fleet, made safe to show.

use std::borrow::Cow;

use berth_api::text;
use berth_rules::display::{Lines, Plain};
use schemars::JsonSchema;
use serde::Serialize;

/// Upper bound on the bytes of a text, before it is escaped. Longer texts lose their middle.
const LONGEST: usize = 4096;

/// Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Text(String);

// === impl Text ===

impl Text {
    /// One line.
    pub fn line(text: &str) -> Self {
        Self(Plain(&text::without_middle(text, LONGEST)).to_string())
    }

    /// Text that may have several lines.
    pub fn lines(text: &str) -> Self {
        Self(Lines(&text::without_middle(text, LONGEST)).to_string())
    }

    /// The text, escaped.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for the empty text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::lines(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::lines(&text)
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        Self::lines(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_escaped_and_bounded() {
        assert_eq!(Text::line("a\u{202e}b\nc").as_str(), r"a\u{202e}b\nc");
        assert_eq!(Text::lines("a\u{1b}[2J\nc").as_str(), "a\\u{1b}[2J\nc");
        // The page shows it as text, so that markup needs no escape.
        assert_eq!(Text::line("<b>&").as_str(), "<b>&");
        let long = "x".repeat(1 << 20);
        assert!(Text::line(&long).as_str().len() <= LONGEST);
    }
}
