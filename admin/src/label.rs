//! `berth label`: sets and removes labels of clusters, in the syntax of `kubectl label`.
//!
//! Sets, placements and commands select clusters by labels. Those that the hub or another command keeps are not written here.

mod change;
mod spec;

use std::io::{self, Write};
use std::process::ExitCode;

use berth_rules::display::Lines;
use clap_complete::engine::ArgValueCandidates;

pub(crate) use self::change::label_due;
use self::spec::{Changes, is_change};
use crate::cluster_change::change_each;
use crate::complete;
use crate::flags::{DryRunArgs, NameOrDocumentArgs};
use crate::hub::{HubArgs, HubConnection};
use crate::outcomes::Outcomes;
use crate::targets::{chosen, names_and_changes, selector};

/// Set and remove labels of clusters
///
/// Sets, placements and the selectors of commands choose clusters by labels. A label with a trailing '-' is removed. Other labels of the
/// cluster stay as they are, also if another client changes them at the same time.
///
/// 'berth clusterset set' puts a cluster into a set. To take it out, remove the label cluster.open-cluster-management.io/clusterset; that
/// needs the permission to join the sets (berth can-i join).
#[derive(Debug, clap::Args)]
#[command(mut_arg("dry_run", |arg| arg.help_heading("Writes and output")))]
#[command(after_help = "\
Examples:
  # Give cluster1 two labels
  berth label cluster1 env=prod owner=ops

  # Replace the value of one, and remove the other
  berth label cluster1 env=dev owner- --overwrite

  # Show what the hub says about a label of all clusters in Europe, without writing it
  berth label -l region=eu tier=gold --dry-run=server

  # Label all clusters, and print their names
  berth label --all reviewed=yes -o name

Exit codes: 0 all clusters have the labels, 1 a cluster was refused or does not exist, 2 the command line is wrong.")]
pub struct Args {
    /// Names of ManagedClusters, then labels: KEY=VALUE sets, KEY- removes
    #[arg(value_name = "NAME|LABEL", required = true, add = ArgValueCandidates::new(complete::clusters))]
    words: Vec<String>,
    /// Replace the values of labels that exist
    #[arg(long)]
    overwrite: bool,
    /// All clusters of the hub
    #[arg(long, conflicts_with = "selector")]
    all: bool,
    /// All clusters with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = selector)]
    selector: Option<String>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: NameOrDocumentArgs,
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
    let mut outcomes = Outcomes::named(args.output.format, args.dry_run.mode, RESOURCE);
    let clusters = chosen(&hub, names, args.all, args.selector.as_deref()).await?;
    if clusters.is_empty() {
        outcomes.progress("No clusters found.");
    }
    let decide = |name: &str, cluster: &serde_json::Value| {
        label_due(name, cluster, &changes, args.overwrite)
    };
    change_each(&hub, clusters, args.dry_run.mode, &mut outcomes, decide).await?;
    Ok(outcomes.end()?)
}

/// Parses words such as `KEY=VALUE` and `KEY-`.
///
/// # Errors
/// A word is no change, there is none, or [`Changes::parse`] refuses.
pub(crate) fn label_changes(words: &[String]) -> Result<Changes, String> {
    if words.is_empty() {
        return Err(MISSING.to_owned());
    }
    match words.iter().find(|it| !is_change(it)) {
        Some(word) => Err(format!("{word:?} is neither KEY=VALUE nor KEY-")),
        None => Changes::parse(words),
    }
}

/// The resource in kubectl's names of objects.
const RESOURCE: &str = "managedcluster.cluster.open-cluster-management.io";

const MISSING: &str = "at least one label update is required, such as KEY=VALUE or KEY-";

// === impl Args ===

impl Args {
    /// Returns the names and the changes. Nothing has been sent to the hub yet.
    fn parsed(&self) -> Result<(Vec<String>, Changes), String> {
        let is_selected = self.all || self.selector.is_some();
        let (names, changes) =
            names_and_changes(&self.words, is_change, is_selected, "label", MISSING)?;
        Ok((names, Changes::parse(changes)?))
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
        let words = std::iter::once("label").chain(line.split(' '));
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let (names, changes) = line.args.parsed()?;
        Ok((names, changes.iter().count()))
    }

    #[test]
    fn names_come_first_and_changes_follow() {
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        for (line, expected) in [
            ("c1 k=v", (names(&["c1"]), 1)),
            ("c1 c2 c1 k=v j-", (names(&["c1", "c2"]), 2)),
            ("--all k-", (names(&[]), 1)),
            ("-l region=eu k=v", (names(&[]), 1)),
        ] {
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn a_wrong_line_is_refused_before_any_call() {
        for (line, words) in [
            ("c1", "at least one label update is required"),
            ("k=v", "name clusters, or select them"),
            ("c1 --all k=v", "but not both"),
            ("c1 -l a=b k=v", "but not both"),
            (
                "c1 k=v c2",
                "all clusters must be specified before label changes: c2",
            ),
            ("A k=v", "\"A\": no ManagedCluster can have this name"),
            ("c1 k=a/b", "invalid label value: \"k=a/b\""),
            ("-l a=( k=v", "--selector"),
            ("--all -l a=b k=v", "cannot be used with"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
