//! The hub's controller of ManifestWorks: it makes those of ManifestWorkReplicaSets, and deletes those that are done.
//!
//! # Shape
//! What is due for a replica set is decided in `berth-work-replicas`, a plain function. `view` keeps what it reads of the hub, and knows which
//! replica sets a change concerns. `world` connects both to the kit of all controllers ([`berth_reconcile`]); `sets` carries out what is
//! due for a replica set.
//!
//! # Guarantees
//! - A hub that does not serve the work API, or placements, is waited for, without a write. So is a kind that is not served any more.
//! - A settled hub gets no write.
//! - Of ManifestWorks no manifests are kept in memory, and at most 4 MiB of them are written at the same time for a replica set.

mod kinds;
mod sets;
mod settings;
mod view;
mod world;

pub use settings::Settings;

use berth_reconcile::{Controller, Metrics, Names};
use berth_work_replicas::MANAGER;

use world::Works;

/// The names in Events and of the Lease equal OCM's, so that its work manager and ours exclude each other.
pub const NAMES: Names = Names {
    name: "work",
    reporter: "manifestworkreplicaset-controller",
    manager: MANAGER,
    lease: "work-manager-lock",
};

/// The controller of ManifestWorks. `metrics` are those that all controllers of the process share.
pub fn controller(settings: Settings, metrics: Metrics) -> Controller {
    Controller::new(NAMES, metrics, move || {
        let rows = kinds::watched(settings);
        let watched = rows.iter().map(|(kind, _)| *kind);
        (Works::new(watched.collect()), rows)
    })
}
