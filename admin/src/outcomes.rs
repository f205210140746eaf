//! What came of a command that has several targets: every one is tried, each outcome is a line, and the exit code says
//! whether all succeeded.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_rules::display::{Lines, Plain};
use serde::Serialize;

use crate::hub::DryRun;

/// How outcomes are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutcomeFormat {
    /// A JSON list, when all is done: what came of each target.
    Json,
    /// The same as YAML.
    Yaml,
}

/// Flags of every command that writes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "What is written and said")]
pub(crate) struct WriteArgs {
    /// Write nothing: 'client' says what would be written, 'server' has the hub decide about it
    #[arg(
        long,
        value_name = "client|server|none",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "client",
        default_value = "none",
        hide_default_value = true,
        hide_possible_values = true,
        global = true
    )]
    pub(crate) dry_run: DryRun,
    /// Tell the outcomes as json or yaml instead of lines
    #[arg(
        short,
        long,
        value_name = "json|yaml",
        value_enum,
        hide_possible_values = true,
        global = true
    )]
    pub(crate) output: Option<OutcomeFormat>,
}

/// The outcomes so far. Lines go out at once, good ones to standard output and others to standard error.
pub(crate) struct Outcomes {
    format: Option<OutcomeFormat>,
    dry_run: DryRun,
    told: Vec<TargetResult>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TargetResult {
    target: String,
    succeeded: bool,
    /// Whether something was written, or would have been.
    changed: bool,
    message: String,
}

// === impl Outcomes ===

impl Outcomes {
    pub(crate) fn new(args: &WriteArgs) -> Self {
        Self {
            format: args.output,
            dry_run: args.dry_run,
            told: Vec::new(),
        }
    }

    /// Something was written (or would have been).
    pub(crate) fn done(&mut self, target: &str, message: impl Into<String>) -> io::Result<()> {
        let message = format!("{}{}", message.into(), self.dry_run.suffix());
        self.tell(target, true, true, message)
    }

    /// There was nothing to do.
    pub(crate) fn unchanged(&mut self, target: &str, message: impl Into<String>) -> io::Result<()> {
        self.tell(target, true, false, message.into())
    }

    /// It could not be done.
    pub(crate) fn failed(&mut self, target: &str, why: impl ToString) -> io::Result<()> {
        self.tell(target, false, false, why.to_string())
    }

    /// What is being done, for people only: to standard error.
    pub(crate) fn progress(&self, message: &str) {
        if self.format.is_none() {
            // With nowhere to write it to, the command goes on.
            let _ = writeln!(io::stderr(), "{}", Lines(message));
        }
    }

    /// Ends the telling. The exit code is 0 if all succeeded, else 1.
    pub(crate) fn end(self) -> io::Result<ExitCode> {
        let mut out = io::stdout().lock();
        match self.format {
            None => {}
            Some(OutcomeFormat::Json) => {
                serde_json::to_writer_pretty(&mut out, &self.told)?;
                writeln!(out)?;
            }
            Some(OutcomeFormat::Yaml) => {
                let text = serde_saphyr::to_string(&self.told).map_err(io::Error::other)?;
                out.write_all(text.as_bytes())?;
            }
        }
        out.flush()?;
        let all = self.told.iter().all(|outcome| outcome.succeeded);
        Ok(if all {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn tell(
        &mut self,
        target: &str,
        succeeded: bool,
        changed: bool,
        message: String,
    ) -> io::Result<()> {
        if self.format.is_none() {
            if succeeded {
                writeln!(io::stdout(), "{}", Lines(&message))?;
            } else {
                let (target, message) = (Plain(target), Lines(&message));
                writeln!(io::stderr(), "Error: {target}: {message}")?;
            }
        }
        self.told.push(TargetResult {
            target: target.to_owned(),
            succeeded,
            changed,
            message,
        });
        Ok(())
    }
}
