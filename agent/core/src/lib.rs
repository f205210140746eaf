//! What the agent of a managed cluster decides: what it reports of its cluster to the hub, and when.
//!
//! # Shape
//! Plain functions of facts and time, one file for each decision. Nothing here does I/O, reads a clock or draws a random number.
//!
//! # Compatibility
//! What the hub can see equals what OCM's registration agent writes: the order of claims, the sums of resources with their
//! formats, conditions with their reasons and messages. Where OCM loses or misreports something, the documentation of the
//! function says so.

pub mod addons;
pub mod asked;
pub mod availability;
pub mod claims;
pub mod cluster;
pub mod held;
pub mod hubs;
pub mod identity;
pub mod kubeconfig;
pub mod lease;
pub mod namespaces;
pub mod pending;
pub mod registered;
pub mod registration;
pub mod request;
pub mod resources;
pub mod rotation;
pub mod status;
