//! Logs, on standard error.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::time::SystemTime;
use tracing_subscriber::prelude::*;

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people; in colour on a terminal
    Text,
    /// One JSON object a line
    Json,
}

/// Begins to log. `RUST_LOG` wins over `verbosity`, which counts as klog's does: 4 and more for debugging.
pub(crate) fn init(format: Format, verbosity: u8) {
    let level = match verbosity {
        0..=3 => LevelFilter::INFO,
        4..=5 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    init_at(format, level);
}

/// Begins to log warnings and errors only, unless `RUST_LOG` says otherwise.
#[cfg(feature = "devhub")]
pub(crate) fn init_quiet(format: Format) {
    init_at(format, LevelFilter::WARN);
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
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_timer(SystemTime);
    let lines = match format {
        Format::Text => lines
            .with_ansi(io::stderr().is_terminal())
            .with_target(false)
            .boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
    if let Some(error) = unreadable {
        tracing::warn!(%error, "RUST_LOG is ignored: expected levels and targets, such as berth_webhooks=debug,info");
    }
}
