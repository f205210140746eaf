//! `berth delete clusterset`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use berth_api::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, labels};
use berth_rules::display::first_of;
use clap_complete::engine::ArgValueCandidates;

use super::selectors::Selects;
use super::{distinct, name, namespaces_of, set_names};
use crate::complete;
use crate::failure::{CommandError, or_nearest};
use crate::hub::{DryRun, Filter, HubArgs, HubConnection, Item, Wait, wait};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::retry::deciding_again;

const EXAMPLES: &str = "\
Examples:
  # A set without bindings and clusters
  berth delete clusterset prod

  # Show what would be left behind
  berth delete clusterset prod --force --dry-run";

/// Delete cluster sets
///
/// Without --force, a set is not deleted if it is bound to a namespace or has clusters, or if the hub would create it again. A
/// set that does not exist counts as deleted.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Names of the sets
    #[arg(
        value_name = "NAME",
        required = true,
        value_parser = name,
        add = ArgValueCandidates::new(complete::sets)
    )]
    names: Vec<String>,
    /// Delete a set even if it is in use, and print what is left behind
    #[arg(long)]
    force: bool,
    /// Wait until the sets are deleted
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
    /// Timeout of --wait, such as 10s or 1m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "5m")]
    timeout: Wait,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    write: WriteArgs,
}

/// The uses of a set, which prevent its deletion.
#[derive(Clone, Debug)]
struct Uses {
    /// The hub creates the set again.
    kept: bool,
    /// The namespaces that the set is bound to.
    bound: Result<Vec<String>, CommandError>,
    /// The clusters in the set.
    members: Result<Vec<String>, CommandError>,
    /// The set selects its members by other labels than the cluster-set label.
    by_labels: bool,
}

/// A set that is being deleted.
struct Leaving {
    name: String,
    uid: String,
    line: String,
}

/// The first and the longest pause between two reads of a set that is being deleted.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, or the output cannot be written.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let mut outcomes = Outcomes::new(&args.write);
    let mut all_leaving = Vec::new();
    for name in distinct(&args.names) {
        match delete(&hub, name, args).await {
            Ok(None) => {
                let line = format!("Clusterset {name} not found or is already deleted");
                outcomes.unchanged(name, line)?;
                let names = set_names(&hub).await;
                let near = or_nearest(name, names.iter().map(String::as_str));
                if let Some(near) = near.strip_prefix("; ") {
                    outcomes.progress(&format!("Note: Clusterset {name} does not exist: {near}"));
                }
            }
            Ok(Some(leaving)) if args.write.dry_run.mode != DryRun::None => {
                outcomes.done(name, leaving.line)?;
            }
            Ok(Some(leaving)) if !args.wait => {
                let line = leaving.line.replacen("is deleted", "is being deleted", 1);
                outcomes.done(name, line)?;
            }
            Ok(Some(leaving)) => all_leaving.push(leaving),
            Err(failure) => outcomes.failed(name, failure)?,
        }
    }
    let begun = Instant::now();
    for leaving in all_leaving {
        match until_gone(&hub, &leaving, begun, args.timeout.0).await {
            Ok(()) => outcomes.done(&leaving.name, leaving.line)?,
            Err(failure) => outcomes.failed(&leaving.name, failure)?,
        }
    }
    Ok(outcomes.end()?)
}

/// Deletes a set, unless it is in use. Returns None if it does not exist.
async fn delete(
    hub: &HubConnection,
    name: &str,
    args: &Args,
) -> Result<Option<Leaving>, CommandError> {
    deciding_again(async || {
        let Some(set) = hub.get::<ManagedClusterSet>(None, name).await? else {
            return Ok(None);
        };
        let metadata = &set.object.metadata;
        let mut line = format!("Clusterset {name} is deleted");
        if metadata.deletion_timestamp.is_none() {
            let uses = uses(hub, name, &set).await;
            if args.force {
                if let Some(left) = left_behind(&uses) {
                    line = format!("{line}; {left}");
                }
            } else if let Some(why) = refusal(name, &uses) {
                return Err(CommandError::Refused(why));
            }
        }
        let uid = metadata.uid.clone();
        let dry_run = args.write.dry_run.mode;
        let deleted = hub.delete::<ManagedClusterSet>(None, name, uid.clone(), dry_run);
        Ok(deleted.await?.then(|| Leaving {
            name: name.to_owned(),
            uid: uid.unwrap_or_default(),
            line,
        }))
    })
    .await
}

async fn uses(hub: &HubConnection, name: &str, set: &Item<ManagedClusterSet>) -> Uses {
    let everything = Filter::default();
    let bindings = hub.list::<ManagedClusterSetBinding>(None, &everything);
    let bound = bindings.await.map(|all| namespaces_of(name, &all));
    let selects = Selects::of(&set.object.spec.cluster_selector);
    let members = match selects.members(name) {
        None => Ok(Vec::new()),
        Some(filter) => {
            let clusters = hub.list::<ManagedCluster>(None, &filter).await;
            clusters.map(|clusters| clusters.iter().map(Item::name).collect())
        }
    };
    Uses {
        kept: [labels::DEFAULT_SET, labels::GLOBAL_SET].contains(&name),
        bound,
        members,
        by_labels: selects != Selects::ByName,
    }
}

/// Returns the reason why the set is not deleted, or None if it is unused.
fn refusal(name: &str, uses: &Uses) -> Option<String> {
    if uses.kept {
        return Some(format!(
            "Clusterset {name} can not be deleted: the hub creates it again (while its feature gate DefaultClusterSet is on); \
             --force deletes it anyway"
        ));
    }
    let mut reasons = Vec::new();
    match &uses.bound {
        Ok(namespaces) if namespaces.is_empty() => {}
        Ok(namespaces) => reasons.push(format!(
            "it is bound to {} (berth clusterset unbind {name} --namespace {})",
            listed("Namespace", namespaces),
            namespaces[0],
        )),
        Err(why) => reasons.push(format!("its bindings cannot be listed: {why}")),
    }
    match &uses.members {
        Ok(clusters) if clusters.is_empty() => {}
        Ok(clusters) if uses.by_labels => {
            reasons.push(format!(
                "it selects {} by labels",
                listed("Cluster", clusters)
            ));
        }
        Ok(clusters) => reasons.push(format!(
            "it has {} (berth clusterset set OTHER -l {}={name})",
            listed("Cluster", clusters),
            labels::CLUSTER_SET,
        )),
        Err(why) => reasons.push(format!("its clusters cannot be listed: {why}")),
    }
    (!reasons.is_empty()).then(|| {
        format!(
            "Clusterset {name} is in use: {}; --force deletes it anyway",
            reasons.join("; ")
        )
    })
}

/// Describes what a forced deletion leaves behind, or None.
fn left_behind(uses: &Uses) -> Option<String> {
    let mut left = Vec::new();
    if uses.kept {
        left.push("the hub creates it again".to_owned());
    }
    match &uses.bound {
        Ok(namespaces) if namespaces.is_empty() => {}
        Ok(namespaces) => left.push(format!(
            "bindings of it are left in {}",
            listed("Namespace", namespaces)
        )),
        Err(why) => left.push(format!(
            "the bindings that are left cannot be listed: {why}"
        )),
    }
    match &uses.members {
        // The labels of these clusters do not name the set.
        Ok(_) if uses.by_labels => {}
        Ok(clusters) if clusters.is_empty() => {}
        Ok(clusters) => left.push(format!(
            "the label {} is left on {}",
            labels::CLUSTER_SET,
            listed("Cluster", clusters)
        )),
        Err(why) => left.push(format!(
            "the clusters that keep its label cannot be listed: {why}"
        )),
    }
    (!left.is_empty()).then(|| left.join("; "))
}

/// `Namespace a`, `Namespaces a, b`, `12 Namespaces a, b, ... and 10 more`.
fn listed(kind: &str, names: &[String]) -> String {
    let list = first_of(names, ", ");
    match names.len() {
        1 => format!("{kind} {list}"),
        many => format!("{many} {kind}s {list}"),
    }
}

/// Waits until the set with this uid is deleted. A new set may then have its name.
async fn until_gone(
    hub: &HubConnection,
    leaving: &Leaving,
    begun: Instant,
    timeout: Duration,
) -> Result<(), CommandError> {
    let Leaving { name, uid, .. } = leaving;
    let (mut pause, longest) = PAUSES;
    loop {
        let finalizers = match hub.get::<ManagedClusterSet>(None, name).await {
            Ok(Some(set)) if set.object.metadata.uid.as_ref() == Some(uid) => {
                set.object.metadata.finalizers.unwrap_or_default()
            }
            Ok(_) => return Ok(()),
            Err(failure) if failure.is_passing() && begun.elapsed() < timeout => Vec::new(),
            Err(failure) => return Err(failure),
        };
        let left = timeout.saturating_sub(begun.elapsed());
        if left.is_zero() {
            let held = match finalizers.as_slice() {
                [] => String::new(),
                finalizers => format!(", held by {}", listed("finalizer", finalizers)),
            };
            return Err(CommandError::Refused(format!(
                "Clusterset {name} is being deleted, and still exists after {timeout:?}{held}"
            )));
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(longest);
    }
}
