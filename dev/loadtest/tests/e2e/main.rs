//! Runs the built program against the gate's server, and against a hub that calls the gate.

#![allow(clippy::unwrap_used, reason = "a test")]

mod compared;
mod gate;
mod hub;
mod reviews;
mod stalls;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A file of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Returns the command `loadtest` with these arguments, for this many seconds.
fn loadtest(seconds: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    command.args(["--warmup", "0.1", "--connections", "3"]);
    command.args(["--seconds", seconds]).args(args);
    command
}

/// Returns the exit code, the report and stderr.
fn report(seconds: &str, args: &[&str]) -> (i32, Value, String) {
    let mut command = loadtest(seconds, args);
    read(command.args(["-o", "json"]).output().unwrap())
}

fn read(output: Output) -> (i32, Value, String) {
    let said = String::from_utf8(output.stderr).unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap(), report, said)
}
