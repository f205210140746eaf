//! Loads an admission webhook with AdmissionReviews (recorded ones, or generated) over kept-alive TLS connections, or a hub
//! with writes that its webhooks decide, and reports what came of it: reviews per second, latency, and what the server's
//! process paid for them in CPU and memory.
//!
//! Promises: every answer is checked, and only right ones count; a call fails as it would for the API server (no answer in
//! time, a broken connection, a status other than 200, another uid), and nothing is retried; the exit code is 1 if any did.
//! What it writes to a hub it takes away again, also when it is interrupted.
//!
//! CPU per review is the figure to compare: throughput on a shared machine depends on the load tool, too. Latency under a
//! given load is what the open loop is for: see [`schedule`].

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
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs and reports; whether all was right.
fn measure(args: &Args) -> Result<bool> {
    // kube's client takes the process's own.
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
