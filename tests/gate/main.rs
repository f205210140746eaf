//! The gate: the built binary and its server, on files, on a fake hub, and registered with a hub.
//!
//! The hub of `e2e` is devhub, or a real kube-apiserver if `KUBEBUILDER_ASSETS` names its programs.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; modules of a suite share them"
)]

mod bad_input;
mod e2e;
mod hub;
mod replay;
mod review;
mod serving;
