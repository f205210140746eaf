//! `berth uninstall`: removes Berth from a hub, and keeps the fleet unless the user purges it.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::ManagedCluster;

use super::components;
use super::conversion::OfTheGate;
use super::purge::Purge;
use crate::ask::{can_ask, confirmed};
use crate::failure::CommandError;
use crate::flags::DryRunArgs;
use crate::hub::{DryRun, HubArgs, HubConnection, Wait, wait};

/// Remove Berth from a hub, and keep the clusters
///
/// It removes the webhook registrations and policies first, since the API server would refuse writes without a gate that answers; then the
/// Deployments, accounts, roles, and the namespace open-cluster-management-hub, unless something else runs in it.
///
/// The CustomResourceDefinitions stay, and with them every ManagedCluster, set, placement and work; so do the namespaces and rights of the
/// clusters, and the account of bootstrap tokens. Agents keep working, and find the hub as it was when Berth or OCM is installed again.
/// Nothing of this deletes a cluster: 'berth delete cluster' does, and so does --purge.
///
/// Without the gate nothing converts add-ons. So their CustomResourceDefinitions serve only the version in which the objects are stored, until
/// Berth or OCM is installed again; where objects are stored in two versions, the CustomResourceDefinition stays as it is.
///
/// With --purge the fleet goes, too: while the controllers still run, every ManagedCluster, and with it the add-ons and ManifestWorks, which
/// the agents remove from their clusters; then Berth, and the CustomResourceDefinitions with all their objects. The command asks for the name
/// of the hub: the cluster of the kubeconfig's context, or else the host of the API server. It removes no finalizers: where agents do not run
/// any more, it names the objects that wait, and stops at --timeout. It can be run again, and goes on with what is left.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Show what would be removed, and what stays
  berth uninstall --dry-run

  # Remove without a question
  berth uninstall --yes

  # Show what --purge would delete, as the API server decides it
  berth uninstall --purge --dry-run=server

  # Remove Berth with all clusters, from a script
  berth uninstall --purge --confirm my-hub")]
pub struct Args {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Also delete the clusters, with all other objects of the fleet, and the CustomResourceDefinitions. Asks for the name of the hub
    #[arg(long)]
    purge: bool,
    /// The name of the hub, for --purge without a terminal. --yes does not replace it
    #[arg(long, value_name = "NAME", requires = "purge")]
    confirm: Option<String>,
    /// Timeout of --purge, such as 300 (seconds) or 5m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "10m", requires = "purge")]
    timeout: Wait,
    // Flags of clusteradm's 'clean': there is one hub, and no operator.
    #[arg(long, hide = true)]
    name: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    purge_operator: Option<bool>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, what runs there is not of this command, or an object cannot be deleted.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry_run = args.dry_run.mode;
    if args.purge {
        let purge = Purge {
            confirm: args.confirm.as_deref(),
            timeout: args.timeout.0,
            dry_run,
            hub: &args.hub,
        };
        return purge.run().await;
    }
    let asks = !args.yes && dry_run == DryRun::None;
    if asks && !can_ask() {
        let why = "Error: without a terminal to confirm the removal on, add --yes; --dry-run shows what it removes";
        writeln!(io::stderr(), "{why}")?;
        return Ok(ExitCode::from(2));
    }
    let hub = HubConnection::of(&args.hub).await?;
    components::check(&hub).await?;
    let clusters = count(hub.names::<ManagedCluster>(None).await)?;
    let there = components::existing(&hub, clusters > 0).await?;
    let converted = OfTheGate::read(&hub).await?;
    if there.is_empty() && converted.is_empty() {
        writeln!(io::stdout(), "Berth is not installed: nothing was removed")?;
        return Ok(ExitCode::SUCCESS);
    }
    if asks {
        let question = format!(
            "Remove Berth ({} objects) from the hub at {}? Its {clusters} clusters stay.",
            there.len(),
            hub.server()
        );
        if !confirmed(&question)? {
            writeln!(io::stderr(), "Nothing was changed.")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    // First: without the gate, the API server would fail reads of add-ons, and with them the deletion of namespaces.
    converted.end(&hub, dry_run).await?;
    components::remove(&hub, &there, dry_run).await?;
    components::remove_namespace(&hub, dry_run).await?;
    if dry_run != DryRun::None {
        writeln!(io::stderr(), "Nothing was changed.")?;
    }
    writeln!(io::stdout(), "{}", what_stays(clusters))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns how many there are. A hub without the kind has none.
fn count(names: Result<Vec<String>, CommandError>) -> Result<usize, CommandError> {
    match names {
        Ok(names) => Ok(names.len()),
        Err(CommandError::NoHub { .. }) => Ok(0),
        Err(failure) => Err(failure),
    }
}

fn what_stays(clusters: usize) -> String {
    format!(
        "These stay: {clusters} ManagedClusters with their namespaces and rights, the CustomResourceDefinitions, and the account of \
         bootstrap tokens (namespace open-cluster-management)."
    )
}
