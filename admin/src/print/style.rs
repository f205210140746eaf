//! Colours of words on a terminal.

use std::io::{self, IsTerminal};

/// The style of text: with or without colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) colour: bool,
}

// === impl Style ===

impl Style {
    /// The style of standard output: colours on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn of_stdout() -> Self {
        Self {
            colour: io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
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
