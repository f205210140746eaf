//! The operator of a managed cluster.

mod changes;
mod connection;
mod errands;
mod kinds;
mod managed;
mod secrets;
mod works;
mod world;

pub use berth_operator_core::cluster::Settings;

use berth_operator_core::objects::MANAGER;
use berth_reconcile::{Controller, Metrics, Names};

use world::Operator;

/// The name of the Lease equals OCM's, so that its operator and ours exclude each other.
pub const NAMES: Names = Names {
    name: "klusterlet-operator",
    reporter: "klusterlet-operator",
    manager: MANAGER,
    lease: "klusterlet-lock",
};

/// The operator of a managed cluster. `namespace`: of the operator itself.
pub fn controller(settings: Settings, namespace: String, metrics: Metrics) -> Controller {
    Controller::new(NAMES, metrics, move || {
        let world = Operator::new(settings.clone(), namespace.clone());
        (world, kinds::watched(&namespace))
    })
}
