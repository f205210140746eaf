//! The output of `berth accept`: outcomes, and the progress line on a terminal.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use crate::failure::CommandError;
use crate::hub::DryRun;
use crate::outcomes::{Outcomes, WriteArgs};
use crate::progress::Progress;

/// Prints outcomes, and clears the progress line before.
pub(super) struct Teller {
    outcomes: Outcomes,
    pub(super) progress: Progress,
    pub(super) told_any: bool,
}

// === impl Teller ===

impl Teller {
    pub(super) fn new(args: &WriteArgs, limit: Duration) -> Self {
        Self {
            outcomes: Outcomes::new(args),
            progress: Progress::new(args.output.format.is_some(), limit),
            told_any: false,
        }
    }

    /// One that prints nothing: [`Self::taken`] returns the outcomes.
    pub(super) fn kept(dry_run: DryRun) -> Self {
        Self {
            outcomes: Outcomes::kept(dry_run),
            progress: Progress::new(true, Duration::ZERO),
            told_any: false,
        }
    }

    /// Returns the outcomes of [`Self::kept`].
    pub(super) fn taken(self) -> Outcomes {
        self.outcomes
    }

    pub(super) fn done(&mut self, target: &str, message: String) -> io::Result<()> {
        self.outcomes().done(target, message)
    }

    pub(super) fn unchanged(&mut self, target: &str, message: String) -> io::Result<()> {
        self.outcomes().unchanged(target, message)
    }

    pub(super) fn failed(&mut self, target: &str, why: impl ToString) -> io::Result<()> {
        self.outcomes().failed(target, why)
    }

    /// As [`Self::failed`], with an error of the hub.
    pub(super) fn refused(&mut self, target: &str, failure: CommandError) -> io::Result<()> {
        self.outcomes().refused(target, failure)
    }

    /// Prints a note to standard error, unless the outcomes are JSON or YAML.
    pub(super) fn note(&mut self, message: &str) {
        self.progress.clear();
        self.outcomes.note(message);
    }

    pub(super) fn end(mut self) -> io::Result<ExitCode> {
        self.progress.clear();
        self.outcomes.end()
    }

    fn outcomes(&mut self) -> &mut Outcomes {
        self.progress.clear();
        self.told_any = true;
        &mut self.outcomes
    }
}
