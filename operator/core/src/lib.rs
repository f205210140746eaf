//! What an operator does: from a ClusterManager and what the hub has, to the objects that should be, and conditions.
//!
//! The objects are those of `manifests`: the same that kustomize and the chart give. [`hub`] says which of them, in which order, and what the
//! status of the ClusterManager says; [`objects`] whether one is as it should be, and what makes it so; [`names`] has OCM's names,
//! [`role`] the permissions of the operator.
//!
//! This crate contains values and pure functions: no client, no clock, no I/O.

mod account;
pub mod cluster;
mod credentials;
mod decision;
mod deployments;
pub mod hub;
pub mod names;
pub mod objects;
#[cfg(test)]
mod play;
mod pull;
pub mod role;
mod said;
mod spec;
mod versions;

pub use account::{Account, TOKEN_SECONDS, content, good_until, secret, token_until};
pub use credentials::{Credentials, Unprepared, Unusable, credentials};
pub use decision::{Decision, Failure, age};
pub use pull::{PULL_SECRET, PullSecret};
pub use spec::{Ignored, TLS_PROFILE, TlsProfile};
