//! `berth addon`: what runs add-ons, with the names and the flags of OCM's, and the commands of users.

mod manager;

use std::process::ExitCode;

use berth_admin::AddonCommand;
use clap::Subcommand;

use crate::hub_component::manager::ManagerArgs;
use crate::webhook_server::{self, GateArgs};

const WEBHOOK_EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it (the executable is also at /addon)
  berth addon webhook-server --port=9443 --certdir=/certs

  # On this host, with a self-signed certificate
  berth addon webhook-server --self-signed --bind-address 127.0.0.1

Signals: the first SIGTERM or SIGINT drains connections and stops the process; the second one stops it immediately.";

/// Create, enable, explain and delete add-ons, and run what they need on the hub
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller of add-ons
    ///
    /// Does the work of OCM's add-on manager: installs add-ons on the clusters that placements select, rolls out their configs in the steps of the rollout strategy, and reports how far they are. Add-ons that a template defines it also deploys; others have a manager of their own for that.
    #[command(after_help = manager::EXAMPLES, args_override_self = true)]
    Manager(Box<ManagerArgs>),
    /// Serve the conversion webhook of ClusterManagementAddOns and ManagedClusterAddOns
    ///
    /// Converts them between v1alpha1 and v1beta1, as OCM's add-on webhook. 'berth webhook-server' serves this webhook beside all others. It asks no hub, so its account needs no permission, unless the certificate comes from a Secret.
    #[command(
        after_help = WEBHOOK_EXAMPLES,
        args_override_self = true,
        // They are for reviews.
        mut_arg("manifest_limit", |arg| arg.hide(true)),
        mut_arg("reserved_prefixes", |arg| arg.hide(true))
    )]
    WebhookServer(Box<GateArgs>),
    #[command(flatten)]
    Admin(Box<AddonCommand>),
}

// === impl Args ===

impl Args {
    /// Returns true for a command of users, which ends by itself.
    pub(crate) fn is_command(&self) -> bool {
        matches!(self.command, Command::Admin(_))
    }
}

/// Runs until a signal, the manager also until another replica takes over; or runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Admin(command) => return command.run(),
        Command::Manager(args) => manager::run(args)?,
        Command::WebhookServer(args) => webhook_server::run_for_addons(args)?,
    }
    Ok(ExitCode::SUCCESS)
}
