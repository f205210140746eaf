//! What the hub decides about add-ons, the kinds of `addon.open-cluster-management.io`.
//!
//! - [`conversion`] converts ClusterManagementAddOns and ManagedClusterAddOns between v1alpha1 and v1beta1, for the API server.
//! - [`health`] says whether an add-on from a template works.
//! - [`registration`] says what an add-on from a template may do on the hub.
//! - [`template`] renders an AddOnTemplate for a cluster.
//! - [`works`] says which ManifestWorks the objects of an add-on are in.
//!
//! This crate contains values and pure functions: no client, no clock, no I/O.

pub mod conversion;
pub mod health;
pub mod registration;
pub mod template;
pub mod works;

mod object;
