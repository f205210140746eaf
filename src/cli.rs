//! The command line.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use berth_admin::{HubArgs, complete, policies, review};
use berth_rules::display::Lines;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

#[cfg(feature = "devhub")]
use crate::demo;
use crate::feature_gates::{self, Of};
use crate::{addon, agent, console, controller, hub, operator, placement, webhook_server, work};

const COMPLETION: &str = "\
Examples:
  # In ~/.bashrc, or ~/.zshrc with zsh
  source <(berth completion bash)

  # For kubectl berth: link berth under two other names on the PATH
  ln -s $(command -v berth) /usr/local/bin/kubectl-berth
  ln -s $(command -v berth) /usr/local/bin/kubectl_complete-berth";

/// Open Cluster Management in Rust: registration, placement and work. On the hub: an admission gate that decides which clusters a
/// hub accepts, which sets they join, and where sets are bound; and controllers that manage clusters from acceptance to removal,
/// select clusters for Placements, and create ManifestWorks. On a managed cluster: the agent that registers and reports the
/// cluster, and applies its ManifestWorks.
#[derive(Debug, Parser)]
#[command(
    name = "berth",
    version,
    propagate_version = true,
    max_term_width = 120
)]
#[command(
    after_help = "Run 'berth COMMAND --help' for examples, and 'berth options' for the flags that all commands have."
)]
pub(crate) struct Cli {
    // Flags before the command, as kubectl allows. Flags after the command win.
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
    Agent(Box<agent::Args>),
    Placement(placement::Args),
    Work(work::Args),
    Addon(addon::Args),
    Operator(operator::Args),
    #[command(flatten)]
    Admin(berth_admin::Command),
    Console(Box<console::Args>),
    Review(review::Args),
    Policies(policies::Args),
    #[cfg(feature = "devhub")]
    Demo(demo::Args),
    /// List the flags that all commands of hub and cluster admins have: which API server, as whom
    Options,
    /// Print a completion script for a shell
    ///
    /// It completes commands, flags, and names of clusters, sets and namespaces. Names come from the hub that the command line
    /// selects.
    #[command(after_help = COMPLETION)]
    Completion {
        /// The shell
        shell: Shell,
    },
}

/// Runs the command. Prints an error as one line on standard error.
pub(crate) fn run() -> ExitCode {
    match complete::answer(command) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(_) => return ExitCode::FAILURE,
    }
    let cli = match Cli::from_arg_matches(&command().get_matches_from(words())) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let (result, failure) = match cli.command {
        Command::Admin(command) => (command.run(), 1),
        Command::Console(args) => (console::run(&args), 1),
        Command::Agent(args) if args.is_command() => (agent::run(&args), 1),
        Command::Placement(args) if args.is_command() => {
            (placement::run(&args), args.failure_code())
        }
        Command::Work(args) if args.is_command() => (work::run(&args), args.failure_code()),
        Command::Addon(args) if args.is_command() => (addon::run(&args), 1),
        _ if cli.hub.any() => {
            let why = "--kubeconfig, --context, --as and the other flags of 'berth options' before the command work only with the \
                       commands of hub admins; write the flags of this command after it";
            (Err(anyhow::anyhow!(why)), 2)
        }
        Command::Hub(args) => (hub::run(&args).map(|()| ExitCode::SUCCESS), 1),
        Command::WebhookServer(args) => (webhook_server::run(&args).map(|()| ExitCode::SUCCESS), 1),
        Command::Controller(args) => (controller::run(&args).map(|()| ExitCode::SUCCESS), 1),
        Command::Agent(args) => (agent::run(&args), 1),
        Command::Placement(args) => (placement::run(&args), args.failure_code()),
        Command::Work(args) => (work::run(&args), args.failure_code()),
        Command::Addon(args) => (addon::run(&args), 1),
        Command::Operator(args) => (operator::run(&args).map(|()| ExitCode::SUCCESS), 1),
        // Exit code 1 means denied.
        Command::Review(args) => (decide(&args), 2),
        Command::Policies(args) => (print(&args), 1),
        #[cfg(feature = "devhub")]
        Command::Demo(args) => (demo::run(&args), 1),
        Command::Options => (options(), 1),
        Command::Completion { shell } => (
            complete::script(&shell.to_string()).map(|()| ExitCode::SUCCESS),
            1,
        ),
    };
    result.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            // The reader closed the pipe. Shells show the same code for a program that SIGPIPE ends.
            return ExitCode::from(141);
        }
        // An error of standard error is ignored: the exit code has to do.
        let error = format!("{error:#}");
        let _ = writeln!(io::stderr(), "Error: {}", Lines(&error));
        ExitCode::from(failure)
    })
}

fn decide(args: &review::Args) -> anyhow::Result<ExitCode> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Webhooks)?;
    review::run(args, gates.webhooks)
}

fn print(args: &policies::Args) -> anyhow::Result<ExitCode> {
    let parsed = feature_gates::parse(&args.feature_gates, Of::Webhooks)?;
    for warning in parsed.warnings {
        writeln!(io::stderr(), "Warning: {warning}")?;
    }
    policies::run(args, parsed.webhooks)
}

/// Prints the flags of the connection. The help of a command shows the most used of them.
fn options() -> anyhow::Result<ExitCode> {
    let flags = HubArgs::augment_args(clap::Command::new("options"));
    let mut flags = flags
        .disable_help_flag(true)
        .help_template("{options}")
        .next_line_help(true)
        .mut_args(|arg| arg.global(false).hide(false).help_heading(None));
    write!(io::stdout(), "{}", flags.render_long_help())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the words of the command line. OCM's operator starts each controller in its own Deployment, as `/registration controller`
/// and `/placement controller`, and its agents as `/registration agent` and `/work agent`, or both as `/registration-operator agent`. The
/// operators themselves are `/registration-operator hub` and `/registration-operator klusterlet`.
fn words() -> Vec<OsString> {
    let mut words: Vec<_> = env::args_os().collect();
    let name = words.first().map(Path::new).and_then(Path::file_stem);
    let command = name.filter(|name| *name == "placement" || *name == "work" || *name == "addon");
    if let Some(command) = command.map(OsString::from) {
        words.insert(1, command);
    } else if name.is_some_and(|name| name == "registration-operator")
        && words
            .get(1)
            .is_some_and(|command| command == "hub" || command == "klusterlet")
    {
        words.insert(1, "operator".into());
    } else if name.is_some_and(|name| name == "registration")
        && words.get(1).is_some_and(|command| command == "controller")
    {
        words.insert(2, "--controllers=registration".into());
    } else if words.get(1).is_some_and(|command| command == "agent") {
        // OCM runs the work agent apart, but in its Singleton modes.
        if name.is_some_and(|name| name == "registration") {
            words.insert(2, "--work=false".into());
        } else if name.is_some_and(|name| name == "registration-operator") {
            words.insert(2, "--singleton".into());
        }
    }
    words
}

/// Returns the command line. The help of the program hides the hub's flags, since only some commands have them.
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
mod pages;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    #[cfg(feature = "devhub")]
    fn the_page_of_commands_has_each_command() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/commands.md");
        let page = std::fs::read_to_string(page).unwrap();
        let mut commands = vec![("berth".to_owned(), command())];
        let mut count = 0;
        while let Some((name, command)) = commands.pop() {
            assert!(page.contains(&format!("\n## {name}\n")), "{name}");
            count += 1;
            let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
            commands.extend(shown.map(|it| (format!("{name} {}", it.get_name()), it.clone())));
        }
        assert_eq!(page.matches("\n## berth").count(), count);
    }
}
