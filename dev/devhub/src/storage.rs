//! Objects in memory, by kind, with one revision counter: devhub's counterpart of etcd and the watch cache.
//!
//! # Promises
//! - Every commit gets the next revision, and puts it into the object's `metadata.resourceVersion`.
//! - A commit names the revision that it expects, so that no update is lost.
//! - A watch returns every commit of its kind after its revision, in order, once. A watch that falls behind the history gets
//!   [`Expired`]. Nothing is queued for a watch, so that slow watchers cost no memory.
//! - A list can be read at an earlier revision, as far as the history reaches back.

mod store;
mod watch;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

pub(crate) use store::{
    CommitError, Expired, Key, Listed, Page, Snapshot, StorageId, Store, Stored,
};
pub(crate) use watch::{Event, EventKind, Watch};
