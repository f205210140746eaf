//! The hub's lifecycle controller: it carries a cluster from its acceptance to its removal.
//!
//! # Shape
//! A reconciler is `observe -> decide -> apply`. Facts and deciders are pure, in `berth-lifecycle-core`. `view` keeps the facts of the
//! hub, and knows which keys a change concerns; `kinds` is the table of what is watched; `world` connects both to the kit of all
//! controllers ([`berth_reconcile`]); `work` does what needs more than a plan.

mod kinds;
mod metrics;
mod object;
mod remaining;
mod view;
mod work;
mod world;

use std::sync::Arc;

use berth_reconcile::{Controller, Names, RowOf};

pub use metrics::Metrics;

use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::names::managers;
use world::Lifecycle;

/// The names in Events and of the Lease equal OCM's, so that its controllers and ours exclude each other.
pub const NAMES: Names = Names {
    name: "registration",
    reporter: "registration-controller",
    manager: managers::PATCHES,
    lease: "registration-controller-lock",
};

/// The lifecycle controller.
pub fn controller(config: Config, metrics: Metrics) -> Controller {
    let config = Arc::new(config);
    Controller::new(NAMES, metrics.common(), move || {
        world(Arc::clone(&config), metrics.clone())
    })
}

/// The view, and what it watches.
fn world(config: Arc<Config>, metrics: Metrics) -> (Lifecycle, Vec<RowOf<Lifecycle>>) {
    let gates = config.gates;
    let world = Lifecycle::new(config, metrics);
    let rows = kinds::watched(world.labels(), gates);
    (world, rows)
}

/// A valid request of agent `a1` of cluster `c1`.
#[cfg(test)]
const GOOD_REQUEST: &[u8] = include_bytes!("../tests/data/agent.csr");

/// The reconcilers of a hub, for tests that call it by hand.
#[cfg(test)]
fn on(api: berth_hub::HubApi, config: Config) -> Arc<berth_reconcile::Handle<Lifecycle>> {
    let metrics = Metrics::new(&prometheus::Registry::new()).unwrap();
    let settings = berth_reconcile::Settings::new(NAMES.reporter, "tests");
    let settings = berth_reconcile::Settings {
        manager: NAMES.manager,
        ..settings
    };
    let (world, rows) = world(Arc::new(config), metrics.clone());
    let engine = berth_reconcile::Engine::new(world, vec![(api, None)], settings, metrics.common());
    engine.watching(rows).handle().clone()
}
