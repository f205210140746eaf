//! The hub's lifecycle controller: it carries a cluster from its acceptance to its removal.
//!
//! # Shape
//! A reconciler is `observe -> decide -> apply`. Facts and deciders are pure, in `berth-lifecycle-core`. [`engine`] does
//! the rest: it watches, keeps the facts in a view, wakes the keys that a change affects, and writes.

pub mod engine;

// For the modules of the engine.
use berth_lifecycle_core::{
    acceptance, addons, automatic, bindings, clock, cluster_plan, clusters, common_roles, config,
    csrs, default_sets, facts, failures, heartbeat, names, profiles, removal, roles, sets, status,
};
