//! `berth doctor`: what is wrong with an installation, and what to do about it.
//!
//! Facts are read, all at once ([`gather`]); [`checks`] are plain functions of them; and what they find is told ([`report`]).
//! Nothing is changed: writes are tried as dry runs.

mod checks;
mod facts;
mod finding;
mod gather;
mod installation;
mod objects;
mod report;
mod rights;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use berth_api::names::is_dns1123_label;
use clap_complete::ArgValueCandidates;

use crate::complete;
use crate::hub::{HubArgs, HubConnection};
use report::{Report, Style};

const EXAMPLES: &str = "\
Examples:
  # Whatever is wrong, with what to do about it; nothing where nothing is
  berth doctor

  # What is in order, too
  berth doctor -v

  # For a program: the faults alone
  berth doctor -o json | jq '.findings[] | select(.severity == \"fault\")'

  # In a pipeline, after an installation: warnings and what could not be checked fail it, too
  berth doctor --strict

What each check looks at, and the rights it takes: docs/doctor.md. Exit code: 0 if nothing is wrong, 1 if something is.";

/// Check an installation, and say what is wrong with it
///
/// Looks at the hub as its API server does: CRDs, registrations, the certificates and endpoints of the webhooks, the rights of gate and controller, what OCM left behind, sets, bindings and clusters. That the gate decides is tried by writes that it must refuse, as dry runs: nothing is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Namespace of the hub's components
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        default_value = "open-cluster-management-hub",
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::namespaces)
    )]
    namespace: String,
    /// Tell also what is in order, and what is worth knowing
    #[arg(short, long)]
    verbose: bool,
    /// Fail on warnings, too, and on what could not be checked
    #[arg(long)]
    strict: bool,
    /// Tell all checks and findings as json or yaml instead of lines
    #[arg(
        short,
        long,
        value_name = "json|yaml",
        value_enum,
        hide_possible_values = true
    )]
    output: Option<Format>,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Json,
    Yaml,
}

fn namespace(text: &str) -> Result<String, String> {
    if is_dns1123_label(text) {
        Ok(text.to_owned())
    } else {
        Err("no namespace can have this name".to_owned())
    }
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be looked at, or the report cannot be written.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let facts = gather::gather(&hub, &args.namespace).await?;
    let findings = checks::check(&facts);
    let report = Report::new(&findings);
    let mut out = io::stdout().lock();
    match args.output {
        Some(Format::Json) => report.json(&mut out)?,
        Some(Format::Yaml) => report.yaml(&mut out)?,
        None => {
            let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let style = Style {
                colours: out.is_terminal() && !no_colour,
                verbose: args.verbose,
            };
            report.text(&mut out, style)?;
        }
    }
    out.flush()?;
    let mut err = io::stderr().lock();
    if args.output.is_none() && err.is_terminal() {
        // With nowhere to write it to, the exit code says it.
        let _ = writeln!(err, "{}", report.summary());
    }
    Ok(if report.is_sound(args.strict) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
