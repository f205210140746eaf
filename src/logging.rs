//! Logs, on standard error.
//!
//! Log lines contain no control characters and no characters that hide or reorder text ([`is_plain`]), whatever the fields
//! contain.

use std::fmt::Write as _;
use std::io::{self, Write};

use berth_rules::display::is_plain;

use clap::ValueEnum;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::time::SystemTime;
use tracing_subscriber::prelude::*;

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text, in colour on a terminal
    Text,
    /// One JSON object per line
    Json,
}

/// Starts logging. `RUST_LOG` wins over `verbosity`, which is klog's: 4 or more for debugging.
pub(crate) fn init(format: Format, verbosity: u8) {
    let level = match verbosity {
        0..=3 => LevelFilter::INFO,
        4..=5 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    init_at(format, level);
}

/// Starts logging with errors only, unless `RUST_LOG` is set. For the demo, whose agents warn of what they wait for: the story shows that.
#[cfg(feature = "devhub")]
pub(crate) fn init_quiet(format: Format) {
    init_at(format, LevelFilter::ERROR);
}

fn init_at(format: Format, level: LevelFilter) {
    let wanted = std::env::var("RUST_LOG")
        .ok()
        .map(|directives| directives.parse::<Targets>());
    let (wanted, unreadable) = match wanted.transpose() {
        Ok(wanted) => (wanted, None),
        Err(error) => (None, Some(error)),
    };
    let filter = wanted.unwrap_or_else(|| Targets::new().with_default(level));
    let colours = format == Format::Text && berth_admin::has_colours(&io::stderr());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(move || Escaping {
            out: io::stderr(),
            format,
            colours,
        })
        .with_timer(SystemTime);
    let lines = match format {
        Format::Text => lines.with_ansi(colours).with_target(false).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
    if let Some(error) = unreadable {
        tracing::warn!(%error, "RUST_LOG is ignored: expected levels and targets, such as berth_webhooks=debug,info");
    }
}

/// A writer that escapes characters that are not plain.
struct Escaping<W> {
    out: W,
    format: Format,
    /// True if lines contain colour codes, which begin with an escape character. The formatter escapes those of fields.
    colours: bool,
}

impl<W> Escaping<W> {
    fn is_left(&self, c: char) -> bool {
        is_plain(c) || c == '\n' || (self.colours && c == '\u{1b}')
    }

    fn escaped(&self, text: &str) -> String {
        let mut line = String::with_capacity(text.len() + 16);
        for c in text.chars() {
            if self.is_left(c) {
                line.push(c);
            } else if self.format == Format::Json {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(line, "\\u{unit:04x}");
                }
            } else {
                line.extend(c.escape_unicode());
            }
        }
        line
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().all(|c| self.is_left(c)) => {
                self.out.write_all(self.escaped(text).as_bytes())?;
            }
            // The formatter writes whole lines of text.
            _ => self.out.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format, colours: bool, text: &str) -> String {
        let mut out = Vec::new();
        let mut escaping = Escaping {
            out: &mut out,
            format,
            colours,
        };
        escaping.write_all(text.as_bytes()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_line_holds_what_hides_or_reorders_text() {
        let line = "{\"user\":\"a\u{202e}b\u{200b}\u{e0041}\u{7f}é\"}\n";
        let json = written(Format::Json, false, line);
        assert_eq!(
            json,
            "{\"user\":\"a\\u202eb\\u200b\\udb40\\udc41\\u007fé\"}\n"
        );
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["user"], "a\u{202e}b\u{200b}\u{e0041}\u{7f}é");
        let text = written(Format::Text, false, "a\u{202e}b\u{1b}[31m\n");
        assert_eq!(text, "a\\u{202e}b\\u{1b}[31m\n");
        let coloured = written(Format::Text, true, "\u{1b}[31ma\u{202e}\n");
        assert_eq!(coloured, "\u{1b}[31ma\\u{202e}\n");
    }
}
