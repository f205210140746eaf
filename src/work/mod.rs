//! `berth work`: what runs ManifestWorks, with the names and the flags of OCM's, and the commands of users.

use std::process::ExitCode;

use berth_admin::WorkCommand;
use clap::Subcommand;

/// Compare ManifestWorks with their clusters
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Admin(Box<WorkCommand>),
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
        }
    }
}

/// Runs until a signal, or until another replica takes over; or runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Admin(command) => command.run(),
    }
}
