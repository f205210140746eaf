//! The commands that people type at a hub: look at it, let clusters in, put them into sets, bind sets to namespaces, and
//! find out what is wrong; and [`review`], which needs no hub.
//!
//! A command reads what it needs (`hub`), decides by plain functions, writes, and says for each target what came of it
//! (`outcomes`). What cannot be done is a `CommandError`, which names the object and the remedy.

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
