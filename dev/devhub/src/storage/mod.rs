//! Objects in memory, by kind of storage, under one revision counter: what etcd and the watch cache are to kube-apiserver.
//!
//! # Promises
//! - Every commit gets the next revision, and puts it into the object's `metadata.resourceVersion`.
//! - A commit names the revision it expects to find, so no update is lost.
//! - A watch sees every commit of its kind after its revision, in order, once. One that falls behind the history gets
//!   [`Expired`]; nothing is queued for it, so that slow watchers cost no memory.
//! - A list can be read as of an earlier revision, as long as the history reaches back.

mod store;
mod watch;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

pub(crate) use store::{CommitError, Expired, Key, Listed, Page, StorageId, Store, Stored};
pub(crate) use watch::{Event, EventKind, Watch};
