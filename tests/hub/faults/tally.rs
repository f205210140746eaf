//! The outcomes of calls, and the table of their counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Duration;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The correct response, in time.
    Decided,
    /// A response in time that says that it could not be decided, and that this is not a denial.
    Undecided,
    /// Anything else.
    Failed(CallFailure, String),
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallFailure {
    /// No connection, or an untrusted one.
    Connect,
    /// The connection broke.
    Transport,
    /// No response in time.
    Late,
    /// A response that is not the AdmissionReview of this call.
    Invalid,
    /// A wrong response.
    Wrong,
}

/// Counts of calls.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub decided: u64,
    pub undecided: u64,
    pub failed: BTreeMap<CallFailure, (u64, String)>,
    /// Connections that were opened.
    pub connections: u64,
    /// Calls that were retried, as nothing of them had been sent when the connection was found closed.
    pub renewed: u64,
    pub slowest: Duration,
}

// === impl Tally ===

impl Tally {
    pub fn count(&mut self, outcome: CallOutcome, took: Duration) {
        self.slowest = self.slowest.max(took);
        match outcome {
            CallOutcome::Decided => self.decided += 1,
            CallOutcome::Undecided => self.undecided += 1,
            CallOutcome::Failed(how, why) => {
                // The first of each kind is enough.
                self.failed.entry(how).or_insert((0, why)).0 += 1;
            }
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.decided += other.decided;
        self.undecided += other.undecided;
        self.connections += other.connections;
        self.renewed += other.renewed;
        self.slowest = self.slowest.max(other.slowest);
        for (how, (count, why)) in &other.failed {
            self.failed.entry(*how).or_insert((0, why.clone())).0 += count;
        }
    }

    pub fn calls(&self) -> u64 {
        self.decided + self.undecided + self.failed()
    }

    /// The result.
    pub fn failed(&self) -> u64 {
        self.failed.values().map(|(count, _)| count).sum()
    }
}

/// The rows so far, and the number of tests that still run.
static TABLE: Mutex<(Vec<Row>, usize)> = Mutex::new((Vec::new(), 0));

struct Row {
    what: &'static str,
    tally: Tally,
    beside: String,
}

/// A running test. Its row of the table has the outcomes of its calls.
pub struct Report {
    what: &'static str,
    done: bool,
}

impl Report {
    pub fn begin(what: &'static str) -> Self {
        TABLE.lock().unwrap().1 += 1;
        Self { what, done: false }
    }

    /// Adds the counts to the table. Panics if a call has failed, or was not decided.
    pub fn all_decided(self, tally: &Tally, beside: impl Into<String>) {
        let (what, undecided) = (self.what, tally.undecided);
        self.none_failed(tally, beside);
        assert_eq!(undecided, 0, "{what}: {tally:?}");
    }

    /// Adds the counts to the table. Panics if a call has failed, or no call was made.
    pub fn none_failed(mut self, tally: &Tally, beside: impl Into<String>) {
        self.done = true;
        self.enter(tally, beside.into());
        assert!(tally.calls() > 0, "{}: no call was made", self.what);
        assert_eq!(tally.failed(), 0, "{}: {tally:?}", self.what);
    }

    fn enter(&self, tally: &Tally, beside: String) {
        let mut table = TABLE.lock().unwrap();
        let (rows, at_work) = &mut *table;
        rows.push(Row {
            what: self.what,
            tally: tally.clone(),
            beside,
        });
        *at_work -= 1;
        if *at_work == 0 {
            // Printed also when the output of tests is captured: it is the result.
            let _ = writeln!(std::io::stderr(), "{}", printed(rows));
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.done {
            let tally = Tally::default();
            self.enter(&tally, "the test ended before its count".to_owned());
        }
    }
}

fn printed(rows: &[Row]) -> String {
    let mut text = format!(
        "\n{:<38} {:>8} {:>9} {:>9} {:>6} {:>9}  beside\n",
        "under load", "calls", "undecided", "FAILED", "opened", "slowest"
    );
    for Row {
        what,
        tally,
        beside,
    } in rows
    {
        let slowest = format!("{} ms", tally.slowest.as_millis());
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "{what:<38} {:>8} {:>9} {:>9} {:>6} {slowest:>9}  {beside}",
            tally.calls(),
            tally.undecided,
            tally.failed(),
            tally.connections,
        );
    }
    text
}
