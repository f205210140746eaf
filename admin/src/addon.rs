//! Commands about add-ons.

mod render;

use std::process::ExitCode;

use clap::Subcommand;

/// A command about add-ons, with its arguments.
#[derive(Debug, Subcommand)]
#[expect(
    missing_docs,
    reason = "clap would show it instead of the documentation of the arguments"
)]
pub enum AddonCommand {
    Render(render::Args),
}

// === impl AddonCommand ===

impl AddonCommand {
    /// Runs the command in a runtime of its own, and returns its exit code.
    ///
    /// # Errors
    /// A file cannot be used, or the output cannot be written.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let command = async {
            match self {
                Self::Render(args) => render::run(args).await,
            }
        };
        crate::command::in_runtime(command)
    }
}
