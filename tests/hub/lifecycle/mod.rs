//! The lifecycle on a hub, end to end: what becomes of clusters, sets, bindings and CSRs once somebody has written them.
//!
//! The hub is devhub, or a real one where `KUBEBUILDER_ASSETS` names its programs (see `support/cluster`). The reconcilers
//! run in this process, but for those of `failover`, and always as a service account that has exactly the rights of the
//! shipped ClusterRole.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; the support is shared"
)]

#[path = "../support/cluster/mod.rs"]
mod cluster;
#[path = "../support/csr.rs"]
mod csr;
#[path = "../support/filled.rs"]
mod filled;
#[path = "../support/shipped.rs"]
mod shipped;
#[path = "../support/mod.rs"]
mod support;

mod agent;
mod hub;
#[path = "../support/process.rs"]
mod process;
mod proxy;

mod acceptance;
mod addons;
mod auto_approval;
mod csrs;
mod failover;
mod foreign_labels;
mod heartbeat;
mod hostile;
mod killed;
mod ownership;
mod removal;
mod sets;
mod strange;
mod trouble;
