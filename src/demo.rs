//! `berth demo`.

use std::process::ExitCode;

use berth_demo::Demo;
use tokio::runtime::Builder;

use crate::logging::{self, Format};
use crate::ports::Port;
use crate::signals;

const EXAMPLES: &str = "\
Examples:
  # Play the scenario, then keep the hub running until Ctrl-C
  berth demo

  # Only play the scenario; the exit code is 1 if the hub does not behave as expected
  berth demo --exit

Nothing is left behind: all clusters run in this process, and their kubeconfig is in a temporary
folder, which is removed at the end.";

/// Show what Berth does, on a hub in this process
///
/// Starts a Kubernetes-compatible hub for development with the gate and the lifecycle, and two managed clusters with their agents, installs the manifests, and creates three users. It plays a scenario: a cluster joins, reports itself and renews its certificate, is added to a set, bound, denied and accepted again; another one falls silent, comes back and leaves. Then it keeps running: it prints how to explore the clusters with kubectl, a third cluster asks to join, and the console (berth console) is served for the hub admin. Lines such as 'stop c3' and 'start c3' on standard input stop and start an agent. Needs no cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Exit after the scenario
    #[arg(long)]
    exit: bool,
    /// Port of the hub on 127.0.0.1; 'auto' for any free port
    #[arg(long, default_value = "auto")]
    port: Port,
    /// Log verbosity: 1 for denials and other information, 4 or more for debugging
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

/// Plays the scenario, and runs until a signal.
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
    let played = signals::stop_orderly("", async |stop| demo.run(stop).await);
    Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(played)?;
    Ok(ExitCode::SUCCESS)
}
