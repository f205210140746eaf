//! The flags of the placement controller, and the settings that they define.

use berth_placement::{Config, OnFault, Settings};
use clap::ValueEnum;

use crate::feature_gates::Parsed;
use crate::hub_component::manager::ManagerArgs;

#[derive(Debug, clap::Args)]
pub(super) struct ControllerArgs {
    #[command(flatten)]
    pub(super) manager: ManagerArgs,
    #[command(flatten)]
    pub(super) placement: PlacementArgs,
    /// Feature gates, as Gate=true,Gate=false: SIGPlacementDecision (off: PlacementDecisions of multicluster.x-k8s.io, too), and for
    /// fields of the API that OCM's controller ignores or leaves empty PlacementPreferNoSelect (off: clusters with such a taint come
    /// last), PlacementScores (off: decisions have scores and reasons, written as often as spec.scoreRateLimit allows),
    /// PlacementSortBy (off: spec.sortBy orders decisions), PlacementSpreadPolicy (off: spec.spreadPolicy)
    #[arg(long, value_name = "GATES")]
    pub(super) feature_gates: Vec<String>,
}

/// The controller's own flags.
#[derive(Debug, clap::Args)]
pub(crate) struct PlacementArgs {
    /// What becomes of the decisions of a placement that cannot be evaluated, because of a mistake in its spec or in a set
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = OfMisconfigured::Keep)]
    misconfigured_decisions: OfMisconfigured,
}

/// What becomes of the decisions of a placement that cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OfMisconfigured {
    /// They stay, except those for clusters that the placement may not select any more
    Keep,
    /// They are removed, as OCM's controller does
    Remove,
}

// === impl PlacementArgs ===

impl PlacementArgs {
    /// Returns the settings of the controller with these feature gates.
    pub(crate) fn settings(&self, gates: &Parsed) -> Config {
        let on_fault = match self.misconfigured_decisions {
            OfMisconfigured::Keep => OnFault::Keep,
            OfMisconfigured::Remove => OnFault::Remove,
        };
        Config {
            scheduler: Settings {
                on_fault,
                gates: gates.placement,
                ..Settings::default()
            },
            sig_decisions: gates.sig_decisions,
        }
    }
}
