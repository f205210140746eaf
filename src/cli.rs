//! The command line.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_admin::{HubArgs, complete, review};
use berth_rules::display::Lines;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

#[cfg(feature = "devhub")]
use crate::demo;
use crate::feature_gates::{self, Of};
use crate::{controller, hub, webhook_server};

const COMPLETION: &str = "\
Examples:
  # In ~/.bashrc, or ~/.zshrc with zsh
  source <(berth completion bash)

  # For kubectl berth: both programs are berth by another name, on the PATH
  ln -s $(command -v berth) /usr/local/bin/kubectl-berth
  ln -s $(command -v berth) /usr/local/bin/kubectl_complete-berth";

/// The registration hub of Open Cluster Management: the gate that decides which clusters a hub lets in, which set they
/// join, and where sets are bound; and the controller that carries them through their life.
#[derive(Debug, Parser)]
#[command(
    name = "berth",
    version,
    propagate_version = true,
    max_term_width = 120
)]
#[command(after_help = "Run 'berth COMMAND --help' for examples.")]
pub(crate) struct Cli {
    // For those who are used to writing them before the command, as kubectl allows. What is written after it wins.
    #[command(flatten)]
    hub: HubArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Hub(Box<hub::Args>),
    WebhookServer(Box<webhook_server::Args>),
    Controller(Box<controller::Args>),
    #[command(flatten)]
    Admin(berth_admin::Command),
    Review(review::Args),
    #[cfg(feature = "devhub")]
    Demo(demo::Args),
    /// Print a completion script for a shell
    ///
    /// Commands, flags, and names of clusters, sets and namespaces, which are asked of the hub that the command line names.
    #[command(after_help = COMPLETION)]
    Completion {
        /// The shell
        shell: Shell,
    },
}

/// Runs the command that was typed. An error is told in one line on standard error.
pub(crate) fn run() -> ExitCode {
    match complete::answer(command) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(_) => return ExitCode::FAILURE,
    }
    let cli = match Cli::from_arg_matches(&command().get_matches()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let (result, failure) = match cli.command {
        Command::Admin(command) => (command.run(), 1),
        _ if cli.hub.any() => {
            let why = "--kubeconfig, --context, --as, --as-group and --request-timeout before the command are for those \
                       that people type at a hub; write the command's own flags after it";
            (Err(anyhow::anyhow!(why)), 2)
        }
        Command::Hub(args) => (hub::run(&args).map(|()| ExitCode::SUCCESS), 1),
        Command::WebhookServer(args) => (webhook_server::run(&args).map(|()| ExitCode::SUCCESS), 1),
        Command::Controller(args) => (controller::run(&args).map(|()| ExitCode::SUCCESS), 1),
        // 1 says that something was denied.
        Command::Review(args) => (decide(&args), 2),
        #[cfg(feature = "devhub")]
        Command::Demo(args) => (demo::run(&args), 1),
        Command::Completion { shell } => (
            complete::script(&shell.to_string()).map(|()| ExitCode::SUCCESS),
            1,
        ),
    };
    result.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            // Who read has seen enough. A shell shows the same code for a program that SIGPIPE ends.
            return ExitCode::from(141);
        }
        // With nowhere left to write to, the exit code must do.
        let error = format!("{error:#}");
        let _ = writeln!(io::stderr(), "Error: {}", Lines(&error));
        ExitCode::from(failure)
    })
}

fn decide(args: &review::Args) -> anyhow::Result<ExitCode> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Webhooks)?;
    review::run(args, gates.webhooks)
}

/// The whole command line. The hub's flags are not shown where they are for some commands only.
fn command() -> clap::Command {
    let command = Cli::command().mut_args(|arg| arg.global(false).hide(true));
    match complete::called_as() {
        Some(complete::KUBECTL_PLUGIN) => command.bin_name("kubectl berth"),
        _ => command,
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
