//! The lifecycle on a hub, end to end: what becomes of clusters, sets, bindings and CSRs once somebody has written them.
//!
//! The hub is devhub, or a real one where `KUBEBUILDER_ASSETS` names its programs. The reconcilers
//! run in this process, but for those of `failover`, and always as a service account that has exactly the rights of the
//! shipped ClusterRole.

mod agent;
mod hub;
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
