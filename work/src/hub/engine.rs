//! The controller, ready to run.

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::Term;
use berth_reconcile::{Ended, Handle, Limit, Metrics};
use berth_work_replicas::MANAGER;
use tokio_util::sync::CancellationToken;

use super::kinds::Kind;
use super::settings::Settings;
use super::world::Works;

/// The name of the controller in Events. It equals OCM's.
const CONTROLLER: &str = "manifestworkreplicaset-controller";

/// The controller of ManifestWorks, ready to run.
pub struct Engine(berth_reconcile::Engine<Works>);

/// The progress of the first lists.
#[derive(Clone)]
pub struct Progress(Arc<Handle<Works>>);

// === impl Engine ===

impl Engine {
    /// Creates the controller of this hub.
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
        let names = berth_reconcile::Settings {
            controller: CONTROLLER,
            instance,
            manager: MANAGER,
            term,
        };
        let world = Works::new(settings);
        let engine = berth_reconcile::Engine::new(world, vec![(api, limit)], names, metrics);
        for kind in Kind::of(settings) {
            engine.handle().watch(*kind, kind.watched(settings));
        }
        Self(engine)
    }

    /// The progress, also while it runs.
    pub fn progress(&self) -> Progress {
        Progress(self.0.handle().clone())
    }

    /// Runs until `stop` is cancelled, or until the term is over. Nothing is written after it returns.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Ended> {
        self.0.run(stop).await
    }
}

// === impl Progress ===

impl Progress {
    /// Resources that the hub serves and whose first list is not complete. Empty when all objects have been seen.
    pub fn unprimed(&self) -> Vec<&'static str> {
        self.0.world().unprimed()
    }
}
