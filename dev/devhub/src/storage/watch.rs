//! A reader's position in the history of a kind.

use std::sync::Arc;

use tokio::sync::watch;

use crate::storage::{Expired, StorageId, Store, Stored};

/// The most events that are handed out at once.
const BATCH: usize = 256;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It was removed.
    Deleted,
}

/// One commit.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// What happened.
    pub(crate) kind: EventKind,
    /// The revision of the commit.
    pub(crate) revision: u64,
    /// The object after it; of a deletion, its last state under the deletion's resourceVersion.
    pub(crate) object: Arc<Stored>,
    /// The object before it; none for one that was added. A selector that matched before and does not now makes the event
    /// a deletion to its watcher.
    pub(crate) before: Option<Arc<Stored>>,
}

/// A place in the history.
#[derive(Debug)]
pub(crate) struct Watch {
    store: Arc<Store>,
    storage: StorageId,
    seen: u64,
    /// Only objects with this name.
    name: Option<String>,
    latest: watch::Receiver<u64>,
}

impl Watch {
    pub(super) fn new(
        store: Arc<Store>,
        storage: StorageId,
        from: u64,
        name: Option<&str>,
        latest: watch::Receiver<u64>,
    ) -> Self {
        Self {
            store,
            storage,
            seen: from,
            name: name.map(str::to_owned),
            latest,
        }
    }

    /// The next events, at least one, in order. Waits until there are some. Cancel safe.
    ///
    /// # Errors
    /// The reader fell behind the history; there is no going on from here.
    pub(crate) async fn next(&mut self) -> Result<Vec<Event>, Expired> {
        loop {
            // Before the look: a commit after it wakes.
            self.latest.mark_unchanged();
            let events =
                self.store
                    .events(&self.storage, self.seen, BATCH, self.name.as_deref())?;
            if let Some(last) = events.last() {
                self.seen = last.revision;
                return Ok(events);
            }
            // The sender lives as long as the store, which this holds.
            let _ = self.latest.changed().await;
        }
    }

    /// The revision up to which the reader has seen everything of its kind. With nothing new for the kind this moves with
    /// the store's revision, so that a bookmark may carry it. None for a watch from the future.
    pub(crate) fn seen(&self) -> Option<u64> {
        let name = self.name.as_deref();
        self.store.seen(&self.storage, self.seen, name)
    }
}
