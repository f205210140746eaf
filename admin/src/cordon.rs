//! `berth cordon` and `berth uncordon`: a taint with a key of our own keeps new placements away from a cluster.
//!
//! `berth drain` sets the same key with an effect that also ends what is selected, so `berth uncordon` ends both.

use std::process::ExitCode;

use berth_api::cluster::TaintEffect;
use berth_api::labels::TAINT_UNSCHEDULABLE;
use serde_json::Value;

use crate::failure::CommandError;
use crate::hub::{HubArgs, HubConnection};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::taint::change::{Changed, changed};
use crate::taint::spec::{Changes, NewTaint, Removal};
use crate::taint::write::{Due, write_each};
use crate::targets::{ChosenClusters, chosen};

/// Mark clusters as unschedulable: placements do not newly select them
///
/// What is selected stays. The command adds the taint berth.open-cluster-management.io/unschedulable with the effect NoSelectIfNew. A
/// placement that tolerates this taint selects the cluster all the same. 'berth drain' also moves what is selected, and
/// 'berth uncordon' ends both.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # No new placement selects cluster1
  berth cordon cluster1

  # The same for all clusters in Europe; show it first
  berth cordon -l region=eu --dry-run=server
  berth cordon -l region=eu

  # See which clusters are cordoned
  berth get clusters -o wide")]
pub struct CordonArgs {
    #[command(flatten)]
    rest: Rest,
}

/// Mark clusters as schedulable: ends 'berth cordon' and 'berth drain'
///
/// Removes the taint berth.open-cluster-management.io/unschedulable, and no other taint. Placements select the cluster again when they
/// next choose clusters; what moved away does not move back by itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The maintenance of cluster1 has ended
  berth uncordon cluster1

  # The same for all clusters in Europe
  berth uncordon -l region=eu")]
pub struct UncordonArgs {
    #[command(flatten)]
    rest: Rest,
}

#[derive(Debug, clap::Args)]
struct Rest {
    #[command(flatten)]
    clusters: ChosenClusters,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs `berth cordon`.
///
/// # Errors
/// Those of the output, and those of the hub that concern all clusters.
pub(crate) async fn cordon(args: &CordonArgs) -> anyhow::Result<ExitCode> {
    each(&args.rest, cordoned).await
}

/// Runs `berth uncordon`.
///
/// # Errors
/// As [`cordon`].
pub(crate) async fn uncordon(args: &UncordonArgs) -> anyhow::Result<ExitCode> {
    each(&args.rest, uncordoned).await
}

async fn each(
    args: &Rest,
    decide: impl Fn(&str, &[Value]) -> Result<Due, CommandError>,
) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let mut outcomes = Outcomes::new(&args.write);
    let (names, selector) = (args.clusters.each(), args.clusters.selector());
    let clusters = chosen(&hub, names, false, selector).await?;
    if clusters.is_empty() {
        outcomes.progress("No clusters found.");
    }
    let dry_run = args.write.dry_run.mode;
    write_each(&hub, clusters, dry_run, &mut outcomes, decide).await?;
    Ok(outcomes.end()?)
}

/// Adds the taint, unless the cluster has it. A cluster that is drained stays so: it is not selected newly either.
pub(crate) fn cordoned(name: &str, taints: &[Value]) -> Result<Due, CommandError> {
    let is_drained = |it: &Value| is_ours(it) && it["effect"] == "NoSelect";
    if taints.iter().any(is_drained) {
        let line = format!("managedcluster/{name} already cordoned, and drained");
        return Ok(Due::Nothing(line));
    }
    marked(taints, TaintEffect::NoSelectIfNew, name, "cordoned")
}

/// Gives the cluster the taint with this effect, and no other taint with its key.
pub(crate) fn marked(
    taints: &[Value],
    effect: TaintEffect,
    name: &str,
    word: &str,
) -> Result<Due, CommandError> {
    let has_effect = |it: &Value| is_ours(it) && it["effect"] == effect.as_str();
    if taints.iter().any(has_effect) {
        let line = format!("managedcluster/{name} already {word}");
        return Ok(Due::Nothing(line));
    }
    let changes = Changes {
        add: vec![NewTaint {
            key: TAINT_UNSCHEDULABLE.to_owned(),
            value: String::new(),
            effect,
        }],
        overwrite: true,
        ..Changes::default()
    };
    due(name, taints, &changes, word)
}

/// Removes the taint.
pub(crate) fn uncordoned(name: &str, taints: &[Value]) -> Result<Due, CommandError> {
    if !taints.iter().any(is_ours) {
        let line = format!("managedcluster/{name} already uncordoned");
        return Ok(Due::Nothing(line));
    }
    let changes = Changes {
        remove: vec![Removal {
            key: TAINT_UNSCHEDULABLE.to_owned(),
            effect: None,
        }],
        ..Changes::default()
    };
    due(name, taints, &changes, "uncordoned")
}

fn due(name: &str, taints: &[Value], changes: &Changes, word: &str) -> Result<Due, CommandError> {
    Ok(match changed(name, taints, changes)? {
        Changed::Nothing => Due::Nothing(format!("managedcluster/{name} already {word}")),
        Changed::Taints { taints, .. } => Due::Write {
            taints,
            line: format!("managedcluster/{name} {word}"),
        },
    })
}

fn is_ours(taint: &Value) -> bool {
    taint["key"] == TAINT_UNSCHEDULABLE
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(due: Due) -> (String, Option<String>) {
        match due {
            Due::Nothing(line) => (line, None),
            Due::Write { taints, line } => {
                let shown = taints.iter().map(|it| {
                    let effect = it["effect"].as_str().unwrap();
                    format!("{}:{effect}", it["key"].as_str().unwrap())
                });
                (line, Some(shown.collect::<Vec<_>>().join(" ")))
            }
        }
    }

    #[test]
    fn a_cluster_is_cordoned_once_and_uncordoned_once() {
        let ours = |effect: &str| json!({"key": TAINT_UNSCHEDULABLE, "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"});
        let other = || json!({"key": "a", "effect": "NoSelect"});
        let key = TAINT_UNSCHEDULABLE;
        type Decide = fn(&str, &[Value]) -> Result<Due, CommandError>;
        let (cordon, uncordon): (Decide, Decide) = (cordoned, uncordoned);
        for (decide, before, line, after) in [
            (
                cordon,
                vec![other()],
                "cordoned",
                Some(format!("a:NoSelect {key}:NoSelectIfNew")),
            ),
            (
                cordon,
                vec![other(), ours("NoSelectIfNew")],
                "already cordoned",
                None,
            ),
            (
                cordon,
                vec![ours("NoSelect")],
                "already cordoned, and drained",
                None,
            ),
            (
                cordon,
                vec![ours("PreferNoSelect")],
                "cordoned",
                Some(format!("{key}:NoSelectIfNew")),
            ),
            (uncordon, vec![other()], "already uncordoned", None),
            (
                uncordon,
                vec![ours("NoSelectIfNew"), other()],
                "uncordoned",
                Some("a:NoSelect".to_owned()),
            ),
            (
                uncordon,
                vec![ours("NoSelect")],
                "uncordoned",
                Some(String::new()),
            ),
        ] {
            let (said, taints) = said(decide("c1", &before).unwrap());
            assert_eq!(said, format!("managedcluster/c1 {line}"));
            assert_eq!(taints, after, "{line}");
        }
    }
}
