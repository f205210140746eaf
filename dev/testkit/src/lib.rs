//! Support for end-to-end tests: a hub, users, and running processes of `berth`.
//!
//! - [`cluster`]: a hub, devhub or a real kube-apiserver; users with `kube` and `kubectl`.
//! - [`Gate`], [`process::Controller`], [`Agent`]: a gate, a controller and an agent as child processes; [`Logged`]: any `berth` and its log.
//! - [`guarded`], [`managed`], [`balancer`], [`writers`], [`writes`]: gates that are registered with a hub, and calls through them.
//! - [`hub_node`]: a node that runs the Deployments of a hub as processes.
//! - [`in_process`]: the gate's server within the test, for small limits and slow answers.
//! - [`browser`]: plays of the console's page.
//! - [`addons`]: the kind of add-ons. [`issuer`]: an OpenID provider.
//! - [`eventually`]: waiting. No test sleeps for the time that an event usually takes.
//!
//! This crate panics where a test would: it is for tests only.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests; all of this is for tests"
)]

pub mod addons;
mod agent;
pub mod balancer;
pub mod browser;
pub mod cluster;
pub mod csr;
pub mod filled;
mod gate;
pub mod guarded;
pub mod hub_node;
pub mod in_process;
pub mod issuer;
pub mod line;
mod logged;
pub mod managed;
pub mod objects;
pub mod process;
mod program;
pub mod reviews;
pub mod shipped;
pub mod transcript;
pub mod writers;
pub mod writes;

pub use agent::Agent;
pub use berth_fakes::{
    PATIENCE, eventually, eventually_blocking, eventually_within, next_second, repository, when,
};
pub use gate::{Gate, post, recorded, response, send, where_to_serve};
pub use logged::{Logged, port};
pub use program::{berth, program};
