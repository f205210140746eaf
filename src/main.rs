//! The `berth` binary: arguments and wiring.

mod addon;
mod agent;
mod certificates;
mod cli;
mod common;
mod console;
mod controller;
#[cfg(feature = "devhub")]
mod demo;
mod feature_gates;
mod hub;
mod hub_component;
mod leading;
mod logging;
mod open_files;
mod operator;
mod panics;
mod placement;
mod ports;
mod signals;
mod webhook_server;
mod work;

use std::process::ExitCode;

fn main() -> ExitCode {
    panics::report();
    berth_certs::install_provider();
    cli::run()
}
