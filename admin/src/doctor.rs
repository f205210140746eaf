//! `berth doctor`: finds faults of an installation, with their remedies.
//!
//! [`gather`] reads the facts, [`checks`] are plain functions of them, and [`report`] prints the findings. Nothing is changed:
//! writes are dry runs.

mod checks;
mod facts;
mod finding;
mod gather;
mod installation;
mod objects;
mod remedy;
mod report;
mod rights;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use berth_api::names::is_dns1123_label;
use clap_complete::ArgValueCandidates;

use crate::complete;
use crate::failure::CommandError;
use crate::flags::{DocumentArgs, DocumentFormat};
use crate::hub::{HubArgs, HubConnection};
use crate::print::has_colours;
#[cfg(test)]
pub(crate) use checks::check;
pub(crate) use checks::crds::{Stands, compare_definitions};
pub(crate) use checks::hub::silent_for;
#[cfg(test)]
pub(crate) use checks::testing;
pub(crate) use facts::{Election, Facts};
pub(crate) use finding::{Check, Finding, Severity};
pub(crate) use installation::{
    ADDON_LOCK, CONSOLE, CONTROLLER, LOCK, OCMS_CONTROLLER, PLACEMENT_LOCK, WEBHOOK, WORK_LOCK,
};
pub(crate) use objects::{Deployment, Lease};
pub use remedy::RemedyPart;
pub(crate) use remedy::parts;
pub use report::CheckResult;
pub(crate) use report::worst;
use report::{Report, Style};

const EXAMPLES: &str = "\
Examples:
  # Print each fault with its remedy; prints nothing if nothing is wrong
  berth doctor

  # Also print passed checks and notes
  berth doctor -v

  # For a program: only the faults
  berth doctor -o json | jq '.findings[] | select(.severity == \"fault\")'

  # In a pipeline, after an installation: also fail on warnings and on checks that could not run
  berth doctor --strict

The checks and the permissions that they need: docs/doctor.md. Exit codes: 0 without a fault, 1 with a fault.";

/// Check an installation, and print faults with their remedies
///
/// Checks the hub from the API server's point of view: CRDs, registrations and policies, the certificates and endpoints of the
/// webhooks, the rights of gate and controller, leftovers of OCM, sets, bindings, clusters and add-ons. To check that the gate or its
/// policies decide, it sends writes that they must refuse, as dry runs. Nothing is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("output", |arg| {
    arg.help("Print all checks and findings as json or yaml instead of lines")
}))]
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
    /// Also print passed and skipped checks, and notes
    #[arg(short, long)]
    verbose: bool,
    /// Also fail on warnings and on checks that could not run
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    output: DocumentArgs,
    #[command(flatten)]
    hub: HubArgs,
}

fn namespace(text: &str) -> Result<String, String> {
    if is_dns1123_label(text) {
        Ok(text.to_owned())
    } else {
        Err("not a valid name of a namespace".to_owned())
    }
}

/// Reads the facts, and runs all checks. Findings are sorted by severity, then by check. Without `tries`, no write is sent, also not as
/// a dry run.
///
/// # Errors
/// The hub cannot be read.
pub(crate) async fn examine(
    hub: &HubConnection,
    namespace: &str,
    tries: bool,
) -> Result<(Facts, Vec<Finding>), CommandError> {
    let facts = gather::gather(hub, namespace, tries).await?;
    let findings = checks::check(&facts);
    Ok((facts, findings))
}

/// Returns the numbers of findings, as one line.
pub(crate) fn summary(findings: &[Finding]) -> String {
    Report::new(findings).summary()
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be read, or the report cannot be written.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let (_, findings) = examine(&hub, &args.namespace, true).await?;
    let report = Report::new(&findings);
    let mut out = io::stdout().lock();
    match args.output.format {
        Some(DocumentFormat::Json) => report.json(&mut out)?,
        Some(DocumentFormat::Yaml) => report.yaml(&mut out)?,
        None => {
            let style = Style {
                colours: has_colours(&out),
                verbose: args.verbose,
            };
            report.text(&mut out, style)?;
        }
    }
    out.flush()?;
    let mut err = io::stderr().lock();
    if args.output.format.is_none() && err.is_terminal() {
        // An error of standard error is ignored: the exit code has the result.
        let _ = writeln!(err, "{}", report.summary());
    }
    Ok(if report.is_sound(args.strict) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
