//! `berth placement explain` and `berth placement what-if`: the scheduler of placements, on what a hub stores or on files.
//!
//! [`gather`] reads the objects into an [`Inventory`](berth_placement_core::Inventory), and the pure scheduler makes an
//! [`Explanation`](berth_placement_core::Explanation) of it. The rest is output.

pub(crate) mod create;
mod debug;
mod explain;
mod gather;
pub(crate) mod manifest;
mod one;
mod served;
mod text;
mod what_if;

use std::process::ExitCode;

use berth_api::Placement;
use berth_placement_core::{Explanation, Gates, Inventory};
use clap::Subcommand;
use jiff::Timestamp;

pub use debug::placement_debug;
pub(crate) use gather::{Needs, placements_of, read};
pub(crate) use text::bind_hint;

/// A command about placements, with its arguments.
#[derive(Debug, Subcommand)]
#[expect(
    missing_docs,
    reason = "clap would show it instead of the documentation of the arguments"
)]
pub enum PlacementCommand {
    Explain(explain::Args),
    WhatIf(what_if::Args),
}

/// Explains a placement, and says what the gate says about it.
pub(crate) fn explained(
    inventory: &Inventory,
    placement: &Placement,
    gates: Gates,
    now: Timestamp,
) -> Explanation {
    let (faults, warnings) = berth_rules::placement_findings(placement, gates);
    Explanation::new(inventory, placement, gates, now).refused(faults, warnings)
}

// === impl PlacementCommand ===

impl PlacementCommand {
    /// The values of `--feature-gates`.
    #[must_use]
    pub fn feature_gates(&self) -> &[String] {
        match self {
            Self::Explain(args) => args.origin.feature_gates(),
            Self::WhatIf(args) => args.origin.feature_gates(),
        }
    }

    /// Runs the command in a runtime of its own, and returns its exit code. `gates`: those of the placement controller.
    ///
    /// # Errors
    /// The hub or a file cannot be used, or the output cannot be written.
    pub fn run(&self, gates: Gates) -> anyhow::Result<ExitCode> {
        let command = async {
            match self {
                Self::Explain(args) => explain::run(args, gates).await,
                Self::WhatIf(args) => what_if::run(args, gates).await,
            }
        };
        crate::command::in_runtime(command)
    }

    /// The exit code of an error.
    #[must_use]
    pub fn failure_code(&self) -> u8 {
        match self {
            Self::Explain(_) => 1,
            Self::WhatIf(args) => args.failure_code(),
        }
    }
}
