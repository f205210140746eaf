//! The commands of hub admins: show clusters, sets and bindings, accept, deny and delete clusters, manage sets, keep placements away
//! from clusters, print tokens, and diagnose an installation; and install, upgrade and remove Berth on a hub. The commands of a
//! cluster's admin: join a hub, see how the
//! cluster stands with it, and leave it. [`review`] decides admission reviews without a
//! hub, and [`policies`] prints the rules as policies of the API server. [`PlacementCommand`]s explain placements, on a hub or on files.
//! [`AddonCommand`]s render templates of add-ons from files.
//!
//! A command reads objects (`hub`), decides with plain functions, writes, and reports an outcome for each target (`outcomes`).
//! Errors are `CommandError`s, which name the object and the remedy.

mod accept;
mod addon;
mod agent_status;
pub mod answers;
mod ask;
mod bootstrap;
mod can_i;
mod cluster_change;
mod clusterset;
mod command;
pub mod complete;
mod cordon;
mod delete_cluster;
mod deny;
mod doctor;
mod drain;
mod failure;
mod files;
mod flags;
mod get;
mod held;
mod hub;
mod image;
mod install;
mod join;
mod label;
mod outcomes;
mod placement;
pub mod policies;
mod print;
mod progress;
mod replica_set;
mod reserved;
mod retry;
pub mod review;
mod taint;
mod targets;
mod unjoin;
mod version;
mod web;
mod work;

pub use addon::AddonCommand;
pub use agent_status::AgentStatusArgs;
pub use command::{Command, run_agent_status};
pub use hub::HubArgs;
pub use placement::{PlacementCommand, placement_debug};
pub use print::has_colours;
pub use reserved::ReservedArgs;
pub use work::WorkCommand;
