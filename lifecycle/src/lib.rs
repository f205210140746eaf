//! The hub's reconcilers: they carry a cluster from its acceptance to its removal.
//!
//! # Shape
//! A reconciler is `observe -> decide -> apply`. [`facts`] are what the hub's objects say, reduced to what decisions need.
//! The deciders ([`acceptance`] and its siblings, one file each) are plain functions of facts and time to a plan: which writes
//! are due. [`engine`] does the rest: it watches, keeps the facts, wakes what a change concerns, and writes.
//!
//! A decider is called again after each of its writes with the facts that the write made, until nothing is due: so it names
//! only the *next* writes, those whose preconditions hold, and steps in order need no bookkeeping. Nothing is due in a hub
//! that is as it should be; whoever kills the process anywhere finds it resuming from what is stored.

pub mod acceptance;
pub mod addons;
pub mod automatic;
pub mod bindings;
pub mod clock;
pub mod cluster_plan;
pub mod clusters;
pub mod common_roles;
pub mod config;
pub mod csrs;
pub mod default_sets;
pub mod engine;
pub mod facts;
pub mod heartbeat;
pub mod managed_namespaces;
#[cfg(test)]
mod merge_patch;
pub mod names;
pub mod readable;
pub mod removal;
pub mod roles;
#[cfg(test)]
mod scene;
pub mod sets;
mod status;
pub mod taints;
#[cfg(test)]
mod testing;
