//! The commands of hub admins: show clusters, sets and bindings, accept and deny clusters, manage sets, and diagnose an
//! installation. [`review`] decides admission reviews without a hub.
//!
//! A command reads objects (`hub`), decides with plain functions, writes, and reports an outcome for each target (`outcomes`).
//! Errors are `CommandError`s, which name the object and the remedy.

mod accept;
mod ask;
mod can_i;
mod clusterset;
mod command;
pub mod complete;
mod deny;
mod doctor;
mod failure;
mod get;
mod hub;
mod outcomes;
mod print;
mod reserved;
mod retry;
pub mod review;
mod targets;

pub use command::Command;
pub use hub::HubArgs;
pub use reserved::ReservedArgs;
