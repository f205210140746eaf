//! What the hub decides about add-ons, the kinds of `addon.open-cluster-management.io`.
//!
//! - [`conversion`] converts ClusterManagementAddOns and ManagedClusterAddOns between v1alpha1 and v1beta1, for the API server.
//! - [`cluster`] decides about an add-on on one cluster: whether it is installed there ([`install`]), its owner, and its progress.
//! - [`rollout`] decides about an add-on as a whole: which configs it has on which clusters, and when ([`config`]).
//! - [`deploy`] decides about an add-on from a template on one cluster: its registration, its works and hooks.
//! - [`explain`] says why an add-on on a cluster is as it is.
//! - [`health`] says whether an add-on from a template works.
//! - [`registration`] says what an add-on from a template may do on the hub.
//! - [`template`] renders an AddOnTemplate for a cluster.
//! - [`tokens`] makes what agents of add-ons need to ask for tokens.
//! - [`works`] says which ManifestWorks the objects of an add-on are in.
//!
//! This crate contains values and pure functions: no client, no clock, no I/O.

pub mod cluster;
mod condition;
pub mod config;
pub mod conversion;
pub mod deploy;
pub mod explain;
pub mod facts;
pub mod health;
pub mod install;
mod object;
mod owner;
mod progressing;
mod progressions;
pub mod registration;
pub mod rollout;
pub mod template;
pub mod tokens;
pub mod works;
mod writes;

pub use writes::{ADD_ON, ON_CLUSTER};
