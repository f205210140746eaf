//! Outcomes of a command with several targets. Each target is tried, each outcome is a line, and the exit code is 0 only if all
//! succeeded.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_rules::display::{Lines, Plain};
use serde::Serialize;

use crate::failure::CommandError;
use crate::flags::{DocumentArgs, DocumentFormat, DryRunArgs, NameOrDocument};
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
    format: Format,
    dry_run: DryRun,
    results: Vec<TargetResult>,
    /// Notes, and the last error of the hub, if the outcomes are not printed.
    kept: Kept,
}

/// What outcomes that are not printed have besides results.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) notes: Vec<String>,
    pub(crate) failure: Option<CommandError>,
}

/// How outcomes are printed.
#[derive(Clone, Copy)]
enum Format {
    Lines,
    /// What succeeded, as `RESOURCE/NAME` of this resource.
    Names(&'static str),
    Document(DocumentFormat),
    /// Not at all: [`Outcomes::taken`] returns them.
    Kept,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetResult {
    target: String,
    pub(crate) succeeded: bool,
    /// True if something was written, or would have been without a dry run.
    changed: bool,
    pub(crate) message: String,
}

// === impl Outcomes ===

impl Outcomes {
    pub(crate) fn new(args: &WriteArgs) -> Self {
        let format = args.output.format;
        Self::printed(
            format.map_or(Format::Lines, Format::Document),
            args.dry_run.mode,
        )
    }

    /// Those of a command that can print names. `resource` is the resource of the targets, in kubectl's names of objects.
    pub(crate) fn named(
        format: Option<NameOrDocument>,
        dry_run: DryRun,
        resource: &'static str,
    ) -> Self {
        let format = match format {
            None => Format::Lines,
            Some(NameOrDocument::Name) => Format::Names(resource),
            Some(NameOrDocument::Json) => Format::Document(DocumentFormat::Json),
            Some(NameOrDocument::Yaml) => Format::Document(DocumentFormat::Yaml),
        };
        Self::printed(format, dry_run)
    }

    /// Those of another program than a terminal: nothing is printed.
    pub(crate) fn kept(dry_run: DryRun) -> Self {
        Self::printed(Format::Kept, dry_run)
    }

    /// Returns the outcomes of [`Self::kept`].
    pub(crate) fn taken(self) -> (Vec<TargetResult>, Kept) {
        (self.results, self.kept)
    }

    fn printed(format: Format, dry_run: DryRun) -> Self {
        Self {
            format,
            dry_run,
            results: Vec::new(),
            kept: Kept::default(),
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
        if matches!(self.format, Format::Lines | Format::Names(_)) {
            // An error of standard error does not stop the command.
            let _ = writeln!(io::stderr(), "{}", Lines(message));
        }
    }

    /// As [`Self::progress`]; a note that is not printed is kept.
    pub(crate) fn note(&mut self, message: &str) {
        match self.format {
            Format::Kept => self.kept.notes.push(message.to_owned()),
            _ => self.progress(message),
        }
    }

    /// As [`Self::failed`], with an error of the hub.
    pub(crate) fn refused(&mut self, target: &str, failure: CommandError) -> io::Result<()> {
        let reported = self.failed(target, &failure);
        self.kept.failure = Some(failure);
        reported
    }

    /// Prints the list of outcomes, if the format asks for one. Returns exit code 0 if all succeeded, else 1.
    pub(crate) fn end(self) -> io::Result<ExitCode> {
        let mut out = io::stdout().lock();
        match self.format {
            Format::Lines | Format::Names(_) | Format::Kept => {}
            Format::Document(DocumentFormat::Json) => {
                serde_json::to_writer_pretty(&mut out, &self.results)?;
                writeln!(out)?;
            }
            Format::Document(DocumentFormat::Yaml) => {
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
        match self.format {
            Format::Document(_) | Format::Kept => {}
            _ if !succeeded => {
                let (target, message) = (Plain(target), Lines(&message));
                writeln!(io::stderr(), "Error: {target}: {message}")?;
            }
            Format::Names(resource) => writeln!(io::stdout(), "{resource}/{}", Plain(target))?,
            Format::Lines => writeln!(io::stdout(), "{}", Lines(&message))?,
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
