//! `berth agent status`: how a managed cluster stands with its hub.
//!
//! [`gather`] reads the facts: the agent's Secrets and Events here, and what the hub says to the agent's own certificate. [`report`] is
//! a plain function of them. Nothing is changed.

mod gather;
mod report;

use std::io::{self, Write};
use std::process::ExitCode;

use jiff::Timestamp;

use crate::flags::{DocumentArgs, DocumentFormat};
use crate::hub::{ClusterArgs, HubConnection};
use crate::join::objects::NAMESPACE;
use crate::print::{plain, print_one_json, print_one_yaml};
use gather::gather;
use report::Report;

/// Show how this cluster stands with its hub
///
/// Run it at the managed cluster. It reads the Secrets and Events of the agent, asks the hub with the agent's own certificate, and says
/// what to do if the cluster is not managed. It also shows which ManifestWorks an admin of the cluster holds back. Nothing is changed. It
/// needs the permission to read the agent's Secrets.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  berth agent status

  # In a script
  berth agent status -o json | jq -r .waitsFor

Exit codes: 0 if the hub manages the cluster and it is available, else 1.")]
pub struct AgentStatusArgs {
    /// Namespace of the agent
    #[arg(short, long, value_name = "NAMESPACE", default_value = NAMESPACE)]
    namespace: String,
    /// Secret with the agent's certificate
    #[arg(long, value_name = "NAME", default_value = crate::join::objects::HUB_SECRET)]
    hub_kubeconfig_secret: String,
    #[command(flatten)]
    output: DocumentArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Runs the command.
///
/// # Errors
/// The managed cluster cannot be used, or does not let the user read the Secrets.
pub(crate) async fn run(args: &AgentStatusArgs) -> anyhow::Result<ExitCode> {
    let cluster = HubConnection::of_cluster(&args.cluster).await?;
    let facts = gather(&cluster, &args.namespace, &args.hub_kubeconfig_secret).await?;
    let now = Timestamp::now();
    let report = Report::of(&facts, now);
    let mut out = io::stdout().lock();
    match args.output.format {
        Some(DocumentFormat::Json) => print_one_json(&mut out, &serde_json::to_value(&report)?)?,
        Some(DocumentFormat::Yaml) => print_one_yaml(&mut out, &serde_json::to_value(&report)?)?,
        None => {
            for (what, text) in report.rows(now) {
                writeln!(out, "{:<14}{}", label(what), plain(&text))?;
            }
            if let Some(remedy) = &report.remedy {
                writeln!(out, "\nTo do: {}", plain(remedy))?;
            }
        }
    }
    Ok(if report.is_managed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The first column of a row. A row that continues the one above has none.
fn label(what: &str) -> String {
    if what.is_empty() {
        String::new()
    } else {
        format!("{what}:")
    }
}
