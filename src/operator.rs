//! `berth operator`: installs and upgrades by an object, with the name and the flags of OCM's operator.

mod hub;
mod klusterlet;
mod settings;

use clap::Subcommand;

pub(crate) use settings::Operator;

/// Install and upgrade a hub, or the agent of a cluster, by an object
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the operator of a hub
    ///
    /// Does the work of OCM's operator: installs on the hub what a ClusterManager asks for, keeps it as it should be, and says in the conditions of the ClusterManager how far it is. The objects are those of 'berth init' and of the chart.
    #[command(after_help = hub::EXAMPLES, args_override_self = true)]
    Hub(Box<hub::Args>),
    /// Run the operator of a managed cluster
    ///
    /// Does the work of OCM's operator: installs on the cluster the agent that a Klusterlet asks for, keeps it as it should be, and says in the conditions of the Klusterlet how far it is, and whether the agent can reach its hub. The objects are those of 'berth join' and of the chart.
    #[command(after_help = klusterlet::EXAMPLES, args_override_self = true)]
    Klusterlet(Box<klusterlet::Args>),
}

/// Runs until a signal, or until another replica takes over.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.command {
        Command::Hub(args) => hub::run(args),
        Command::Klusterlet(args) => klusterlet::run(args),
    }
}
