//! The operator of a hub.

mod hosted;
mod kinds;
mod migration;
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

/// The operator of a hub. `namespace`: of the operator itself.
pub fn controller(settings: Settings, namespace: String, metrics: Metrics) -> Controller {
    Controller::new(NAMES, metrics, move || {
        (Operator::new(settings.clone()), kinds::watched(&namespace))
    })
}
