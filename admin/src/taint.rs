//! `berth taint`: adds, replaces and removes taints of clusters, in the syntax of `kubectl taint`.
//!
//! A merge patch of `spec.taints` replaces the whole list. This command changes the taints that it names, and no others.

pub(crate) mod change;
pub(crate) mod spec;
pub(crate) mod write;

use std::io::{self, Write};
use std::process::ExitCode;

use berth_rules::display::Lines;
use clap_complete::engine::ArgValueCandidates;
use serde_json::Value;

use self::change::{Changed, changed};
use self::spec::{Changes, is_change};
use self::write::Due;
use crate::complete;
use crate::hub::{HubArgs, HubConnection};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::targets::{chosen, names_and_changes, selector};

/// Add, replace and remove taints of clusters
///
/// A taint keeps placements without a matching toleration away from a cluster. NoSelect: they do not select the cluster, and remove it if
/// it is selected. PreferNoSelect: they select it last, if the placement controller has the feature gate PlacementPreferNoSelect.
/// NoSelectIfNew: they do not select it, but keep it if it is selected.
///
/// A taint with a trailing '-' is removed. Other taints of the cluster stay as they are. The hub records when a taint was added.
///
/// The cluster has one taint with a key: --overwrite replaces its value or effect.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # No placement selects cluster1, unless it tolerates the taint
  berth taint cluster1 maintenance=disks:NoSelect

  # Keep what is selected, but select the cluster for nothing new
  berth taint cluster1 maintenance=disks:NoSelectIfNew --overwrite

  # Show what the hub says about a taint of all clusters in Europe, without writing it
  berth taint -l region=eu gpu:PreferNoSelect --dry-run=server

  # Remove the taint, whatever its value and effect are
  berth taint cluster1 maintenance-

Without a key to choose: berth cordon, berth drain and berth uncordon.

Exit codes: 0 all clusters have the taints, 1 a cluster was refused or does not exist, 2 the command line is wrong.")]
pub struct Args {
    /// Names of ManagedClusters, then taints: KEY=VALUE:EFFECT or KEY:EFFECT adds, KEY- or KEY:EFFECT- removes
    #[arg(value_name = "NAME|TAINT", required = true, add = ArgValueCandidates::new(complete::clusters))]
    words: Vec<String>,
    /// Replace the value and the effect of taints that exist
    #[arg(long)]
    overwrite: bool,
    /// All clusters of the hub
    #[arg(long, conflicts_with = "selector")]
    all: bool,
    /// All clusters with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = selector)]
    selector: Option<String>,
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
    let (names, changes) = match args.parsed() {
        Ok(parsed) => parsed,
        Err(why) => {
            writeln!(io::stderr(), "Error: {}", Lines(&why))?;
            return Ok(ExitCode::from(2));
        }
    };
    let hub = HubConnection::of(&args.hub).await?;
    let mut outcomes = Outcomes::new(&args.write);
    let clusters = chosen(&hub, names, args.all, args.selector.as_deref()).await?;
    if clusters.is_empty() {
        outcomes.progress("No clusters found.");
    }
    let decide = |name: &str, taints: &[Value]| {
        Ok(match changed(name, taints, &changes)? {
            Changed::Nothing => Due::Nothing(format!(
                "managedcluster/{name} not tainted: it already has the taint"
            )),
            Changed::Taints {
                taints,
                added,
                removed,
            } => Due::Write {
                taints,
                line: format!("managedcluster/{name} {}", verb(added, removed)),
            },
        })
    };
    let dry_run = args.write.dry_run.mode;
    write::write_each(&hub, clusters, dry_run, &mut outcomes, decide).await?;
    Ok(outcomes.end()?)
}

/// kubectl's word for a change.
fn verb(added: usize, removed: usize) -> &'static str {
    match (added, removed) {
        (_, 0) => "tainted",
        (0, _) => "untainted",
        _ => "modified",
    }
}

// === impl Args ===

impl Args {
    /// Returns the names and the changes. Nothing has been sent to the hub yet.
    fn parsed(&self) -> Result<(Vec<String>, Changes), String> {
        let is_selected = self.all || self.selector.is_some();
        let missing = "at least one taint update is required, such as KEY=VALUE:EFFECT; without a key to choose: berth cordon";
        let (names, changes) =
            names_and_changes(&self.words, is_change, is_selected, "taint", missing)?;
        Ok((names, Changes::parse(changes, self.overwrite)?))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(line: &str) -> Result<(Vec<String>, usize), String> {
        let words = std::iter::once("taint").chain(line.split(' '));
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let (names, changes) = line.args.parsed()?;
        Ok((names, changes.add.len() + changes.remove.len()))
    }

    #[test]
    fn names_come_first_and_changes_follow() {
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        for (line, expected) in [
            ("c1 k:NoSelect", (names(&["c1"]), 1)),
            ("c1 c2 c1 k:NoSelect j-", (names(&["c1", "c2"]), 2)),
            ("--all k-", (names(&[]), 1)),
            ("-l region=eu k:NoSelect", (names(&[]), 1)),
        ] {
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn a_wrong_line_is_refused_before_any_call() {
        for (line, words) in [
            ("c1", "at least one taint update is required"),
            ("k:NoSelect", "name clusters, or select them"),
            ("c1 --all k:NoSelect", "but not both"),
            ("c1 -l a=b k:NoSelect", "but not both"),
            (
                "c1 k:NoSelect c2",
                "all clusters must be specified before taint changes: c2",
            ),
            (
                "A k:NoSelect",
                "\"A\": no ManagedCluster can have this name",
            ),
            ("c1 k:Never", "invalid taint spec: k:Never, the effect is"),
            ("-l a=( k:NoSelect", "--selector"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn a_change_has_kubectls_word() {
        for (added, removed, expected) in
            [(2, 0, "tainted"), (0, 1, "untainted"), (1, 1, "modified")]
        {
            assert_eq!(verb(added, removed), expected);
        }
    }
}
