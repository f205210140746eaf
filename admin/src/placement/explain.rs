//! `berth placement explain`.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_placement_core::Gates;
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::explained;
use super::gather::{self, Needs, Origin, OriginArgs};
use super::one::One;
use super::text::{Bound, Text};
use crate::complete;
use crate::failure::CommandError;
use crate::flags::{TableArgs, TableFormat};
use crate::hub::NamespaceArgs;
use crate::print::{Style, print_one_json, print_one_yaml};

const EXAMPLES: &str = "\
Examples:
  # Why these clusters
  berth placement explain app -n team-a

  # Why not this cluster
  berth placement explain app -n team-a --cluster cluster3

  # Without a hub, from files that 'kubectl get -o yaml' wrote
  berth placement explain app -n team-a --hub-files hub/

A cluster passes these steps:
  1. It belongs to a ManagedClusterSet that is bound to the namespace (and that spec.clusterSets names, if it names any).
  2. It matches one of spec.predicates. Inside a predicate, all selectors and expressions must match.
  3. spec.tolerations tolerate its taints with the effects NoSelect and, unless it is selected already, NoSelectIfNew.
  4. Prioritizers score it. The spec.numberOfClusters clusters with the highest scores are selected; of equal scores the first by name.

The command evaluates the placement as the controller does, so it can show what the controller has not written yet. It needs the right to
list ManagedClusters, sets, and the bindings of the namespace.

Exit codes: 0 explained, 1 the placement or the cluster does not exist, or an error.";

/// Show why a placement selects its clusters, and not others
///
/// Shows the state of the placement, how many clusters each step left, and the reason for each cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Name of the Placement
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::placements))]
    name: String,
    #[command(flatten)]
    namespace: NamespaceArgs,
    /// Everything about one cluster
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(complete::clusters))]
    cluster: Option<String>,
    /// Show all clusters in the table; by default 20 of each kind, and how many more
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: TableArgs,
    #[command(flatten)]
    pub(super) origin: OriginArgs,
}

/// Runs the command.
///
/// # Errors
/// The placement or the cluster does not exist, or the hub or a file cannot be used.
pub(super) async fn run(args: &Args, gates: Gates) -> anyhow::Result<ExitCode> {
    let origin = args.origin.open().await?;
    let hub = match &origin {
        Origin::Hub(hub) => Some(hub.clone()),
        Origin::Files(_) => None,
    };
    let namespace = args.origin.namespace(&args.namespace);
    let placement = origin.placement(&namespace, &args.name).await?;
    let needs = Needs::of(&placement);
    let inventory = origin.inventory(&[&namespace], needs).await?;
    let now = Timestamp::now();
    let explanation = explained(&inventory, &placement, gates, now);
    let stored = &explanation.stored;
    let controller = match &hub {
        Some(hub) if stored.differs() && !stored.is_paused => {
            Some(gather::controller(hub, now).await)
        }
        _ => None,
    };
    let mut out = io::stdout().lock();
    let Some(name) = &args.cluster else {
        match args.output.format {
            TableFormat::Table => {
                let bound = if args.all { Bound::All } else { Bound::Some };
                let text = Text {
                    explanation: &explanation,
                    inventory: &inventory,
                    controller: controller.as_deref(),
                    style: Style::of_stdout(),
                };
                text.write(&mut out, bound)?;
            }
            output => document(&mut out, output, &serde_json::to_value(&explanation)?)?,
        }
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    };
    let Some(one) = One::new(&explanation, &inventory, name) else {
        let names = inventory.snapshot.clusters.keys();
        let mut failure = CommandError::no_such(
            "managedclusters.cluster.open-cluster-management.io",
            name,
            names.map(String::as_str),
        )
        .to_string();
        if stored.to_remove.contains(name) {
            failure.push_str("; a PlacementDecision still lists it");
            if !stored.is_paused {
                failure.push_str(", until the controller removes it");
            }
        }
        anyhow::bail!("{failure}");
    };
    match args.output.format {
        TableFormat::Table => one.write(&mut out, controller.as_deref(), Style::of_stdout())?,
        output => document(&mut out, output, &one.to_json()?)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a value as JSON or YAML.
pub(super) fn document(out: &mut impl Write, output: TableFormat, value: &Value) -> io::Result<()> {
    match output {
        TableFormat::Yaml => print_one_yaml(out, value),
        TableFormat::Json | TableFormat::Table => print_one_json(out, value),
    }
}

// === impl One ===

impl One<'_> {
    fn to_json(&self) -> serde_json::Result<Value> {
        let explanation = self.explanation;
        Ok(json!({
            "namespace": explanation.namespace,
            "name": explanation.name,
            "conditions": serde_json::to_value(&explanation.conditions)?,
            "cluster": serde_json::to_value(self.cluster)?,
            "sets": self.sets,
            "placementSets": serde_json::to_value(&explanation.sets)?,
            "faults": explanation.faults,
            "warnings": explanation.warnings,
        }))
    }
}
