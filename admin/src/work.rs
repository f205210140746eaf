//! Commands about ManifestWorks.

pub(crate) mod applied;
pub(crate) mod create;
mod diff;
pub(crate) mod differences;
mod hold;
mod render;

use std::process::ExitCode;

use clap::Subcommand;

/// A command about ManifestWorks, with its arguments.
#[derive(Debug, Subcommand)]
#[expect(
    missing_docs,
    reason = "clap would show it instead of the documentation of the arguments"
)]
pub enum WorkCommand {
    Diff(diff::Args),
    Hold(hold::HoldArgs),
    Release(hold::ReleaseArgs),
    Render(render::Args),
}

// === impl WorkCommand ===

impl WorkCommand {
    /// Runs the command in a runtime of its own, and returns its exit code.
    ///
    /// # Errors
    /// The hub cannot be used, or the output cannot be written.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let command = async {
            match self {
                Self::Diff(args) => diff::run(args).await,
                Self::Hold(args) => hold::hold(args).await,
                Self::Release(args) => hold::release(args).await,
                Self::Render(args) => render::run(args).await,
            }
        };
        crate::command::in_runtime(command)
    }

    /// The exit code of an error.
    #[must_use]
    pub fn failure_code(&self) -> u8 {
        match self {
            Self::Diff(_) => diff::FAILURE,
            Self::Hold(_) | Self::Release(_) | Self::Render(_) => 1,
        }
    }
}
