//! `berth drain`: moves what placements have selected away from clusters, and waits until it is gone.
//!
//! A drained cluster has the taint of `berth cordon` with the effect NoSelect. The placement controller moves the decisions. The command shows
//! before it writes what the pure scheduler makes of the taint, and at the timeout why something did not move.

mod left;
mod plan;

use std::process::ExitCode;
use std::time::Duration;

use berth_api::cluster::TaintEffect;
use berth_placement_core::Inventory;
use jiff::Timestamp;
use tokio::time::Instant;

use self::left::Left;
use self::plan::{Fate, plan};
use crate::cordon::marked;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubArgs, HubConnection, Wait, wait};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::placement::placements_of;
use crate::progress::Progress;
use crate::taint::write::write;
use crate::targets::{ChosenClusters, chosen};

/// The pause between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// Move what placements have selected away from clusters, and wait until it is gone
///
/// Adds the taint berth.open-cluster-management.io/unschedulable with the effect NoSelect, so that placements without a toleration replace
/// the clusters or do without them. Then waits until no PlacementDecision lists the clusters, and until the ManifestWorks that
/// ManifestWorkReplicaSets made are gone from their namespaces. ManifestWorks that were made in another way stay, and are named.
///
/// First the command shows what becomes of each placement that selects the clusters, as the placement controller decides it without
/// feature gates; --dry-run shows that alone. At the timeout it says what is left and why; the taint stays, and the command can be repeated.
/// 'berth uncordon' removes the taint.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Show which placements would move, and where to
  berth drain cluster1 --dry-run

  # Drain cluster1, and wait until nothing is left
  berth drain cluster1

  # Drain two clusters at once, so that nothing moves from one to the other
  berth drain cluster1 cluster2 --timeout 10m

  # The maintenance has ended
  berth uncordon cluster1 cluster2

Exit codes: 0 drained, 1 something is left at the timeout, or an error.")]
pub struct Args {
    #[command(flatten)]
    clusters: ChosenClusters,
    /// Wait until nothing is left
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    wait: bool,
    /// Timeout of --wait, such as 300 (seconds) or 5m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "300")]
    timeout: Wait,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// Those of the output, and those of the hub that concern all clusters.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let dry_run = args.write.dry_run.mode;
    let mut outcomes = Outcomes::new(&args.write);
    let (names, selector) = (args.clusters.each(), args.clusters.selector());
    let clusters = chosen(&hub, names, false, selector).await?;
    if clusters.is_empty() {
        outcomes.progress("No clusters found.");
    }
    let names: Vec<String> = clusters.iter().map(|(name, _)| name.clone()).collect();
    let (inventory, fates) = fates(&hub, &names, &outcomes).await?;
    let mut drained = Vec::new();
    for (name, read) in clusters {
        // A cluster that does not exist gets an error alone.
        let shown = match inventory.snapshot.clusters.contains_key(&name) {
            true => lines(&fates, &name),
            false => Vec::new(),
        };
        if dry_run == DryRun::None {
            shown.iter().for_each(|line| outcomes.progress(line));
        }
        let written = write(&hub, &name, read, dry_run, |taints| {
            marked(taints, TaintEffect::NoSelect, &name, "drained")
        });
        match written.await {
            Err(failure) => outcomes.failed(&name, failure)?,
            // Without a dry run these lines were printed before the write.
            Ok((changed, line)) if dry_run != DryRun::None => {
                let message = [shown, vec![line]].concat().join("\n");
                match changed {
                    true => outcomes.done(&name, message)?,
                    false => outcomes.unchanged(&name, message)?,
                }
            }
            Ok((true, _)) if !args.wait => {
                let line = format!("managedcluster/{name} is being drained");
                outcomes.done(&name, line)?;
            }
            Ok((false, line)) if !args.wait => outcomes.unchanged(&name, line)?,
            Ok((changed, _)) => drained.push((name, changed)),
        }
    }
    await_all(&hub, args, drained, &mut outcomes).await?;
    Ok(outcomes.end()?)
}

/// Waits until nothing is left on the clusters, and reports each.
async fn await_all(
    hub: &HubConnection,
    args: &Args,
    mut waiting: Vec<(String, bool)>,
    outcomes: &mut Outcomes,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + args.timeout.0;
    let mut progress = Progress::new(args.write.output.format.is_some(), args.timeout.0);
    while !waiting.is_empty() {
        let names: Vec<&str> = waiting.iter().map(|(name, _)| name.as_str()).collect();
        let mut left = match left::read(hub, &names).await {
            Ok(left) => left,
            // The hub may be restarting. The deadline bounds the wait.
            Err(failure) if failure.is_passing() && Instant::now() < deadline => {
                tokio::time::sleep_until(deadline.min(Instant::now() + PERIOD)).await;
                continue;
            }
            Err(failure) => {
                for (name, _) in waiting {
                    outcomes.failed(&name, &failure)?;
                }
                return Ok(());
            }
        };
        let mut more = Vec::new();
        for (name, changed) in waiting {
            let left = left.remove(&name).unwrap_or_default();
            if let Some(what) = left.waits_for() {
                progress.waits(&name, &what);
                more.push((name, changed, left));
                continue;
            }
            progress.ends(&name);
            progress.clear();
            let notes = left.notes(&name);
            notes.iter().for_each(|note| outcomes.progress(note));
            let line = format!("managedcluster/{name} drained");
            match changed {
                true => outcomes.done(&name, line)?,
                false => outcomes.unchanged(&name, line)?,
            }
        }
        if Instant::now() >= deadline {
            progress.clear();
            return late(hub, args.timeout, &more, outcomes).await;
        }
        waiting = more
            .into_iter()
            .map(|(name, changed, _)| (name, changed))
            .collect();
        if !waiting.is_empty() {
            progress.draw();
            tokio::time::sleep_until(deadline.min(Instant::now() + PERIOD)).await;
        }
    }
    Ok(())
}

/// Reports the clusters on which something is left at the timeout, and why.
async fn late(
    hub: &HubConnection,
    timeout: Wait,
    all: &[(String, bool, Left)],
    outcomes: &mut Outcomes,
) -> anyhow::Result<()> {
    let names: Vec<String> = all.iter().map(|(name, ..)| name.clone()).collect();
    let fates = match names.is_empty() {
        true => Vec::new(),
        // What is left is reported in any case.
        false => {
            let read = fates(hub, &names, outcomes).await;
            read.map_or_else(|_| Vec::new(), |(_, fates)| fates)
        }
    };
    for (name, _, left) in all {
        let mut message = format!(
            "not drained after {:?}; the taint stays, and 'berth uncordon {name}' removes it",
            timeout.0
        );
        let of_cluster: Vec<&Fate> = fates.iter().filter(|it| it.cluster == *name).collect();
        for line in left.reasons(&of_cluster) {
            message.push_str("\n  ");
            message.push_str(&line);
        }
        outcomes.failed(name, message)?;
    }
    Ok(())
}

/// Reads what the placements that select these clusters depend on, and returns it with what becomes of them.
async fn fates(
    hub: &HubConnection,
    names: &[String],
    outcomes: &Outcomes,
) -> Result<(Inventory, Vec<Fate>), CommandError> {
    let (inventory, notes) = placements_of(hub, names).await?;
    for note in notes {
        outcomes.progress(&format!("Warning: {note}"));
    }
    let fates = plan(&inventory, names, Timestamp::now());
    Ok((inventory, fates))
}

/// The lines about the placements that select a cluster.
fn lines(fates: &[Fate], cluster: &str) -> Vec<String> {
    let of_cluster = fates.iter().filter(|it| it.cluster == cluster);
    let lines: Vec<String> = of_cluster.map(Fate::line).collect();
    match lines.is_empty() {
        true => vec![format!("{cluster}: no placement selects it")],
        false => lines,
    }
}
