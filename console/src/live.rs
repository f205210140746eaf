//! What the server follows on the hub: one list and one watch per kind, while a page is open.
//!
//! # Guarantees
//! - A kind is followed from the first [`Kind::open`] until [`KEPT`] after the last one ended. Then its objects are dropped.
//! - While the hub is away, what was known stays, and [`Kind::connection`] says since when.

mod csrs;
mod follow;
mod happenings;
mod lease;
mod parts;
mod placements;
mod sets;
mod store;
mod works;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use berth_admin::answers::Hub;
use berth_api::GroupVersionResource;
use berth_reconcile::{Item, Watched};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use csrs::{CsrObject, Csrs};
use follow::{Followed, begin};
pub(crate) use happenings::{Happening, Happenings};
pub(crate) use parts::{LeaseOfLeader, OpenParts, Parts, Revisions};
pub(crate) use placements::{DecisionFact, PlacementFact};
pub(crate) use sets::{BindingFact, SetFact};
pub(crate) use store::{Fact, Objects, Store};
pub(crate) use works::{
    DecidedFact, MOST_CONDITIONS, RolloutFact, RolloutPlacement, WholeWork, WorkDifference,
    WorkFact, condition,
};

use crate::answers::{Connection, HubAnswer};

/// A kind is followed this long after the last page was closed.
const KEPT: Duration = Duration::from_secs(60);

/// The tasks of a server, which end with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    pub(crate) tracker: TaskTracker,
    pub(crate) end: CancellationToken,
}

impl Tasks {
    /// Tasks of this server with an end of their own, which comes with that of the server at the latest.
    pub(crate) fn child(&self) -> Self {
        Self {
            tracker: self.tracker.clone(),
            end: self.end.child_token(),
        }
    }
}

/// A kind of objects, and the store that is kept of them.
#[derive(Debug)]
pub(crate) struct Kind<S>(Arc<Shared<S>>);

/// A kind that is followed, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Open<S>(Arc<Shared<S>>);

#[derive(Debug)]
struct Shared<S> {
    common: Common,
    state: Mutex<State<S>>,
}

/// What has nothing to do with the store of a kind.
#[derive(Debug)]
struct Common {
    part: Part,
    hub: Hub,
    tasks: Tasks,
    /// Counts the changes.
    changed: watch::Sender<u64>,
    /// Number of [`Open`]s.
    open: watch::Sender<usize>,
}

/// The part of a kind that is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// All objects. They are kept for a while after the last page was closed.
    #[default]
    All,
    /// Those of a namespace.
    Within(String),
    /// One object, by namespace and name.
    One(String, String),
    /// Those with these labels.
    Labelled(String),
}

#[derive(Debug)]
struct State<S> {
    store: S,
    connection: HubAnswer,
    is_followed: bool,
}

// === impl Kind ===

impl<S: Store> Kind<S> {
    pub(crate) fn new(hub: Hub, tasks: Tasks) -> Self {
        Self::part(hub, tasks, Part::All)
    }

    /// A part of the kind, for one page.
    pub(crate) fn part(hub: Hub, tasks: Tasks, part: Part) -> Self {
        let common = Common {
            part,
            hub,
            tasks,
            changed: watch::Sender::new(0),
            open: watch::Sender::new(0),
        };
        Self(Arc::new(Shared {
            common,
            state: Mutex::new(State::default()),
        }))
    }

    /// Follows the kind for as long as the result lives.
    pub(crate) fn open(&self) -> Open<S> {
        let mut state = self.0.lock();
        self.0.common.open.send_modify(|count| *count += 1);
        if !state.is_followed {
            state.is_followed = true;
            begin(Arc::clone(&self.0) as Arc<dyn Followed>);
        }
        drop(state);
        Open(Arc::clone(&self.0))
    }
}

// === impl Open ===

impl<S> Open<S> {
    /// Looks at the store.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&S, &HubAnswer) -> T) -> T {
        let state = self.0.lock();
        look(&state.store, &state.connection)
    }

    /// Returns how the kind stands with the hub.
    pub(crate) fn connection(&self) -> HubAnswer {
        self.0.lock().connection.clone()
    }

    /// Tells changes of the store and of the connection.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.common.changed.subscribe()
    }

    /// Waits until the first list is over, or failed.
    pub(crate) async fn loaded(&self) {
        let mut changes = self.changes();
        while self.connection().state == Connection::Loading {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl<S> Drop for Open<S> {
    fn drop(&mut self) {
        // Under the lock, so that a task that ends sees each count.
        let _state = self.0.lock();
        self.0.common.open.send_modify(|count| *count -= 1);
    }
}

// === impl Shared ===

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Store> Followed for Shared<S> {
    fn common(&self) -> &Common {
        &self.common
    }

    fn watched(&self) -> Watched<()> {
        S::watched()
    }

    fn resource(&self) -> &'static str {
        S::RESOURCE
    }

    fn insert(&self, key: &str, item: &Item<'_>) {
        // Read before the lock: an object may be large.
        let object = S::read(item);
        self.lock().store.insert(key, object);
    }

    fn remove(&self, key: &str) {
        self.lock().store.remove(key);
    }

    fn retain(&self, listed: &HashSet<String>) {
        self.lock().store.retain(|key| listed.contains(key));
    }

    fn connect(&self, change: &dyn Fn(&mut HubAnswer)) {
        change(&mut self.lock().connection);
    }

    fn rests(&self) -> bool {
        let mut state = self.lock();
        let nobody_looks = *self.common.open.borrow() == 0;
        if nobody_looks {
            *state = State::default();
        }
        nobody_looks
    }
}

// === impl State ===

impl<S: Store> Default for State<S> {
    fn default() -> Self {
        Self {
            store: S::default(),
            connection: loading(),
            is_followed: false,
        }
    }
}

// === impl Common ===

impl Common {
    fn tell(&self) {
        self.changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}

// === impl Part ===

impl Part {
    fn of(&self, watched: Watched<()>) -> Watched<()> {
        match self {
            Self::All => watched,
            Self::Within(namespace) => watched.within(namespace),
            Self::One(namespace, name) => watched.within(namespace).named(name),
            Self::Labelled(selector) => watched.labelled(selector.clone()),
        }
    }
}

/// A kind of this name, by its group, version and resource.
fn watched(name: &'static str, (group, version, resource): (&str, &str, &str)) -> Watched<()> {
    let kind = GroupVersionResource {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
    };
    Watched::new(name, kind, |_| Ok(()))
}

fn loading() -> HubAnswer {
    HubAnswer {
        state: Connection::Loading,
        since: Timestamp::now(),
        message: None,
        remedy: None,
        missing: None,
    }
}
