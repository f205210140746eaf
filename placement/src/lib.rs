//! The hub's placement controller: it keeps the PlacementDecisions and the status of each Placement as the scheduler wants them.
//!
//! # Shape
//! Which clusters a placement selects is decided in `berth-placement-core`, a plain function. `view` keeps what it reads of the hub, and
//! knows which placements a change concerns. `layout` says which PlacementDecision lists which clusters, and `decide` which writes
//! lead there; both are plain functions, too. `sig` does the same for SIG-Multicluster's PlacementDecisions. `world` connects them to the kit of all controllers ([`berth_reconcile`]).
//!
//! # Guarantees
//! - A cluster that stays selected is listed by a PlacementDecision at any time. The same holds for the PlacementDecisions of
//!   SIG-Multicluster ([`Config::sig_decisions`]).
//! - A placement that cannot be evaluated keeps its decisions (or loses them, as with OCM: [`OnFault`]).
//! - PlacementDecisions and status that OCM's controller wrote are adopted without a write, if they are what is wanted.
//! - CEL expressions are evaluated on threads of their own, within a budget of each namespace ([`Settings::cel_rate`]). Nothing else of the
//!   process waits for them.
//! - A settled hub gets no write.

mod budget;
mod decide;
mod doubt;
mod evaluate;
mod facts;
mod kinds;
mod layout;
mod metrics;
mod needs;
mod recorded;
mod relabel;
mod sig;
mod told;
mod view;
mod wanted;
mod whole;
mod world;

pub use berth_placement_core::{Gates, OnFault, Settings};
pub use metrics::Metrics;

use berth_reconcile::{Controller, Names};

use needs::Needs;
use world::Placements;

/// The names in Events and of the Lease equal OCM's, so that its controller and ours exclude each other.
pub const NAMES: Names = Names {
    name: "placement",
    reporter: "placement-controller",
    manager: "berth-placement",
    lease: "placement-lock",
};

/// What the controller does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// The settings of the scheduler.
    pub scheduler: Settings,
    /// It keeps PlacementDecisions of SIG-Multicluster, too. The hub need not serve the kind yet.
    pub sig_decisions: bool,
}

/// The placement controller.
pub fn controller(config: Config, metrics: Metrics) -> Controller {
    Controller::new(NAMES, metrics.common(), move || {
        let needs = Needs::default();
        let rows = kinds::watched(config, &needs);
        (Placements::new(metrics.clone(), needs), rows)
    })
}
