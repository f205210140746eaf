//! The hub's decisions about a cluster, from its acceptance to its removal.
//!
//! # Shape
//! [`facts`] are the fields of the hub's objects that decisions need. The deciders ([`acceptance`] and its siblings,
//! one file each) are plain functions from facts and time to a plan of writes ([`berth_api::plan`], [`cluster_plan`]).
//! Nothing here does I/O or reads a clock.
//!
//! # Guarantees
//! A decider is called again after each of its writes, with the facts that the write made, until nothing is due. It returns
//! only the *next* writes, those whose preconditions hold. So ordered steps need no bookkeeping, a killed process resumes from
//! the stored objects, and a hub in the wanted state gets no write.

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
pub mod facts;
pub mod failures;
pub mod heartbeat;
pub mod managed_namespaces;
pub mod names;
pub mod profiles;
pub mod readable;
pub mod removal;
pub mod roles;
pub mod sets;
pub mod status;
pub mod taints;
#[cfg(test)]
mod testing;
