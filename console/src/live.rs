//! What the server follows on the hub: one list and one watch per kind, while a page is open.
//!
//! # Guarantees
//! - A kind is followed from the first [`Kind::open`] until [`KEPT`] after the last one ended. Then its objects are dropped.
//! - While the hub is away, what was known stays, and [`Kind::connection`] says since when.

mod csrs;
mod happenings;
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
use berth_reconcile::{Item, Meta, Reports, WatchError, Watched, follow_all};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use csrs::{CsrObject, Csrs};
pub(crate) use happenings::{Happening, Happenings};
pub(crate) use parts::{LeaseOfLeader, OpenParts, Parts, Revisions};
pub(crate) use placements::{DecisionFact, PlacementFact};
pub(crate) use sets::{BindingFact, SetFact};
use store::key;
pub(crate) use store::{Fact, Objects, Store};
pub(crate) use works::{
    DecidedFact, MOST_CONDITIONS, RolloutFact, RolloutPlacement, WholeWork, WorkDifference,
    WorkFact, condition,
};

use crate::answers::{Connection, HubAnswer};
use crate::rights::READS;

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
    part: Part,
    hub: Hub,
    tasks: Tasks,
    state: Mutex<State<S>>,
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

/// Writes what a watch reports into the store.
struct Filled<'a, S> {
    shared: &'a Shared<S>,
    /// While objects are listed: the keys of those that the list has named.
    listed: Option<HashSet<String>>,
}

// === impl Kind ===

impl<S: Store> Kind<S> {
    pub(crate) fn new(hub: Hub, tasks: Tasks) -> Self {
        Self::part(hub, tasks, Part::All)
    }

    /// A part of the kind, for one page.
    pub(crate) fn part(hub: Hub, tasks: Tasks, part: Part) -> Self {
        Self(Arc::new(Shared {
            part,
            hub,
            tasks,
            state: Mutex::new(State {
                store: S::default(),
                connection: loading(),
                is_followed: false,
            }),
            changed: watch::Sender::new(0),
            open: watch::Sender::new(0),
        }))
    }

    /// Follows the kind for as long as the result lives.
    pub(crate) fn open(&self) -> Open<S> {
        let mut state = self.0.lock();
        self.0.open.send_modify(|count| *count += 1);
        if !state.is_followed {
            state.is_followed = true;
            let shared = Arc::clone(&self.0);
            let ended = self.0.tasks.end.clone().cancelled_owned();
            self.0.tasks.tracker.spawn(async move {
                tokio::select! {
                    () = ended => {}
                    () = shared.follow() => {}
                }
            });
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
        self.0.changed.subscribe()
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
        self.0.open.send_modify(|count| *count -= 1);
    }
}

// === impl Shared ===

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Store> Shared<S> {
    async fn follow(&self) {
        let watched = self.part.of(S::watched());
        let mut filled = Filled {
            shared: self,
            listed: None,
        };
        tokio::select! {
            never = follow_all(self.hub.api(), &watched, &mut filled) => match never {},
            () = self.idle() => {}
        }
    }

    /// Ends when nobody has looked for [`KEPT`]. Then the store is empty, and the next one begins anew.
    async fn idle(&self) {
        let mut open = self.open.subscribe();
        let kept = match self.part {
            Part::All => KEPT,
            _ => Duration::ZERO,
        };
        loop {
            // The sender lives as long as this.
            if open.wait_for(|count| *count == 0).await.is_err() {
                return;
            }
            let opened = tokio::time::timeout(kept, open.wait_for(|count| *count > 0));
            if opened.await.is_ok() {
                continue;
            }
            let mut state = self.lock();
            if *self.open.borrow() == 0 {
                *state = State {
                    store: S::default(),
                    connection: loading(),
                    is_followed: false,
                };
                return;
            }
        }
    }

    /// Changes the store or the connection, and tells it.
    fn change(&self, change: impl FnOnce(&mut State<S>)) {
        change(&mut self.lock());
        self.changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    fn stands(&self, state: Connection, message: Option<&str>, remedy: Option<&str>) {
        self.change(|it| {
            let before = &it.connection;
            let since = match before.state == state {
                true => before.since,
                false => Timestamp::now(),
            };
            it.connection = HubAnswer {
                state,
                since,
                message: message.map(Into::into),
                remedy: remedy.map(Into::into),
                missing: None,
            };
        });
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

/// Returns what a failed list or watch means, and what to do.
fn judge(code: u16, resource: &str) -> (Connection, String) {
    match code {
        401 => (
            Connection::Refused,
            "sign in at the hub again, for example by kubectl, and reload".to_owned(),
        ),
        403 => (
            Connection::Refused,
            format!(
                "ask an admin for a role that may list and watch {resource}: {READS} is one"
            ),
        ),
        404 => (
            Connection::Refused,
            "this API server has none of the CRDs of a hub: choose another --context, or install the hub by `berth init`".to_owned(),
        ),
        _ => (
            Connection::Away,
            "the page shows what was known, and goes on by itself when the hub answers".to_owned(),
        ),
    }
}

// === impl Filled ===

impl<S: Store> Reports for Filled<'_, S> {
    const RESUMES: bool = true;

    fn listing(&mut self) {
        self.listed = Some(HashSet::new());
    }

    fn listed(&mut self, _: Option<u64>) {
        if let Some(listed) = self.listed.take() {
            self.shared.lock().store.retain(|key| listed.contains(key));
        }
        self.shared.stands(Connection::Connected, None, None);
    }

    fn object(&mut self, item: &Item<'_>) {
        let key = key(&item.meta);
        // Read before the lock: an object may be large.
        let object = S::read(item);
        if let Some(listed) = &mut self.listed {
            // Told at the end of the list.
            self.shared.lock().store.insert(&key, object);
            listed.insert(key);
        } else {
            self.shared.change(|state| state.store.insert(&key, object));
        }
    }

    fn deleted(&mut self, meta: &Meta) {
        self.shared.change(|state| state.store.remove(&key(meta)));
    }

    fn unreadable(&mut self, _: &str) {}

    fn interrupted(&mut self, error: &WatchError) {
        self.listed = None;
        let (state, remedy) = judge(error.code, S::RESOURCE);
        self.shared
            .stands(state, Some(&error.message), Some(&remedy));
    }

    fn resumed(&mut self) {
        self.shared.stands(Connection::Connected, None, None);
    }
}
