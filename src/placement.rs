//! `berth placement`: the placement controller, with the name and the flags of OCM's, and the commands of users.

mod args;
mod debug;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::process::ExitCode;

use berth_admin::PlacementCommand;
use clap::Subcommand;
use tokio::runtime::Builder;

use self::args::ControllerArgs;
pub(crate) use self::args::PlacementArgs;
use self::debug::DebugArgs;
use crate::controller::Selection;
use crate::feature_gates::{self, Of};

const EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it (the executable is also at /placement)
  berth placement controller

  # Outside of the hub's cluster
  berth placement controller --kubeconfig ~/.kube/hub --listen 127.0.0.1:8443

  # As OCM's: a placement with a mistake in its spec loses all its clusters
  berth placement controller --misconfigured-decisions=remove

A Placement selects clusters of the ManagedClusterSets that are bound to its namespace. The controller lists them in
PlacementDecisions with the label cluster.open-cluster-management.io/placement=NAME, and writes the result into the conditions
PlacementSatisfied and PlacementMisconfigured of the Placement. A cluster that stays selected is never missing in between. The
annotation cluster.open-cluster-management.io/experimental-scheduling-disable=true on a Placement stops all work on it.

Of several replicas one is active: the holder of the Lease placement-lock. OCM's controller uses the same Lease.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

/// Explain placements, and run their controller
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller of placements
    ///
    /// Does the work of OCM's placement controller: selects clusters for each Placement, and keeps its PlacementDecisions and status up to date.
    #[command(after_help = EXAMPLES, args_override_self = true)]
    Controller(Box<ControllerArgs>),
    /// Serve explanations of placements by HTTP
    ///
    /// OCM's debug endpoint: GET /debug/placements/NAMESPACE/NAME, or POST a Placement to /debug/placements/. It also says why each cluster is selected or not.
    #[command(after_help = debug::EXAMPLES, args_override_self = true)]
    Debug(Box<DebugArgs>),
    #[command(flatten)]
    Admin(Box<PlacementCommand>),
}

// === impl Args ===

impl Args {
    /// Returns true for a command of users, which ends by itself.
    pub(crate) fn is_command(&self) -> bool {
        matches!(self.command, Command::Admin(_))
    }

    /// The exit code of an error.
    pub(crate) fn failure_code(&self) -> u8 {
        match &self.command {
            Command::Admin(command) => command.failure_code(),
            Command::Controller(_) | Command::Debug(_) => 1,
        }
    }
}

/// Runs until a signal, or until another replica takes over; or runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Admin(command) => {
            let gates = feature_gates::parse(command.feature_gates(), Of::Placement)?;
            for warning in gates.warnings {
                writeln!(io::stderr(), "Warning: {warning}")?;
            }
            command.run(gates.placement)
        }
        Command::Controller(args) => {
            work(args)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Debug(args) => {
            args.logs
                .run(Builder::new_current_thread(), debug::work(args))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn work(args: &ControllerArgs) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Placement)?;
    let selection = Selection {
        placement: Some(args.placement.settings(&gates)),
        ..Selection::default()
    };
    args.manager.run(selection, gates.warnings)
}
