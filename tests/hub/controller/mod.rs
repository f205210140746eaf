//! `berth controller` and `berth hub`, the built binary, on a hub: elected, healthy, told to stop, and handing over.
//!
//! They have the rights of the shipped roles, and no others. What the reconcilers do is tested elsewhere.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; the support is shared"
)]

#[path = "../support/cluster/mod.rs"]
mod cluster;
#[path = "../support/shipped.rs"]
mod shipped;
#[path = "../support/mod.rs"]
mod support;

mod election;
mod flags;
mod hub;
#[path = "../support/process.rs"]
mod process;
mod start;
