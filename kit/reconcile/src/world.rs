//! What a controller brings along: its world.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use berth_api::Now;
use berth_api::plan::{Plan, Write, WriteFailure};

use crate::object::Meta;
use crate::queue::Done;
use crate::seen::Source;
use crate::work::Work;

/// The facts that a controller keeps of its API servers, and what it decides from them.
///
/// Its functions are called while it is locked: they must be quick, and do no I/O. What asks the API server before it
/// decides goes into [`World::work`].
pub trait World: Sized + Send + 'static {
    /// A kind that is watched: an enum, or an index where kinds are known at run time only.
    type Kind: Copy + Eq + Hash + Debug + Send + Sync + 'static;
    /// What may have to be worked on.
    type Key: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// What a row of the table of kinds makes of an object.
    type Fact: Send + 'static;

    /// The queues: what is seldom and small does not wait behind what is much.
    const LANES: &'static [Lane];

    /// The queue of a key, as its place in [`World::LANES`].
    fn lane(_key: &Self::Key) -> usize {
        0
    }

    /// The reconciler that works on a key, by its name in metrics. The default is the name of the key's queue.
    fn reconciler(key: &Self::Key) -> &'static str {
        Self::LANES[Self::lane(key)].name
    }

    /// An object exists, or has changed.
    fn apply(
        &mut self,
        kind: Self::Kind,
        object: &Meta,
        fact: Self::Fact,
        sight: Sight,
        wakes: &mut Wakes<Self>,
    );

    /// An object exists no more.
    fn gone(&mut self, kind: Self::Kind, namespace: &str, name: &str, wakes: &mut Wakes<Self>);

    /// The keys of everything that exists: they are looked at once, when all kinds have been listed.
    fn all(&self) -> Vec<Self::Key>;

    /// What is due for a key.
    fn decide(&self, key: &Self::Key, now: Now) -> Plan;

    /// Returns true if a failed write may succeed later without any change by a user. Such failures are logged at debug if the
    /// API server refused the write, such as conflicts.
    fn is_transient(failure: &WriteFailure) -> bool {
        failure.is_transient()
    }

    /// How long a key rests after a write.
    fn pause(_key: &Self::Key) -> Duration {
        Duration::ZERO
    }

    /// An object has a name, but no fact could be made of it. It counts as it was before.
    fn unreadable(&mut self, kind: Self::Kind, object: &Meta, error: &serde_json::Error) {
        let Meta {
            namespace, name, ..
        } = object;
        tracing::warn!(?kind, namespace, name, %error, "an object cannot be read");
    }

    /// A list of this kind was read to its end.
    fn listed(&mut self, _kind: Self::Kind, _now: Now, _wakes: &mut Wakes<Self>) {}

    /// The watch of this kind failed.
    fn lost_sight(&mut self, _kind: Self::Kind, _now: Now, _wakes: &mut Wakes<Self>) {}

    /// The API server that a write is for, as its place among those that the controller was given.
    fn server(_write: &Write) -> usize {
        0
    }

    /// Works on a key: decides and writes until nothing is due. For what has to ask before it decides, something else.
    fn work(on: &Work<Self>, key: &Self::Key) -> impl Future<Output = Done> + Send {
        on.settle(key)
    }
}

/// A queue, and how many of its keys are worked on at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Its name in metrics.
    pub name: &'static str,
    /// Upper bound on the keys that are worked on at the same time.
    pub at_once: usize,
}

/// How an object was learnt of.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// By what.
    pub source: Source,
    /// A list of its kind is being read: what it reports may be old.
    pub is_listing: bool,
    /// When.
    pub now: Now,
}

/// What a change concerns.
#[derive(Debug)]
pub struct Wakes<W: World> {
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

// === impl Wakes ===

impl<W: World> Wakes<W> {
    /// This key is to be worked on.
    pub fn wake(&mut self, key: W::Key) {
        self.keys.push(key);
    }

    /// This kind is to be listed anew: more of its objects matters now than was kept of them.
    pub fn list_anew(&mut self, kind: W::Kind) {
        self.lists.push(kind);
    }
}

impl<W: World> Extend<W::Key> for Wakes<W> {
    fn extend<I: IntoIterator<Item = W::Key>>(&mut self, keys: I) {
        self.keys.extend(keys);
    }
}

impl<W: World> Default for Wakes<W> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            lists: Vec::new(),
        }
    }
}
