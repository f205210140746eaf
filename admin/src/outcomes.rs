//! Outcomes of a command with several targets. Each target is tried, each outcome is a line, and the exit code is 0 only if all
//! succeeded.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_rules::display::{Lines, Plain};
use serde::Serialize;

use crate::flags::{DocumentArgs, DocumentFormat, DryRunArgs};
use crate::hub::DryRun;

/// Flags of every command that writes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Writes and output")]
#[command(mut_arg("dry_run", |arg| arg.global(true)))]
#[command(mut_arg("output", |arg| {
    arg.global(true)
        .help("Print the outcomes as json or yaml instead of lines")
}))]
pub(crate) struct WriteArgs {
    #[command(flatten)]
    pub(crate) dry_run: DryRunArgs,
    #[command(flatten)]
    pub(crate) output: DocumentArgs,
}

/// The outcomes so far. Lines are printed immediately: successes to standard output, failures to standard error.
pub(crate) struct Outcomes {
    format: Option<DocumentFormat>,
    dry_run: DryRun,
    results: Vec<TargetResult>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TargetResult {
    target: String,
    succeeded: bool,
    /// True if something was written, or would have been without a dry run.
    changed: bool,
    message: String,
}

// === impl Outcomes ===

impl Outcomes {
    pub(crate) fn new(args: &WriteArgs) -> Self {
        Self {
            format: args.output.format,
            dry_run: args.dry_run.mode,
            results: Vec::new(),
        }
    }

    /// Reports that the target was written, or would have been without a dry run.
    pub(crate) fn done(&mut self, target: &str, message: impl Into<String>) -> io::Result<()> {
        let message = format!("{}{}", message.into(), self.dry_run.suffix());
        self.report(target, true, true, message)
    }

    /// Reports that the target needs no change.
    pub(crate) fn unchanged(&mut self, target: &str, message: impl Into<String>) -> io::Result<()> {
        self.report(target, true, false, message.into())
    }

    /// Reports a failure.
    pub(crate) fn failed(&mut self, target: &str, why: impl ToString) -> io::Result<()> {
        self.report(target, false, false, why.to_string())
    }

    /// Prints a note to standard error, unless the outcomes are JSON or YAML.
    pub(crate) fn progress(&self, message: &str) {
        if self.format.is_none() {
            // An error of standard error does not stop the command.
            let _ = writeln!(io::stderr(), "{}", Lines(message));
        }
    }

    /// Prints the list of outcomes, if the format asks for one. Returns exit code 0 if all succeeded, else 1.
    pub(crate) fn end(self) -> io::Result<ExitCode> {
        let mut out = io::stdout().lock();
        match self.format {
            None => {}
            Some(DocumentFormat::Json) => {
                serde_json::to_writer_pretty(&mut out, &self.results)?;
                writeln!(out)?;
            }
            Some(DocumentFormat::Yaml) => {
                let text = serde_saphyr::to_string(&self.results).map_err(io::Error::other)?;
                out.write_all(text.as_bytes())?;
            }
        }
        out.flush()?;
        let all = self.results.iter().all(|outcome| outcome.succeeded);
        Ok(if all {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn report(
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
        self.results.push(TargetResult {
            target: target.to_owned(),
            succeeded,
            changed,
            message,
        });
        Ok(())
    }
}
