//! `berth placement what-if`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

use berth_placement_core::{Explanation, Gates, Inventory};
use jiff::Timestamp;
use serde::Serialize;

use super::explain::document;
use super::explained;
use super::gather::{Needs, OriginArgs};
use super::manifest;
use super::text::{Bound, Text};
use crate::files::FilesArgs;
use crate::flags::{TableArgs, TableFormat};
use crate::hub::NamespaceArgs;
use crate::print::{Style, plain};

const EXAMPLES: &str = "\
Examples:
  # What a new or a changed placement would select on the hub
  berth placement what-if -f placement.yaml

  # Without a hub, for a script: exit code 1 if decisions change
  berth placement what-if -f placement.yaml --hub-files hub/ --exit-code

  # After an edit by another command
  kubectl get placement app -n team-a -o yaml | sed s/numberOfClusters:.*/numberOfClusters:\\ 5/ | berth placement what-if -f -

Nothing is written. Each placement is evaluated as if only it changed. The decisions now are those that its PlacementDecisions list.
Faults and warnings are those of Berth's webhook, whether or not the hub has it.

Exit codes: 0, also if decisions change. With --exit-code: 0 no change, 1 decisions change, 2 an error or a misconfigured placement.
Without it, an error or a misconfigured placement is 1.";

/// Upper bound on the clusters of a difference in the text, without `--all`.
const SHOWN: usize = 20;

/// Show what a new or changed placement would select, before it is applied
///
/// Evaluates Placements from files, and compares the result with the decisions on the hub.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("files", |arg| {
    arg.value_delimiter(None)
        .value_name("FILE")
        .help("YAML or JSON file with Placements, a folder of such files, or its URL; - for standard input (repeatable)")
}))]
pub struct Args {
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    namespace: NamespaceArgs,
    /// Show all clusters of the differences, and the table of all clusters
    #[arg(long)]
    all: bool,
    /// Exit with 1 if decisions change, and with 2 after an error
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    output: TableArgs,
    #[command(flatten)]
    pub(super) origin: OriginArgs,
}

/// What a placement of a file would change.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WhatIf {
    /// Where the placement was read.
    file: String,
    /// The placement exists already.
    exists: bool,
    /// The number of clusters that are listed now and stay.
    stay: usize,
    /// Clusters that are not listed now.
    added: Vec<Change>,
    /// Clusters that are listed now, and would not be any more.
    removed: Vec<Change>,
    explanation: Explanation,
}

/// A cluster that the decisions gain or lose.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    cluster: String,
    reason: String,
}

// === impl Args ===

impl Args {
    /// The exit code of an error.
    pub(super) fn failure_code(&self) -> u8 {
        if self.exit_code { 2 } else { 1 }
    }
}

/// Runs the command.
///
/// # Errors
/// A file is invalid, or the hub cannot be used.
pub(super) async fn run(args: &Args, gates: Gates) -> anyhow::Result<ExitCode> {
    let namespace = args.origin.namespace(&args.namespace);
    let placements = manifest::placements(&args.files, &namespace).await?;
    let origin = args.origin.open().await?;
    let mut needs = Needs::default();
    let mut namespaces = BTreeSet::new();
    let mut existing = Vec::new();
    for (_, placement) in &placements {
        needs = needs.and(Needs::of(placement));
        let name = placement.metadata.name.as_deref().unwrap_or_default();
        let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
        namespaces.insert(namespace);
        existing.push(origin.find(namespace, name).await?.is_some());
    }
    let namespaces: Vec<&str> = namespaces.into_iter().collect();
    let inventory = origin.inventory(&namespaces, needs).await?;
    let now = Timestamp::now();
    let results: Vec<_> = placements
        .iter()
        .zip(existing)
        .map(|((at, placement), exists)| {
            let explanation = explained(&inventory, placement, gates, now);
            WhatIf::new(at, exists, explanation)
        })
        .collect();
    let mut out = io::stdout().lock();
    match args.output.format {
        TableFormat::Table => {
            for (index, result) in results.iter().enumerate() {
                if index > 0 {
                    writeln!(out)?;
                }
                result.write(&mut out, &inventory, args.all)?;
            }
        }
        output => document(&mut out, output, &serde_json::to_value(&results)?)?,
    }
    out.flush()?;
    let is_faulty = results.iter().any(WhatIf::is_faulty);
    let differs = results.iter().any(WhatIf::differs);
    Ok(if is_faulty {
        ExitCode::from(args.failure_code())
    } else if differs && args.exit_code {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

// === impl WhatIf ===

impl WhatIf {
    fn new(at: &str, exists: bool, explanation: Explanation) -> Self {
        let change = |name: &String| Change {
            cluster: name.clone(),
            reason: match explanation.cluster(name) {
                Some(cluster) => cluster.reason.clone(),
                None => "the cluster does not exist".to_owned(),
            },
        };
        let stored = &explanation.stored;
        Self {
            file: at.to_owned(),
            exists,
            stay: stored.clusters - stored.to_remove.len(),
            added: stored.to_add.iter().map(change).collect(),
            removed: stored.to_remove.iter().map(change).collect(),
            explanation,
        }
    }

    /// The controller cannot evaluate the placement, or the gate refuses it.
    fn is_faulty(&self) -> bool {
        self.explanation.fault.is_some() || !self.explanation.faults.is_empty()
    }

    fn differs(&self) -> bool {
        !(self.added.is_empty() && self.removed.is_empty())
    }

    fn write(&self, out: &mut impl Write, inventory: &Inventory, all: bool) -> io::Result<()> {
        let style = Style::of_stdout();
        let text = Text {
            explanation: &self.explanation,
            inventory,
            controller: None,
            style,
        };
        let kind = if self.exists { "changed" } else { "new" };
        text.head(out, &format!(" ({kind})"), false)?;
        writeln!(
            out,
            "\nDecisions: {} added, {} removed, {} stay",
            self.added.len(),
            self.removed.len(),
            self.stay
        )?;
        let most = if all { usize::MAX } else { SHOWN };
        for (sign, changes) in [("-", &self.removed), ("+", &self.added)] {
            for change in changes.iter().take(most) {
                let line = format!("{sign} {}", plain(&change.cluster));
                let line = match sign {
                    "-" => style.red(&line),
                    _ => style.green(&line),
                };
                writeln!(out, "  {line}   {}", plain(&change.reason))?;
            }
            if let Some(more @ 1..) = changes.len().checked_sub(most) {
                writeln!(out, "  {sign} {more} more (--all shows them)")?;
            }
        }
        if all {
            text.table(out, Bound::All)?;
        }
        Ok(())
    }
}
