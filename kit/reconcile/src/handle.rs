//! What the tasks of a controller share: the world, the table of kinds, the queues and the writers.

mod sight;
mod writes;

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::plan::{Event, Target};
use jiff::Timestamp;
use tokio::sync::{Notify, mpsc};

use crate::events::{Events, Regarding};
use crate::metrics::{Counted, Metrics, QueueMetrics};
use crate::queue::{self, Counts, Next, Queue};
use crate::seen::Seen;
use crate::watched::Watched;
use crate::world::{Wake, World};
use crate::writer::Writer;

pub use self::sight::Moment;
pub use self::writes::{ROUNDS, WriteOutcome, failed, never_settled};

/// The state that the tasks of a controller share.
pub struct Handle<W: World> {
    state: Mutex<State<W>>,
    rows: RwLock<Rows<W>>,
    writers: Vec<Arc<Writer>>,
    events: Events,
    metrics: Metrics,
    lanes: Vec<LaneQueue<W::Key>>,
    changes: mpsc::UnboundedSender<RowChange<W>>,
}

/// The queue of a lane.
struct LaneQueue<K> {
    queue: Queue<K>,
    metrics: QueueMetrics,
}

type Rows<W> = HashMap<<W as World>::Kind, Arc<Row<W>>>;

/// A row of the table of kinds, while it is watched.
pub(crate) struct Row<W: World> {
    pub(crate) watched: Watched<W::Fact>,
    /// The kind is to be listed anew.
    pub(crate) list_anew: Notify,
}

/// A row was added, or removed.
pub(crate) enum RowChange<W: World> {
    Added(W::Kind, Arc<Row<W>>),
    Removed(W::Kind),
}

struct State<W: World> {
    world: W,
    seen: Seen<W::Kind>,
    /// All kinds have been listed, and all keys woken once.
    begun: bool,
}

/// The world, locked while this exists.
pub struct Locked<'a, W: World>(MutexGuard<'a, State<W>>);

// === impl Handle ===

impl<W: World> Handle<W> {
    pub(crate) fn new(
        world: W,
        writers: Vec<Arc<Writer>>,
        events: Events,
        metrics: Metrics,
        changes: mpsc::UnboundedSender<RowChange<W>>,
    ) -> Self {
        let state = State {
            world,
            seen: Seen::default(),
            begun: false,
        };
        let lanes = W::LANES.iter().map(|lane| {
            let metrics = metrics.queue(lane.name);
            LaneQueue {
                queue: Queue::with_groups(W::group, metrics.adds.clone()),
                metrics,
            }
        });
        Self {
            lanes: lanes.collect(),
            state: Mutex::new(state),
            rows: RwLock::default(),
            writers,
            events,
            metrics,
            changes,
        }
    }

    /// Watches a kind from now on. A watch of the kind by another row ends.
    pub fn watch(&self, kind: W::Kind, watched: Watched<W::Fact>) {
        let row = Arc::new(Row {
            watched,
            list_anew: Notify::new(),
        });
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.insert(kind, row.clone());
        // Without a receiver the controller has ended.
        let _ = self.changes.send(RowChange::Added(kind, row));
    }

    /// Ends the watch of a kind: for the world its objects are gone.
    pub fn unwatch(&self, kind: W::Kind) {
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.remove(&kind);
        drop(rows);
        let _ = self.changes.send(RowChange::Removed(kind));
    }

    /// Locks the world.
    pub fn world(&self) -> Locked<'_, W> {
        Locked(self.state())
    }

    /// Changes the world, and wakes the keys that the change concerns.
    pub fn change<T>(&self, change: impl FnOnce(&mut W, &mut Wake<W>) -> T) -> T {
        self.update(|state, wakes| change(&mut state.world, wakes))
    }

    /// The API server at this place among those that the controller was given.
    ///
    /// # Panics
    /// The controller was given fewer API servers.
    pub fn writer(&self, server: usize) -> &Writer {
        &self.writers[server]
    }

    /// How long work on this key has failed in a row.
    pub fn failing_for(&self, key: &W::Key, now: Instant) -> Duration {
        self.lane(key).queue.failing_for(key, now)
    }

    /// Sends an Event about an object of this API server, without waiting for it.
    pub fn tell(&self, server: usize, event: &Event, regarding: &Regarding) {
        self.events.tell(server, event, regarding, Timestamp::now());
    }

    /// Works on a key that has waited since this time.
    pub(crate) async fn one(&self, key: W::Key, since: Instant) {
        let begun = queue::now();
        let lane = self.lane(&key);
        lane.metrics.waited(begun.saturating_duration_since(since));
        let done = W::reconcile(self, &key).await;
        let now = queue::now();
        let succeeded = !matches!(done, Next::Failed { .. });
        let took = now.saturating_duration_since(begun);
        self.metrics
            .reconciled(W::reconciler(&key), succeeded, took);
        lane.metrics.worked(took, succeeded);
        lane.queue.done(&key, done, now);
    }

    pub(crate) fn queue(&self, lane: usize) -> &Queue<W::Key> {
        &self.lanes[lane].queue
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Changes the state, and wakes the keys that the change concerns, once all kinds have been listed.
    fn update<T>(&self, change: impl FnOnce(&mut State<W>, &mut Wake<W>) -> T) -> T {
        let mut wakes = Wake::default();
        // First the rows, then the state, as everywhere: with two orders, two tasks could block each other.
        let rows = self.rows();
        let mut state = self.state();
        let changed = change(&mut state, &mut wakes);
        for kind in &wakes.lists {
            // Before the notification below: the list that it begins must count unchanged objects as news.
            state.seen.reread(*kind);
        }
        if !state.begun {
            wakes.keys.clear();
            // The first time all keys are woken.
            if is_primed(&rows, &state.seen) {
                state.begun = true;
                wakes.keys = state.world.all();
            }
        }
        drop(state);
        for kind in wakes.lists {
            if let Some(row) = rows.get(&kind) {
                row.list_anew.notify_one();
            }
        }
        drop(rows);
        let now = queue::now();
        for key in wakes.keys {
            self.lane(&key).queue.wake(key, now);
        }
        changed
    }

    fn lane(&self, key: &W::Key) -> &LaneQueue<W::Key> {
        &self.lanes[W::lane(key)]
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> RwLockReadGuard<'_, Rows<W>> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn row_in(&self, kind: W::Kind) -> Option<Arc<Row<W>>> {
        self.rows().get(&kind).cloned()
    }

    /// The row of an object of this API server, in any version.
    fn row_of(&self, server: usize, target: &Target) -> Option<(W::Kind, Arc<Row<W>>)> {
        let rows = self.rows();
        let mut rows = rows.iter();
        let found = rows.find(|(_, row)| {
            let row = &row.watched;
            row.server == server
                && (&*row.group, &*row.resource)
                    == (&*target.resource.group, &*target.resource.resource)
        });
        found.map(|(kind, row)| (*kind, row.clone()))
    }
}

impl<W: World> Counted for Handle<W> {
    fn is_primed(&self) -> bool {
        is_primed(&self.rows(), &self.state().seen)
    }

    fn unprimed(&self) -> Vec<&'static str> {
        let rows = self.rows();
        let state = self.state();
        let needed = rows.iter().filter(|(_, row)| !row.watched.optional);
        let missing = needed.filter(|(kind, _)| !state.seen.is_listed(**kind));
        let mut names: Vec<_> = missing.map(|(_, row)| row.watched.name).collect();
        names.sort_unstable();
        names.extend(state.world.unprimed());
        names
    }

    fn queues(&self, now: Instant) -> Vec<(&'static str, Counts)> {
        let lanes = W::LANES.iter().zip(&self.lanes);
        let counts = lanes.map(|(lane, it)| (lane.name, it.queue.counts(now)));
        counts.collect()
    }
}

// === impl Locked ===

impl<W: World> Deref for Locked<'_, W> {
    type Target = W;

    fn deref(&self) -> &W {
        &self.0.world
    }
}

impl<W: World> DerefMut for Locked<'_, W> {
    fn deref_mut(&mut self) -> &mut W {
        &mut self.0.world
    }
}

/// The time. The monotonic clock is the runtime's, which tests can stop.
pub fn now() -> Now {
    Now {
        instant: queue::now(),
        wall: Timestamp::now(),
    }
}

fn is_primed<W: World>(rows: &Rows<W>, seen: &Seen<W::Kind>) -> bool {
    let mut needed = rows.iter().filter(|(_, row)| !row.watched.optional);
    needed.all(|(kind, _)| seen.is_listed(*kind))
}

#[cfg(test)]
mod tests;
