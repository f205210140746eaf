//! What the hub decides about add-ons, the kinds of `addon.open-cluster-management.io`.
//!
//! - [`conversion`] converts ClusterManagementAddOns and ManagedClusterAddOns between v1alpha1 and v1beta1, for the API server.
//! - [`template`] renders an AddOnTemplate for a cluster.
//!
//! This crate contains values and pure functions: no client, no clock, no I/O.

pub mod conversion;
pub mod template;

mod object;
