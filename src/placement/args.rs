//! The flags of the placement controller, and the settings that they define.

use std::path::PathBuf;

use berth_placement::{Config, OnFault, Settings};
use clap::ValueEnum;

use crate::common::{LogArgs, TlsArgs, ignored_flags};
use crate::feature_gates::Parsed;
use crate::hub_component::HubComponentArgs;

#[derive(Debug, clap::Args)]
pub(super) struct ControllerArgs {
    /// Kubeconfig of the hub [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    pub(super) component: HubComponentArgs,
    #[command(flatten)]
    pub(super) placement: PlacementArgs,
    /// Feature gates, as Gate=true,Gate=false: SIGPlacementDecision (off: PlacementDecisions of multicluster.x-k8s.io, too), and for
    /// fields of the API that OCM's controller ignores or leaves empty PlacementPreferNoSelect (off: clusters with such a taint come
    /// last), PlacementScores (off: decisions have scores and reasons, written as often as spec.scoreRateLimit allows),
    /// PlacementSortBy (off: spec.sortBy orders decisions), PlacementSpreadPolicy (off: spec.spreadPolicy)
    #[arg(long, value_name = "GATES")]
    pub(super) feature_gates: Vec<String>,
    #[command(flatten)]
    pub(super) tls: TlsArgs,
    #[command(flatten)]
    pub(super) logs: LogArgs,
    #[command(flatten)]
    ignored: NoMeaning,
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

/// Flags of OCM's controller that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    config: Option<String>,
    #[arg(long, hide = true)]
    terminate_on_files: Vec<String>,
}

// === impl ControllerArgs ===

impl ControllerArgs {
    /// Warnings for the log.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.ignored.warnings()
    }
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

// === impl NoMeaning ===

impl NoMeaning {
    fn warnings(&self) -> Vec<String> {
        ignored_flags(&[
            ("config", self.config.is_some()),
            ("terminate-on-files", !self.terminate_on_files.is_empty()),
        ])
    }
}
