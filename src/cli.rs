//! The command line.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

#[cfg(feature = "devhub")]
use crate::demo;
use crate::{controller, hub, review, webhook_server};

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
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Hub(Box<hub::Args>),
    WebhookServer(Box<webhook_server::Args>),
    Controller(Box<controller::Args>),
    Review(review::Args),
    #[cfg(feature = "devhub")]
    Demo(demo::Args),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  source <(berth completion bash)")]
    Completion {
        /// The shell
        shell: Shell,
    },
}

/// Runs the command that was typed. An error is told in one line on standard error.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let (result, failure) = match cli.command {
        Command::Hub(args) => (hub::run(&args).map(|()| ExitCode::SUCCESS), 1),
        Command::WebhookServer(args) => (webhook_server::run(&args).map(|()| ExitCode::SUCCESS), 1),
        Command::Controller(args) => (controller::run(&args).map(|()| ExitCode::SUCCESS), 1),
        // 1 says that something was denied.
        Command::Review(args) => (review::run(&args), 2),
        #[cfg(feature = "devhub")]
        Command::Demo(args) => (demo::run(&args), 1),
        Command::Completion { shell } => (completion(shell), 1),
    };
    result.unwrap_or_else(|error| {
        // With nowhere left to write to, the exit code must do.
        let _ = writeln!(io::stderr(), "Error: {error:#}");
        ExitCode::from(failure)
    })
}

fn completion(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "berth", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
