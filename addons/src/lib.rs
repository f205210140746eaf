//! The hub's controller of add-ons: it installs them where placements select clusters, says which configs they have, how far they are, and
//! deploys those that a template defines.
//!
//! It does the work of OCM's add-on manager.
//!
//! # Shape
//! What is due is decided in `berth-addons-core`, plain functions. `view` keeps what they read of the hub, and knows which keys a change
//! concerns. `world` connects both to the kit of all controllers ([`berth_reconcile`]); `add_ons` carries out what is due for an add-on as
//! a whole, `deploy` what is due for the works of an add-on from a template, `world::permissions` for its RoleBindings, `world::requests` and
//! `world::tokens` for the certificates and tokens of its agents.
//!
//! # Guarantees
//! - A hub that does not serve add-ons, placements or works is waited for, without a write. So is a kind that is not served any more.
//! - A settled hub gets no write.
//! - Nothing is written for an add-on whose life cycle annotation is neither absent nor `addon-manager`, except what its agents need to
//!   ask for tokens: as in OCM, that is made for every add-on.
//! - A ManagedClusterAddOn is deleted only as [`berth_addons_core::install`] promises. On a hub that was restored to an earlier state, every
//!   grace begins anew.

mod add_ons;
mod bindings;
mod deploy;
mod deployments;
mod job;
mod keys;
mod kinds;
mod metrics;
mod pending;
mod placements;
mod rest;
mod settings;
mod tokens;
mod view;
mod world;

pub use berth_addons_core::install::Grace;
pub use metrics::Metrics;
pub use settings::Settings;

use berth_reconcile::{Controller, Names};

use world::AddOns;

/// The name of the Lease equals OCM's, so that its add-on manager and ours exclude each other.
pub const NAMES: Names = Names {
    name: "addon",
    reporter: "addon-manager",
    manager: "berth-addon",
    lease: "manager-lock",
};

/// The controller of add-ons.
pub fn controller(settings: Settings, metrics: Metrics) -> Controller {
    Controller::new(NAMES, metrics.common(), move || {
        let world = AddOns::new(settings.clone(), metrics.clone());
        (world, kinds::watched())
    })
}
