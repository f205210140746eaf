//! The hub's controllers, the agents of its clusters, and the gate beside them under load: the built binary, on a hub.
//!
//! The hub is devhub, or a real kube-apiserver if `KUBEBUILDER_ASSETS` names its programs.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; modules of a suite share them"
)]

mod addons;
mod agent;
mod controller;
mod faults;
mod lifecycle;
mod operator;
mod placement;
mod reconcilers;
mod replica_sets;
mod restored;
mod work;
