//! Berth's commands, end to end: the built binary, against a hub with Berth's gate and controller.
//!
//! The hub is devhub, or a real kube-apiserver if `KUBEBUILDER_ASSETS` names its programs.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; the support is shared"
)]

mod house;
mod shell;
mod terminal;

mod accept;
mod addon;
mod can_i;
mod charts;
mod completion;
mod connection;
mod console;
mod deny;
mod doctor;
mod examples;
mod get;
mod install;
mod join;
mod labels;
mod maintenance;
mod people;
mod placement;
mod replica_sets;
mod sets;
mod unlabelled;
mod version;
mod walkthrough;
mod work;
