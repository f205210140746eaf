//! The operator: installs and upgrades a hub by a ClusterManager.
//!
//! It does the work of OCM's operator for hubs.
//!
//! # Shape
//! What is due is decided in `berth-operator-core`, plain functions. `world` keeps what they read of the hub, and connects them to the kit of
//! all controllers ([`berth_reconcile`]); `kinds` is its table of kinds.
//!
//! # Guarantees
//! - A hub that is as it should be gets no write, and no request but for watches.
//! - What another client changes or deletes of the operator's objects is put back at once.
//! - An object that cannot be written holds up those that need it, and no others; the ClusterManager says why.
//! - Killed at any time, it goes on where it was: all that it knows is in the objects.

mod kinds;
mod world;

pub use berth_operator_core::hub::Settings;

use berth_operator_core::objects::MANAGER;
use berth_reconcile::{Controller, Metrics, Names};

use world::Operator;

/// The name of the Lease equals OCM's, so that its operator and ours exclude each other.
pub const NAMES: Names = Names {
    name: "operator",
    reporter: "clustermanager-operator",
    manager: MANAGER,
    lease: "clustermanager-lock",
};

/// The operator of a hub.
pub fn controller(settings: Settings, metrics: Metrics) -> Controller {
    Controller::new(NAMES, metrics, move || {
        (Operator::new(settings.clone()), kinds::watched())
    })
}
