//! Colours of words on a terminal.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};

/// The style of text: with or without colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) colour: bool,
}

/// Returns true if text to this stream may have colours: it is a terminal, and `NO_COLOR` is empty or not set (<https://no-color.org>).
pub fn has_colours(stream: &impl IsTerminal) -> bool {
    decided(
        stream.is_terminal(),
        std::env::var_os("NO_COLOR").as_deref(),
    )
}

fn decided(terminal: bool, no_color: Option<&OsStr>) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty)
}

// === impl Style ===

impl Style {
    /// The style of standard output.
    pub(crate) fn of_stdout() -> Self {
        Self {
            colour: has_colours(&io::stdout()),
        }
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.coloured("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.coloured("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.coloured("33", text)
    }

    fn coloured(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[1;{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_counts_if_it_is_not_empty() {
        for (terminal, no_color, colours) in [
            (true, None, true),
            (true, Some(""), true),
            (true, Some("1"), false),
            (false, None, false),
        ] {
            assert_eq!(decided(terminal, no_color.map(OsStr::new)), colours);
        }
    }
}
