//! `berth delete cluster`: removes clusters from the hub.
//!
//! The hub's controller then deletes the add-ons and the ManifestWorks of a cluster, and the cluster's agent removes what they
//! deployed; last, the ManagedCluster goes. If the agent does not answer, that waits, so the command says it before it asks.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use berth_api::{ManagedCluster, conditions};
use berth_lifecycle_core::facts::Cluster;
use berth_rules::display::Lines;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::time::Instant;

use crate::accept::target::no_such;
use crate::ask::{can_ask, confirmed};
use crate::failure::CommandError;
use crate::held::{addons, works};
use crate::hub::{DryRun, HubArgs, HubConnection, Item, Wait, wait};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::progress::Progress;
use crate::targets::ClusterNames;

/// The pause between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// Delete clusters from the hub
///
/// On a terminal the command asks first. Elsewhere it needs --yes.
///
/// The hub deletes the add-ons and the ManifestWorks of a cluster, and then its ManagedCluster. The agent removes what they deployed,
/// so keep it running until the ManagedCluster is gone, and then run 'berth unjoin' at the managed cluster. If the agent does not run
/// any more, the ManifestWorks keep their finalizers, and the deletion waits until an admin removes these.
///
/// The namespace of the cluster on the hub stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Delete c1, and wait until it is gone
  berth delete cluster c1 --wait

  # Show what would be deleted
  berth delete cluster c1 --dry-run

  # Delete c1 and c2 without a question
  berth delete cluster c1 c2 --yes")]
pub(crate) struct Args {
    #[command(flatten)]
    names: ClusterNames,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Wait until the ManagedClusters are gone
    #[arg(long)]
    wait: bool,
    /// Timeout of --wait, such as 300 (seconds) or 5m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "300")]
    timeout: Wait,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// A cluster to delete.
struct Leaving {
    name: String,
    uid: Option<String>,
    /// What the user should know.
    effects: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Those of the output, and those of the hub that concern all clusters.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry_run = args.write.dry_run.mode;
    let asks = !args.yes && dry_run == DryRun::None;
    if asks && !can_ask() {
        let why = "Error: a deletion removes the clusters' add-ons and ManifestWorks; without a terminal to confirm it on, add --yes";
        writeln!(io::stderr(), "{why}")?;
        return Ok(ExitCode::from(2));
    }
    let hub = HubConnection::of(&args.hub).await?;
    hub.check_is_a_hub().await?;
    let mut outcomes = Outcomes::new(&args.write);
    let mut all = Vec::new();
    for name in args.names.each() {
        match leaving(&hub, &name).await {
            Ok(leaving) => all.push(leaving),
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    for line in all.iter().flat_map(|leaving| &leaving.effects) {
        if asks {
            // The user has to know this before the question.
            writeln!(io::stderr(), "{}", Lines(line))?;
        } else {
            outcomes.progress(line);
        }
    }
    if asks && !all.is_empty() {
        let question = match &all[..] {
            [one] => format!("Delete managed cluster {}?", one.name),
            more => format!("Delete these {} managed clusters?", more.len()),
        };
        if !confirmed(&question)? {
            writeln!(io::stderr(), "Nothing was changed.")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    let mut waited = Vec::new();
    for Leaving { name, uid, .. } in all {
        let deleted = hub.delete::<ManagedCluster>(None, &name, uid.clone(), dry_run);
        match deleted.await {
            Ok(_) if args.wait && dry_run == DryRun::None => waited.push((name, uid)),
            Ok(_) => outcomes.done(&name, format!("managed cluster {name} is being deleted"))?,
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    let deadline = Instant::now() + args.timeout.0;
    let mut progress = Progress::new(args.write.output.format.is_some(), args.timeout.0);
    for (name, uid) in waited {
        match until_gone(&hub, &name, uid, deadline, &mut progress).await {
            Ok(()) => outcomes.done(&name, format!("managed cluster {name} is deleted"))?,
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    Ok(outcomes.end()?)
}

async fn leaving(hub: &HubConnection, name: &str) -> Result<Leaving, CommandError> {
    let Some(item) = hub.get::<ManagedCluster>(None, name).await? else {
        return Err(no_such(hub, name).await);
    };
    let uid = item.object.metadata.uid.clone();
    let held = [
        ("ManifestWork", works(hub, name).await),
        ("add-on", addons(hub, name).await),
    ];
    let cluster = Cluster::from(item.object);
    let answers =
        cluster.condition_status(conditions::cluster::AVAILABLE) == Some(conditions::TRUE);
    Ok(Leaving {
        effects: effects(name, &held, answers),
        name: name.to_owned(),
        uid,
    })
}

/// Returns what a deletion removes, and what it waits for.
fn effects(name: &str, held: &[(&str, Result<usize, CommandError>)], answers: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut some = false;
    for (what, count) in held {
        match count {
            Ok(0) => {}
            Ok(count) => {
                some = true;
                let s = if *count == 1 { "" } else { "s" };
                lines.push(format!(
                    "{name}: {count} {what}{s} will be deleted, with what the agent deployed for them"
                ));
            }
            Err(why) => lines.push(format!("{name}: its {what}s cannot be counted: {why}")),
        }
    }
    if some && !answers {
        lines.push(format!(
            "{name}: its agent does not answer; the deletion waits until the agent, or an admin, removes the finalizers"
        ));
    }
    lines
}

/// Waits until a ManagedCluster is gone, or another one has its name.
async fn until_gone(
    hub: &HubConnection,
    name: &str,
    uid: Option<String>,
    deadline: Instant,
    progress: &mut Progress,
) -> Result<(), CommandError> {
    loop {
        let found = hub.get::<ManagedCluster>(None, name).await;
        let missing = match found {
            Ok(None) => break,
            Ok(Some(item)) if item.object.metadata.uid != uid => break,
            Ok(Some(item)) => remaining(&item),
            Err(failure) if failure.is_passing() => failure.to_string(),
            Err(failure) => {
                progress.clear();
                return Err(failure);
            }
        };
        progress.waits(name, &missing);
        if Instant::now() >= deadline {
            progress.clear();
            return Err(CommandError::Refused(format!(
                "timed out: managed cluster {name} is still being deleted: {missing}"
            )));
        }
        progress.draw();
        tokio::time::sleep_until(deadline.min(Instant::now() + PERIOD)).await;
    }
    progress.ends(name);
    progress.clear();
    Ok(())
}

/// Returns what a deletion waits for.
fn remaining(item: &Item<ManagedCluster>) -> String {
    let metadata = &item.object.metadata;
    let cluster = Cluster::from(item.object.clone());
    let said = cluster.condition(conditions::cluster::DELETING);
    match said.map(|condition| condition.message.as_str()) {
        Some(message) if !message.is_empty() => message.to_owned(),
        _ => match &metadata.deletion_timestamp {
            Some(Time(since)) => format!("the hub's controller cleans up since {since}"),
            None => "the hub's controller cleans up".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_and_what_it_waits_for_is_said() {
        let none = [("ManifestWork", Ok(0)), ("add-on", Ok(0))];
        assert!(effects("c1", &none, false).is_empty());
        let some = [("ManifestWork", Ok(1)), ("add-on", Ok(2))];
        assert_eq!(
            effects("c1", &some, true),
            [
                "c1: 1 ManifestWork will be deleted, with what the agent deployed for them",
                "c1: 2 add-ons will be deleted, with what the agent deployed for them",
            ]
        );
        let silent = effects("c1", &some, false);
        assert!(
            silent[2].starts_with("c1: its agent does not answer"),
            "{silent:?}"
        );
        let unknown = [("ManifestWork", Err(CommandError::Config("no".to_owned())))];
        assert_eq!(
            effects("c1", &unknown, true),
            ["c1: its ManifestWorks cannot be counted: no"]
        );
    }
}
