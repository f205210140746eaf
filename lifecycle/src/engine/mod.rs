//! The lifecycle's world, and its wiring to the kit of all controllers ([`berth_reconcile`]).

mod kinds;
mod metrics;
mod object;
mod remaining;
mod view;
mod work;
mod world;

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::Term;
use berth_reconcile::{Handle, Settings};
use tokio_util::sync::CancellationToken;

pub use berth_reconcile::{Ended, Limit};
pub use metrics::Metrics;

use crate::config::Config;
use crate::names::managers;
use kinds::Kind;
use world::Lifecycle;

/// The name of the controller in Events. It equals OCM's.
const CONTROLLER: &str = "registration-controller";

/// The reconcilers, ready to run.
pub struct Engine {
    engine: berth_reconcile::Engine<Lifecycle>,
    metrics: Metrics,
}

/// The progress of the reconcilers' first lists.
#[derive(Clone)]
pub struct Progress(Arc<Handle<Lifecycle>>);

// === impl Engine ===

impl Engine {
    /// Creates the reconcilers of this hub.
    ///
    /// With a `term` they write only while it lasts; without one, no other process may run them. `instance` names this process
    /// in Events. Needs a tokio runtime.
    pub fn new(
        api: HubApi,
        config: Config,
        term: Option<Term>,
        limit: Option<Limit>,
        instance: &str,
        metrics: Metrics,
    ) -> Self {
        let gates = config.gates;
        let world = Lifecycle::new(Arc::new(config), metrics.clone());
        let labels = world.labels().clone();
        let settings = Settings {
            controller: CONTROLLER,
            instance,
            manager: managers::PATCHES,
            term,
        };
        let servers = vec![(api, limit)];
        let engine = berth_reconcile::Engine::new(world, servers, settings, metrics.common());
        for kind in Kind::needed(gates) {
            engine.handle().watch(kind, kind.watched(&labels, gates));
        }
        Self { engine, metrics }
    }

    /// The progress, also while they run.
    pub fn progress(&self) -> Progress {
        Progress(self.engine.handle().clone())
    }

    /// Runs until `stop` is cancelled, or until the term is over. Nothing is written after it returns.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Ended> {
        self.metrics.begun(self.engine.handle());
        let ended = self.engine.run(stop).await;
        self.metrics.over();
        ended
    }
}

// === impl Progress ===

impl Progress {
    /// Resources whose first list is not complete. Empty when all required objects have been seen.
    pub fn unprimed(&self) -> Vec<&'static str> {
        self.0.unprimed()
    }
}

/// A valid request of agent `a1` of cluster `c1`.
#[cfg(test)]
const GOOD_REQUEST: &[u8] = include_bytes!("../../tests/data/agent.csr");
