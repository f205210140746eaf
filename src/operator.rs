//! `berth operator`: installs and upgrades by an object, with the name and the flags of OCM's operator.

mod hub;
mod settings;

use clap::Subcommand;

pub(crate) use settings::Operator;

/// Install and upgrade a hub by an object
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
}

/// Runs until a signal, or until another replica takes over.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.command {
        Command::Hub(args) => hub::run(args),
    }
}
