//! Progress of a run: on a terminal a line that is overwritten, elsewhere a new line every 10 seconds.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, interval};

use crate::text::{duration, thousands};

/// Calls of the workers so far, including the warm-up.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    answered: AtomicU64,
    failed: AtomicU64,
    /// Latency of the slowest response since the last line, in microseconds.
    slowest: AtomicU64,
}

/// Prints the progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    terminal: bool,
    wanted: bool,
}

const ON_A_TERMINAL: Duration = Duration::from_millis(500);
const IN_A_LOG: Duration = Duration::from_secs(10);

// === impl Progress ===

impl Progress {
    pub(crate) fn answered(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.slowest.fetch_max(micros, Ordering::Relaxed);
    }

    /// Returns the number of successful calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    pub(crate) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    fn line(
        &self,
        what: &str,
        at: Duration,
        length: Duration,
        before: &mut (u64, Duration),
    ) -> String {
        let answered = self.calls();
        let since = at.saturating_sub(before.1).as_secs_f64();
        let rate = (answered - before.0) as f64 / since.max(0.001);
        *before = (answered, at);
        let slowest = Duration::from_micros(self.slowest.swap(0, Ordering::Relaxed));
        let failed = self.failed.load(Ordering::Relaxed);
        format!(
            "{what}: {:.0} s of {:.0} s, {}/s, slowest {}, {} failed",
            at.as_secs_f64(),
            length.as_secs_f64(),
            thousands(rate),
            duration(slowest),
            thousands(failed as f64),
        )
    }
}

// === impl Screen ===

impl Screen {
    pub(crate) fn stderr(quiet: bool) -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            wanted: !quiet,
        }
    }

    /// Prints the progress of a task of this length, until dropped.
    pub(crate) async fn show(self, progress: &Progress, what: &str, length: Duration) {
        if !self.wanted {
            return std::future::pending().await;
        }
        let mut ticks = interval(if self.terminal {
            ON_A_TERMINAL
        } else {
            IN_A_LOG
        });
        let begun = Instant::now();
        let mut before = (0, Duration::ZERO);
        // The first tick is immediate.
        ticks.tick().await;
        let _clear = Clear(self.terminal);
        loop {
            ticks.tick().await;
            let line = progress.line(what, begun.elapsed(), length, &mut before);
            self.write(&line);
        }
    }

    /// Prints one message. On a terminal the next message replaces it.
    pub(crate) fn say(self, line: &str) {
        if self.wanted && self.terminal {
            self.write(line);
        }
    }

    fn write(self, line: &str) {
        // If stderr is closed, progress is not shown.
        let mut stderr = std::io::stderr().lock();
        let _ = if self.terminal {
            write!(stderr, "\r{line}\x1b[K").and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{line}")
        };
    }
}

/// Clears the line.
struct Clear(bool);

impl Drop for Clear {
    fn drop(&mut self) {
        if self.0 {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_it_has_gone_since_the_last() {
        let progress = Progress::default();
        let mut before = (0, Duration::ZERO);
        let mut line = |seconds| {
            let (at, length) = (Duration::from_secs(seconds), Duration::from_secs(6));
            progress.line("round 1 of 3, berth", at, length, &mut before)
        };
        for _ in 0..3000 {
            progress.answered(Duration::from_micros(1500));
        }
        progress.failed();
        assert_eq!(
            line(2),
            "round 1 of 3, berth: 2 s of 6 s, 1,500/s, slowest 1.50 ms, 1 failed"
        );
        assert_eq!(
            line(3),
            "round 1 of 3, berth: 3 s of 6 s, 0/s, slowest 0 ms, 1 failed"
        );
    }
}
