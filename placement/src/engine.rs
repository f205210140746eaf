//! The controller, ready to run.

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::Term;
use berth_placement_core::Settings;
use berth_reconcile::{Ended, Handle, Limit};
use tokio_util::sync::CancellationToken;

use crate::kinds::Kind;
use crate::metrics::Metrics;
use crate::needs::Needs;
use crate::world::Placements;

/// The name of the controller in Events. It equals OCM's.
const CONTROLLER: &str = "placement-controller";

/// The field manager of its writes.
const MANAGER: &str = "berth-placement";

/// The placement controller, ready to run.
pub struct Engine {
    engine: berth_reconcile::Engine<Placements>,
    metrics: Metrics,
    settings: Settings,
    needs: Needs,
}

/// The progress of the first lists.
#[derive(Clone)]
pub struct Progress(Arc<Handle<Placements>>);

// === impl Engine ===

impl Engine {
    /// Creates the placement controller of this hub.
    ///
    /// With a `term` it writes only while it lasts; without one, no other process may run it. `instance` names this process in Events.
    /// Needs a tokio runtime.
    pub fn new(
        api: HubApi,
        settings: Settings,
        term: Option<Term>,
        limit: Option<Limit>,
        instance: &str,
        metrics: Metrics,
    ) -> Self {
        let needs = Needs::default();
        let world = Placements::new(metrics.clone(), needs.clone());
        let names = berth_reconcile::Settings {
            controller: CONTROLLER,
            instance,
            manager: MANAGER,
            term,
        };
        let common = metrics.common();
        let engine = berth_reconcile::Engine::new(world, vec![(api, limit)], names, common);
        for kind in Kind::NEEDED {
            engine.handle().watch(kind, kind.watched(settings, &needs));
        }
        Self {
            engine,
            metrics,
            settings,
            needs,
        }
    }

    /// Keeps PlacementDecisions of SIG-Multicluster, too. The hub need not serve the kind yet.
    #[must_use]
    pub fn with_sig_decisions(self) -> Self {
        let watched = Kind::Slice.watched(self.settings, &self.needs);
        self.engine.handle().watch(Kind::Slice, watched);
        self
    }

    /// The progress, also while it runs.
    pub fn progress(&self) -> Progress {
        Progress(self.engine.handle().clone())
    }

    /// Runs until `stop` is cancelled, or until the term is over. Nothing is written after it returns.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Ended> {
        let ended = self.engine.run(stop).await;
        self.metrics.over();
        ended
    }
}

// === impl Progress ===

impl Progress {
    /// Resources whose first list is not complete. Empty when all objects have been seen.
    pub fn unprimed(&self) -> Vec<&'static str> {
        self.0.unprimed()
    }
}
