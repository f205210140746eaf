//! Calls to the hub by the commands. Each call has a timeout, and each error says what the user can do.

mod args;
mod calls;
mod connect;
mod item;
mod lists;
mod objects;
mod peer;
mod probe;
mod watch;

use std::time::Duration;

use berth_hub::HubApi;

pub use args::HubArgs;
pub(crate) use args::{ClusterArgs, NamespaceArgs, Wait, namespace, namespaced, wait};
pub(crate) use calls::DryRun;
pub(crate) use item::Item;
pub(crate) use lists::Filter;
pub(crate) use objects::{Applied, MANAGER, Place, title, unchecked};
pub(crate) use peer::Peer;
pub(crate) use probe::{Answered, Tried};
pub(crate) use watch::Change;

/// A connection to a hub, or to another API server, as the user that the flags name.
#[derive(Clone)]
pub(crate) struct HubConnection {
    api: HubApi,
    /// Which API server it is, for messages.
    peer: Peer,
    /// Timeout of a request.
    wait: Duration,
    /// Byte bound of a page of a list.
    longest_page: usize,
}
