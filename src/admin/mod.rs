//! The commands that people type at a hub: look at it, let clusters in, put them into sets, bind sets to namespaces, and
//! find out what is wrong.
//!
//! A command reads what it needs ([`hub`]), decides by plain functions, writes, and says for each target what came of it
//! ([`outcomes`]). What cannot be done is a [`Failure`](failure::Failure), which names the object and the remedy.

pub(crate) mod accept;
mod ask;
pub(crate) mod can_i;
pub(crate) mod clusterset;
pub(crate) mod deny;
pub(crate) mod doctor;
pub(crate) mod failure;
pub(crate) mod get;
pub(crate) mod hub;
pub(crate) mod outcomes;
pub(crate) mod print;
pub(crate) mod retry;
mod targets;

use std::process::ExitCode;

use tokio::runtime::Builder;

/// Runs a command to its end.
///
/// # Errors
/// Those of the command.
pub(crate) fn run(
    command: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(command)
}
