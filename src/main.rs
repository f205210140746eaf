//! The `berth` binary: arguments, wiring, and the commands people type.

mod admin;
mod certificates;
mod cli;
mod common;
mod complete;
mod controller;
#[cfg(feature = "devhub")]
mod demo;
mod feature_gates;
mod hub;
mod logging;
mod open_files;
mod ports;
mod reserved;
mod review;
mod signals;
mod webhook_server;

use std::process::ExitCode;

fn main() -> ExitCode {
    berth_certs::install_provider();
    cli::run()
}
