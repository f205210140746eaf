//! Loads an admission webhook with AdmissionReviews (recorded or generated) over kept-alive TLS connections, or a hub with writes that
//! its webhooks decide. It reports reviews per second, latency, and the CPU and memory of the server's process.
//!
//! # Promises
//! - Every response is checked, and only correct ones count.
//! - A call fails if it would fail for the API server (timeout, broken connection, a status other than 200, another uid). Calls are not
//!   retried. The exit code is 1 if a call failed.
//! - The tool deletes the objects that it created on a hub, also when it is interrupted.
//!
//! Compare CPU per review, because throughput on a shared machine also depends on the load tool. To measure latency under a given load,
//! use the open loop: see [`schedule`].

mod api_server;
mod args;
mod check;
mod client;
mod compare;
mod direct;
mod generate;
mod latency;
mod mix;
mod process;
mod progress;
mod report;
mod run;
mod schedule;
mod script;
mod session;
mod text;
mod worker;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use tokio::runtime::Builder;

use args::{Args, Output};

fn main() -> ExitCode {
    match measure(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If stderr is closed, the error cannot be reported.
            let _ = writeln!(std::io::stderr(), "Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs, prints the report, and returns whether all calls succeeded.
fn measure(args: &Args) -> Result<bool> {
    // kube's client uses the process's default provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match args.threads {
        1 => Builder::new_current_thread().enable_all().build(),
        threads => Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build(),
    };
    let runtime = runtime.context("cannot start the runtime")?;
    let found = runtime.block_on(session::run(args))?;
    let printed = match args.output {
        Output::Text => found.to_string(),
        Output::Json => {
            serde_json::to_string_pretty(&found).context("cannot write the report as JSON")?
        }
    };
    writeln!(std::io::stdout(), "{printed}").context("cannot print the report")?;
    Ok(found.is_clean())
}
