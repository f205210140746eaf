//! `berth work`: what runs ManifestWorks, with the names and the flags of OCM's, and the commands of users.

mod agent;
mod manager;

use std::process::ExitCode;

use berth_admin::WorkCommand;
use clap::Subcommand;

pub(crate) use self::agent::{WorkAgent, WorkAgentArgs, WorkFlags};
use crate::webhook_server;

const WEBHOOK_EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it (the executable is also at /work)
  berth work webhook-server --port=9443 --manifestLimit=512000

  # Without a hub: RBAC objects from files, and a self-signed certificate
  berth work webhook-server --hub-files examples/hub --self-signed --bind-address 127.0.0.1

Signals: the first SIGTERM or SIGINT drains connections and stops the process; the second one stops it immediately.";

/// Compare ManifestWorks with their clusters, and run what carries them out
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Agent(Box<WorkAgentArgs>),
    /// Run the controller of ManifestWorkReplicaSets
    ///
    /// Does the work of OCM's work manager: makes a ManifestWork for each cluster that the placements of a ManifestWorkReplicaSet select, in the steps of its rollout strategy, and keeps its status up to date.
    #[command(after_help = manager::EXAMPLES, args_override_self = true)]
    Manager(Box<manager::Args>),
    /// Serve the admission webhooks of ManifestWorks and ManifestWorkReplicaSets
    ///
    /// Serves these two webhooks of 'berth webhook-server' alone, as OCM's work webhook.
    #[command(after_help = WEBHOOK_EXAMPLES, args_override_self = true)]
    WebhookServer(Box<webhook_server::Args>),
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
            Command::Agent(_) | Command::Manager(_) | Command::WebhookServer(_) => 1,
        }
    }
}

/// Runs until a signal, or until another replica takes over; or runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Admin(command) => command.run(),
        Command::Agent(args) => agent::run(args),
        Command::Manager(args) => manager::run(args),
        Command::WebhookServer(args) => {
            webhook_server::run_for_work(args)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
