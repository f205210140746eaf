//! `berth demo`.

use std::process::ExitCode;

use berth_demo::Demo;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::logging::{self, Format};
use crate::ports::Port;
use crate::signals;

const EXAMPLES: &str = "\
Examples:
  # The play, then a hub to look around on, until Ctrl-C
  berth demo

  # The play alone; exits with 1 if the hub does anything else than it should
  berth demo --exit

Nothing is left behind: the hub lives in this process, and its kubeconfig in a folder for temporary
files, which is removed in the end.";

/// Show what Berth does, on a hub in this process
///
/// Starts a Kubernetes-compatible hub for development, the gate and the lifecycle, installs the manifests, creates three people and an agent, and plays how a cluster is let in, put into a set, bound, falls silent, is turned out and leaves. Then it stays up and says how to look around with kubectl. Needs no cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// End after the play
    #[arg(long)]
    exit: bool,
    /// Port of the hub on 127.0.0.1; 'auto' for any free one
    #[arg(long, default_value = "auto")]
    port: Port,
    /// Log what hub and gate do: 1 for denials and the like, 4 and more for debugging
    #[arg(
        short = 'v',
        long = "v",
        value_name = "LEVEL",
        num_args = 0..=1,
        default_missing_value = "1",
        default_value_t = 0,
        hide_default_value = true
    )]
    verbosity: u8,
}

/// Plays, and stays up until a signal.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match args.verbosity {
        0 => logging::init_quiet(Format::Text),
        verbosity => logging::init(Format::Text, verbosity),
    }
    let demo = Demo {
        port: match args.port {
            Port::Number(number) => number,
            Port::Auto | Port::Unset => 0,
        },
        exit: args.exit,
    };
    let played = async {
        let shutdown = CancellationToken::new();
        let told_twice = signals::told_twice(shutdown.clone())?;
        tokio::select! {
            played = demo.run(shutdown) => played.map(|()| ExitCode::SUCCESS),
            () = told_twice => anyhow::bail!("told to stop a second time: stopped at once"),
        }
    };
    Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(played)
}
