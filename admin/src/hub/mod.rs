//! The hub as the admin's commands see it: objects read and written, each call within a time, each failure told so that a
//! person knows what to do.

mod args;
mod calls;
mod connect;
mod item;
mod lists;
mod probe;
mod watch;

use std::time::Duration;

use berth_hub::HubApi;

pub use args::HubArgs;
pub(crate) use args::{Wait, wait};
pub(crate) use calls::DryRun;
pub(crate) use item::Item;
pub(crate) use lists::Filter;
pub(crate) use probe::{Answered, Tried};
pub(crate) use watch::Change;

/// A hub, and as whom we speak to it.
#[derive(Clone)]
pub(crate) struct HubConnection {
    api: HubApi,
    wait: Duration,
}
