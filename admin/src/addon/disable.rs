//! `berth addon disable`: clusteradm's command line.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::addon::{ClusterManagementAddOn, InstallStrategyType, ManagedClusterAddOn};
use berth_rules::display::first_of;
use clap_complete::engine::ArgValueCandidates;

use super::AddonNames;
use crate::ask::{can_ask, confirmed};
use crate::complete;
use crate::failure::CommandError;
use crate::hub::{DryRun, Filter, HubArgs, HubConnection, namespace};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::targets::distinct;

/// Disable add-ons on clusters
///
/// The command line of 'clusteradm addon disable' works. Without --clusters, add-ons are disabled on all clusters that have them: on a terminal the command asks first, elsewhere it needs --yes.
///
/// The ManagedClusterAddOns are deleted. Hooks of the add-ons run first; 'berth addon delete --skip-hooks' lets one go whose hooks cannot complete.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  berth addon disable cluster-proxy --clusters cluster1,cluster2

  # On all clusters, as clusteradm has it
  berth addon disable --names cluster-proxy --yes")]
pub struct Args {
    #[command(flatten)]
    addons: AddonNames,
    /// Clusters on which the add-ons are disabled [default: all that have them]
    #[arg(
        long,
        visible_alias = "cluster",
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::clusters)
    )]
    clusters: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, or the output cannot be written.
pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry_run = args.write.dry_run.mode;
    let asks = args.clusters.is_empty() && !args.yes && dry_run == DryRun::None;
    if asks && !can_ask() {
        let why = "Error: without --clusters, add-ons are disabled on all clusters; without a terminal to confirm it on, add --yes";
        writeln!(io::stderr(), "{why}")?;
        return Ok(ExitCode::from(2));
    }
    let hub = HubConnection::of(&args.hub).await?;
    let mut outcomes = Outcomes::new(&args.write);
    let mut wanted = Vec::new();
    for name in args.addons.each() {
        let clusters = match &args.clusters[..] {
            [] => everywhere(&hub, name).await?,
            named => distinct(named).into_iter().map(str::to_owned).collect(),
        };
        if clusters.is_empty() {
            outcomes.unchanged(name, format!("{name} add-on not found in any cluster."))?;
        } else {
            wanted.push((name, clusters));
        }
    }
    if asks && !wanted.is_empty() {
        for (name, clusters) in &wanted {
            let list = first_of(clusters, ", ");
            writeln!(
                io::stderr(),
                "{name}: on {} clusters: {list}",
                clusters.len()
            )?;
        }
        if !confirmed("Disable them on all these clusters?")? {
            writeln!(io::stderr(), "Nothing was changed.")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    for (name, clusters) in wanted {
        let mut is_deleted = false;
        for cluster in clusters {
            let target = format!("{cluster}/{name}");
            match disable(&hub, name, &cluster, dry_run).await {
                Ok(true) => {
                    is_deleted = true;
                    let line = format!("Undeploying {name} add-on in managed cluster: {cluster}.");
                    outcomes.done(&target, line)?;
                }
                Ok(false) => {
                    let line = format!("{name} add-on not found in cluster: {cluster}.");
                    outcomes.unchanged(&target, line)?;
                }
                Err(failure) => outcomes.failed(&target, failure)?,
            }
        }
        if is_deleted && is_placed(&hub, name).await {
            outcomes.progress(&format!(
                "Note: placements install {name}: it comes back on clusters that they select, unless the install strategy of \
                 ClusterManagementAddOn {name} changes"
            ));
        }
    }
    Ok(outcomes.end()?)
}

/// The clusters that have the add-on.
async fn everywhere(hub: &HubConnection, name: &str) -> Result<Vec<String>, CommandError> {
    let filter = Filter {
        fields: Some(format!("metadata.name={name}")),
        ..Filter::default()
    };
    let all = hub.list::<ManagedClusterAddOn>(None, &filter).await?;
    let clusters = all.into_iter().map(|it| it.object.metadata.namespace);
    Ok(clusters.flatten().collect())
}

/// Returns false if the cluster does not have the add-on.
async fn disable(
    hub: &HubConnection,
    name: &str,
    cluster: &str,
    dry_run: DryRun,
) -> Result<bool, CommandError> {
    let stored = hub.get::<ManagedClusterAddOn>(Some(cluster), name).await?;
    let Some(stored) = stored else {
        return Ok(false);
    };
    let uid = stored.object.metadata.uid;
    hub.delete::<ManagedClusterAddOn>(Some(cluster), name, uid, dry_run)
        .await
}

/// Returns whether placements install the add-on, if the user may know it.
async fn is_placed(hub: &HubConnection, name: &str) -> bool {
    let stored = hub.get::<ClusterManagementAddOn>(None, name).await;
    stored
        .ok()
        .flatten()
        .is_some_and(|it| it.object.spec.install_strategy.r#type == InstallStrategyType::Placements)
}
