//! What is waited for, to standard error: on a terminal one line that is rewritten, else a line for each change.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::print::plain;

/// Columns of a terminal that does not tell how many it has.
const COLUMNS: u16 = 80;

/// How far the waiting is.
pub(super) struct Progress {
    how: How,
    since: Instant,
    limit: Duration,
    /// What each target waits for.
    waiting: BTreeMap<String, String>,
    /// A line is on the terminal that the next one has to take the place of.
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
    /// `limit`: how long it is waited at most.
    pub(super) fn new(silent: bool, limit: Duration) -> Self {
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

    /// This target waits for this.
    pub(super) fn waits(&mut self, target: &str, what: &str) {
        let before = self.waiting.insert(target.to_owned(), what.to_owned());
        let changed = before.is_none_or(|before| before != what);
        if self.how == How::Lines && changed {
            // With nowhere to write it to, the command goes on.
            let _ = writeln!(io::stderr(), "{target}: waiting: {}", plain(what));
        }
    }

    /// This target waits no more.
    pub(super) fn ends(&mut self, target: &str) {
        self.waiting.remove(target);
    }

    /// Shows how things stand, on a terminal.
    pub(super) fn draw(&mut self) {
        if self.how != How::Rewritten || self.waiting.is_empty() {
            return;
        }
        let columns = rustix::termios::tcgetwinsize(io::stderr())
            .map(|size| size.ws_col)
            .ok()
            .filter(|columns| *columns > 0)
            .unwrap_or(COLUMNS);
        let line = line(&self.waiting, self.since.elapsed(), self.limit);
        // The last column stays free: a full line may wrap, and what wraps is not rewritten.
        let line: String = line.chars().take(usize::from(columns) - 1).collect();
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "\r{line}\x1b[K").and_then(|()| stderr.flush());
        self.drawn = true;
    }

    /// Takes the line from the terminal, so that others can be written.
    pub(super) fn clear(&mut self) {
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
