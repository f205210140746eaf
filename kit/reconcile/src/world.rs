//! [`World`]: what a controller implements.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use berth_api::Now;
use berth_api::plan::{Plan, Write, WriteFailure};

use crate::handle::Handle;
use crate::object::Meta;
use crate::queue::Next;
use crate::seen::Source;
use crate::watch::WatchError;

/// The facts that a controller keeps of its API servers, and its decisions.
///
/// Functions with `self` are called while the world is locked: they must be quick, and do no I/O. A controller that has to call
/// the API server before it decides implements [`World::reconcile`].
pub trait World: Sized + Send + 'static {
    /// A kind that is watched: an enum, or an index if kinds are only known at run time.
    type Kind: Copy + Eq + Hash + Debug + Send + Sync + 'static;
    /// What a reconcile works on, such as an object's name.
    type Key: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// What a row of the table of kinds reads of an object.
    type Fact: Send + 'static;

    /// The queues. Keys of one do not wait for keys of another.
    const LANES: &'static [Lane];

    /// The queue of a key: its place in [`World::LANES`].
    fn lane(_key: &Self::Key) -> usize {
        0
    }

    /// The group of a key: groups with due keys take turns in their queue, so that many keys of one do not delay those of another.
    fn group(_key: &Self::Key) -> &str {
        ""
    }

    /// The reconciler that works on a key, by its name in metrics. The default is the name of the key's queue.
    fn reconciler(key: &Self::Key) -> &'static str {
        Self::LANES[Self::lane(key)].name
    }

    /// Applies an object that exists, or has changed.
    fn apply(
        &mut self,
        kind: Self::Kind,
        object: &Meta,
        fact: Self::Fact,
        sight: Report,
        wakes: &mut Wake<Self>,
    );

    /// Removes an object that does not exist any more.
    fn gone(&mut self, kind: Self::Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>);

    /// All keys. They are woken once, when all kinds have been listed.
    fn all(&self) -> Vec<Self::Key>;

    /// Decides what is due for a key.
    fn decide(&self, key: &Self::Key, now: Now) -> Plan;

    /// Returns true if a failed write may succeed later without any change by a user. Such failures are logged at debug if the
    /// API server refused the write, such as conflicts.
    fn is_transient(failure: &WriteFailure) -> bool {
        failure.is_transient()
    }

    /// How long a key waits after a write.
    fn pause(_key: &Self::Key) -> Duration {
        Duration::ZERO
    }

    /// Notes an object with a name whose fact cannot be read. The former fact should stay.
    fn unreadable(&mut self, kind: Self::Kind, object: &Meta, error: &serde_json::Error) {
        let Meta {
            namespace, name, ..
        } = object;
        tracing::warn!(?kind, namespace, name, %error, "an object cannot be read");
    }

    /// Notes the resourceVersion of a list that was read to its end, just before [`World::listed`]. A lower one than before means that the
    /// API server's storage was restored to an earlier state.
    fn listed_at(&mut self, _kind: Self::Kind, _version: u64) {}

    /// Notes that the API server of this kind had shown the version `from`, and has come only to `to`: its storage was restored to an
    /// earlier state. A list follows, in which unchanged objects are applied, too.
    fn went_back(&mut self, _kind: Self::Kind, _from: u64, _to: u64) {}

    /// Notes that a list of this kind was read to its end.
    fn listed(&mut self, _kind: Self::Kind, _now: Now, _wakes: &mut Wake<Self>) {}

    /// Notes that the watch of this kind failed.
    fn lost_sight(
        &mut self,
        _kind: Self::Kind,
        _error: &WatchError,
        _now: Now,
        _wakes: &mut Wake<Self>,
    ) {
    }

    /// Notes that the watch of this kind goes on after it had failed. What it had reported still holds.
    fn regained_sight(&mut self, _kind: Self::Kind, _now: Now, _wakes: &mut Wake<Self>) {}

    /// Names of further kinds whose first list is not complete, beside those that every hub must serve.
    fn unprimed(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Notes that the controller runs from now on.
    fn begun(_on: &Arc<Handle<Self>>) {}

    /// Notes that the controller has ended: another process may run it now.
    fn over(_on: &Handle<Self>) {}

    /// The API server of a write: its place among those that the controller was given.
    fn server(_write: &Write) -> usize {
        0
    }

    /// The kind of what is written, if several rows watch its resource, each with other labels. By default the one row of the resource.
    fn kind(_write: &Write) -> Option<Self::Kind> {
        None
    }

    /// Works on a key. The default decides and writes until nothing is due.
    fn reconcile(on: &Handle<Self>, key: &Self::Key) -> impl Future<Output = Next> + Send {
        on.settle(key)
    }
}

/// A queue of keys.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Its name in metrics.
    pub name: &'static str,
    /// Upper bound on the keys that are worked on at the same time.
    pub at_once: usize,
}

/// The circumstances of a report about an object.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The source of the report.
    pub source: Source,
    /// A list of its kind is being read.
    pub is_listing: bool,
    /// The time of the report.
    pub now: Now,
}

/// The keys that a change concerns.
#[derive(Debug)]
pub struct Wake<W: World> {
    pub(crate) keys: Vec<W::Key>,
    pub(crate) lists: Vec<W::Kind>,
}

// === impl Lane ===

impl Lane {
    /// A queue of this name, with this upper bound on the keys that are worked on at the same time.
    pub const fn new(name: &'static str, at_once: usize) -> Self {
        Self { name, at_once }
    }
}

// === impl Wake ===

impl<W: World> Wake<W> {
    /// Wake a key.
    pub fn wake(&mut self, key: W::Key) {
        self.keys.push(key);
    }

    /// Has a kind listed again: the controller now needs more of its objects than was kept. Unchanged objects are applied again, too;
    /// [`World::listed`] follows.
    pub fn list_anew(&mut self, kind: W::Kind) {
        self.lists.push(kind);
    }
}

impl<W: World> Extend<W::Key> for Wake<W> {
    fn extend<I: IntoIterator<Item = W::Key>>(&mut self, keys: I) {
        self.keys.extend(keys);
    }
}

impl<W: World> Default for Wake<W> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            lists: Vec::new(),
        }
    }
}
