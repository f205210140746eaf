//! The progress of `--wait`, on standard error: on a terminal one line that is redrawn, elsewhere a line for each change.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::print::plain;

/// The width of a terminal that does not report its width.
const COLUMNS: u16 = 80;

/// The progress of a wait.
pub(crate) struct Progress {
    how: How,
    since: Instant,
    limit: Duration,
    /// What each target waits for.
    waiting: BTreeMap<String, String>,
    /// True if the terminal shows a line that the next one replaces.
    drawn: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Silent,
    Lines,
    Rewritten,
}

// === impl Progress ===

impl Progress {
    /// `limit` is the timeout, for display.
    pub(crate) fn new(silent: bool, limit: Duration) -> Self {
        let how = match silent {
            true => How::Silent,
            false if io::stderr().is_terminal() => How::Rewritten,
            false => How::Lines,
        };
        Self {
            how,
            since: Instant::now(),
            limit,
            waiting: BTreeMap::new(),
            drawn: false,
        }
    }

    /// Records what a target waits for.
    pub(crate) fn waits(&mut self, target: &str, what: &str) {
        let before = self.waiting.insert(target.to_owned(), what.to_owned());
        let changed = before.is_none_or(|before| before != what);
        if self.how == How::Lines && changed {
            // An error of standard error does not stop the command.
            let _ = writeln!(io::stderr(), "{target}: waiting: {}", plain(what));
        }
    }

    /// Records that a target no longer waits.
    pub(crate) fn ends(&mut self, target: &str) {
        self.waiting.remove(target);
    }

    /// Draws the line, if standard error is a terminal.
    pub(crate) fn draw(&mut self) {
        if self.how != How::Rewritten || self.waiting.is_empty() {
            return;
        }
        let columns = rustix::termios::tcgetwinsize(io::stderr())
            .map(|size| size.ws_col)
            .ok()
            .filter(|columns| *columns > 0)
            .unwrap_or(COLUMNS);
        let line = line(&self.waiting, self.since.elapsed(), self.limit);
        // The last column stays empty: a full line may wrap, and a wrapped line cannot be redrawn.
        let line: String = line.chars().take(usize::from(columns) - 1).collect();
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "\r{line}\x1b[K").and_then(|()| stderr.flush());
        self.drawn = true;
    }

    /// Clears the line, so that other output can be written.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K").and_then(|()| stderr.flush());
        }
    }
}

fn line(waiting: &BTreeMap<String, String>, elapsed: Duration, limit: Duration) -> String {
    let all: Vec<String> = waiting
        .iter()
        .map(|(target, what)| format!("{target}: {}", plain(what)))
        .collect();
    format!(
        "Waiting ({} of {} s) {}",
        elapsed.as_secs(),
        limit.as_secs(),
        all.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_every_target_and_what_it_waits_for() {
        let waiting = BTreeMap::from([
            ("c1".to_owned(), "its agent\nx".to_owned()),
            ("c2".to_owned(), "no CSR".to_owned()),
        ]);
        let seconds = Duration::from_secs;
        assert_eq!(
            line(&waiting, seconds(12), seconds(300)),
            "Waiting (12 of 300 s) c1: its agent...; c2: no CSR"
        );
    }
}
