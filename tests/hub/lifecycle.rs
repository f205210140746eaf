//! The lifecycle on a hub, end to end: what the reconcilers make of clusters, sets, bindings and CSRs.
//!
//! The hub is devhub, or a real kube-apiserver if `KUBEBUILDER_ASSETS` names its programs. The reconcilers run in this
//! process, except in `failover`, and always as a service account with exactly the rights of the shipped ClusterRole.

mod agent;
pub mod hub;
pub mod proxy;

mod acceptance;
mod addons;
mod auto_approval;
mod csrs;
mod failover;
mod foreign_labels;
mod heartbeat;
mod hostile;
pub mod killed;
mod ownership;
mod profiles;
mod removal;
mod sets;
mod strange;
mod trouble;
