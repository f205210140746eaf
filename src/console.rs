//! `berth console`: a command for one user, or a server for many.

use std::process::ExitCode;

use berth_console::ConsoleArgs;
use tokio::runtime::Builder;

use crate::common::LogArgs;

// The last description counts.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    console: ConsoleArgs,
}

/// Runs the console until it is stopped.
///
/// # Errors
/// A flag is wrong, the kubeconfig cannot be used, or a port is taken.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !args.console.is_server() {
        return berth_console::run(&args.console);
    }
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(2);
    let serving = berth_console::serve_many(&args.console);
    args.logs.run(runtime, serving)?;
    Ok(ExitCode::SUCCESS)
}
