//! The work on a key: facts, decision, writes, and again with what the writes made, until nothing is due.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::plan::{Action, Event, Target, Write, WriteFailure};
use futures::future::join_all;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::events::{Events, Regarding};
use crate::metrics::{Counted, Metrics};
use crate::object::{Item, Meta, RawObject};
use crate::queue::{self, Done, Queue};
use crate::seen::{Seen, Source};
use crate::watched::Watched;
use crate::world::{Sight, Wakes, World};
use crate::writer::{Refusal, Writer, Written};

/// Upper bound on the plans that follow one another at once. More would be a decider whose writes do not last.
pub const ROUNDS: usize = 16;

/// What all that works on keys shares.
pub struct Work<W: World> {
    state: Mutex<State<W>>,
    rows: RwLock<Rows<W>>,
    writers: Vec<Arc<Writer>>,
    events: Events,
    metrics: Metrics,
    lanes: Vec<Queue<W::Key>>,
    changes: mpsc::UnboundedSender<RowChange<W>>,
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
    /// Everything has been seen, and looked at once.
    begun: bool,
}

/// The world, locked.
pub struct Locked<'a, W: World>(MutexGuard<'a, State<W>>);

/// What came of writes.
#[derive(Debug)]
pub enum WriteOutcome {
    /// Nothing was due.
    Nothing,
    /// All of it was written.
    Written,
    /// Some of it was not.
    Failed(Vec<(WriteFailure, Refusal)>),
}

// === impl Work ===

impl<W: World> Work<W> {
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
        Self {
            state: Mutex::new(state),
            rows: RwLock::default(),
            writers,
            events,
            metrics,
            lanes: W::LANES.iter().map(|_| Queue::new()).collect(),
            changes,
        }
    }

    /// Watches a kind from now on; if it is watched already, by another row, that one ends.
    pub fn watch(&self, kind: W::Kind, watched: Watched<W::Fact>) {
        let row = Arc::new(Row {
            watched,
            list_anew: Notify::new(),
        });
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.insert(kind, row.clone());
        // Nobody listens any more: it ends.
        let _ = self.changes.send(RowChange::Added(kind, row));
    }

    /// Watches a kind no longer: its objects are gone.
    pub fn unwatch(&self, kind: W::Kind) {
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.remove(&kind);
        drop(rows);
        let _ = self.changes.send(RowChange::Removed(kind));
    }

    /// The world. Nobody else can look at it meanwhile.
    pub fn world(&self) -> Locked<'_, W> {
        Locked(self.state())
    }

    /// Changes the world, and has worked on what that concerns.
    pub fn change<T>(&self, change: impl FnOnce(&mut W, &mut Wakes<W>) -> T) -> T {
        self.update(|state, wakes| change(&mut state.world, wakes))
    }

    /// Calls to the API server at this place among those that the controller was given.
    ///
    /// # Panics
    /// The controller was given fewer.
    pub fn writer(&self, server: usize) -> &Writer {
        &self.writers[server]
    }

    /// Names of kinds that are needed and have not been listed yet; empty when everything has been seen.
    pub fn unprimed(&self) -> Vec<&'static str> {
        let rows = self.rows();
        let state = self.state();
        let needed = rows.iter().filter(|(_, row)| !row.watched.optional);
        let missing = needed.filter(|(kind, _)| !state.seen.is_listed(**kind));
        let mut names: Vec<_> = missing.map(|(_, row)| row.watched.name).collect();
        names.sort_unstable();
        names
    }

    /// How long the work on this key has failed in a row.
    pub fn failing_for(&self, key: &W::Key, now: Instant) -> Duration {
        self.lane(key).failing_for(key, now)
    }

    /// Hands in an Event about an object of this API server.
    pub fn tell(&self, server: usize, event: &Event, regarding: &Regarding) {
        self.events.tell(server, event, regarding, Timestamp::now());
    }

    /// Decides and writes until nothing is due.
    pub async fn settle(&self, key: &W::Key) -> Done {
        let done = self.attempt(key).await;
        done.unwrap_or_else(|failures| failed(&failures))
    }

    /// The same; what failed is the error.
    ///
    /// # Errors
    /// The writes that failed.
    pub async fn attempt(&self, key: &W::Key) -> Result<Done, Vec<(WriteFailure, Refusal)>> {
        let mut wrote = false;
        for _ in 0..ROUNDS {
            let plan = self.world().decide(key, now());
            match self.carry_out(plan.writes).await {
                WriteOutcome::Nothing => {
                    return Ok(Done::Settled {
                        again: plan.again,
                        pause: wrote.then(|| queue::now() + W::pause(key)),
                    });
                }
                WriteOutcome::Written => wrote = true,
                WriteOutcome::Failed(failures) => return Err(failures),
            }
        }
        Ok(never_settled(key))
    }

    /// Writes all of it, and has the world see what came of it.
    pub async fn carry_out(&self, writes: Vec<Write>) -> WriteOutcome {
        if writes.is_empty() {
            return WriteOutcome::Nothing;
        }
        let outcomes = writes.iter().map(|write| self.write(write));
        let failures: Vec<_> = join_all(outcomes).await.into_iter().flatten().collect();
        if failures.is_empty() {
            WriteOutcome::Written
        } else {
            WriteOutcome::Failed(failures)
        }
    }

    async fn write(&self, write: &Write) -> Option<(WriteFailure, Refusal)> {
        let server = W::server(write);
        let Some(writer) = self.writers.get(server) else {
            tracing::error!(
                reconciler = write.reconciler,
                server,
                "a write names an API server that does not exist"
            );
            return None;
        };
        let written = writer.write(write).await;
        let row = self.row_of(server, &write.target);
        // What an admin has deleted may be of any kind.
        let resource = row.as_ref().map_or("other", |(_, row)| row.watched.name);
        let outcome = written.as_ref().map(|_| ());
        let outcome = outcome.map_err(|(_, refusal)| refusal.code);
        self.metrics.wrote(write, resource, outcome);
        match written {
            Ok(written) => {
                self.written(server, row, write, &written);
                None
            }
            Err((failure, refusal)) => {
                log_failure(&failure);
                Some((failure, refusal))
            }
        }
    }

    fn written(
        &self,
        server: usize,
        row: Option<(W::Kind, Arc<Row<W>>)>,
        write: &Write,
        written: &Written,
    ) {
        let target = &write.target;
        let namespace = target.namespace.as_deref().unwrap_or_default();
        tracing::debug!(
            reconciler = write.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            "written"
        );
        match (row, written) {
            // The response is the object as it was before.
            (Some((kind, _)), Written::Object(object)) if takes_last_finalizer(write, object) => {
                self.gone(kind, namespace, &target.name);
            }
            (Some((kind, row)), Written::Object(object)) => {
                self.see(kind, &row.watched, &object.item(), Source::Write);
            }
            (Some((kind, _)), Written::Gone) => self.gone(kind, namespace, &target.name),
            (None, _) => {}
        }
        if let Action::Delete { why, .. } = write.action {
            tracing::info!(
                reconciler = write.reconciler,
                resource = target.resource.resource,
                namespace,
                name = target.name,
                why,
                "deleted"
            );
        }
        let Written::Object(object) = written else {
            return;
        };
        for event in &write.events {
            tracing::info!(
                reason = event.reason,
                note = event.note,
                namespace,
                name = target.name,
                "event"
            );
            // As OCM: what went well is in the log, and costs the API server no write.
            if event.warning {
                self.tell(server, event, &object.parse().unwrap_or_default());
            }
        }
    }

    /// An object was read by a question: it is as current as one that a watch reports.
    pub fn observed(&self, kind: W::Kind, object: &RawObject) {
        let row = self.rows().get(&kind).cloned();
        if let Some(row) = row {
            self.see(kind, &row.watched, &object.item(), Source::Read);
        }
    }

    /// An object does not exist any more, as a question was answered.
    pub fn gone(&self, kind: W::Kind, namespace: &str, name: &str) {
        self.update(|state, wakes| {
            state.seen.remove(kind, namespace, name);
            state.world.gone(kind, namespace, name, wakes);
        });
    }

    /// Works on a key that has waited since this time.
    pub(crate) async fn one(&self, key: W::Key, since: Instant) {
        let begun = queue::now();
        let lane = W::LANES[W::lane(&key)].name;
        let waited = begun.saturating_duration_since(since);
        self.metrics.waited(lane, waited);
        let done = W::work(self, &key).await;
        let now = queue::now();
        let succeeded = !matches!(done, Done::Failed { .. });
        let took = now.saturating_duration_since(begun);
        self.metrics
            .reconciled(W::reconciler(&key), succeeded, took);
        self.lane(&key).done(&key, done, now);
    }

    pub(crate) fn queue(&self, lane: usize) -> &Queue<W::Key> {
        &self.lanes[lane]
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// An object exists, or has changed.
    pub(crate) fn see(
        &self,
        kind: W::Kind,
        watched: &Watched<W::Fact>,
        item: &Item<'_>,
        source: Source,
    ) {
        // Not while anything is locked: an object may be a megabyte.
        let fact = (watched.read)(item);
        if fact.is_err() {
            self.metrics.unreadable(watched.name);
        }
        self.update(|state, wakes| {
            let sight = Sight {
                source,
                is_listing: state.seen.is_listing(kind),
                now: now(),
            };
            if !state.seen.is_news(kind, &item.meta, source) {
                return;
            }
            match fact {
                Ok(fact) => state.world.apply(kind, &item.meta, fact, sight, wakes),
                Err(error) => state.world.unreadable(kind, &item.meta, &error),
            }
        });
    }

    /// An object could not be read, not even its name.
    pub(crate) fn unreadable(&self, kind: W::Kind, name: &'static str) {
        self.metrics.unreadable(name);
        self.state().seen.unreadable(kind);
    }

    /// The watch reports that an object was deleted.
    pub(crate) fn deleted(&self, kind: W::Kind, meta: &Meta) {
        self.update(|state, wakes| {
            if state.seen.is_gone(kind, meta) {
                let Meta {
                    namespace, name, ..
                } = meta;
                state.world.gone(kind, namespace, name, wakes);
            }
        });
    }

    pub(crate) fn listing(&self, kind: W::Kind) {
        self.state().seen.listing(kind);
    }

    pub(crate) fn listed(&self, kind: W::Kind, version: Option<u64>) {
        self.update(|state, wakes| {
            for (namespace, name) in state.seen.listed(kind, version) {
                state.world.gone(kind, &namespace, &name, wakes);
            }
            state.world.listed(kind, now(), wakes);
        });
    }

    pub(crate) fn lost_sight(&self, kind: W::Kind, name: &'static str) {
        self.metrics.watch_failed(name);
        self.update(|state, wakes| state.world.lost_sight(kind, now(), wakes));
    }

    /// A kind is watched no longer, and its task has ended.
    pub(crate) fn forget(&self, kind: W::Kind) {
        self.update(|state, wakes| {
            for (namespace, name) in state.seen.forget(kind) {
                state.world.gone(kind, &namespace, &name, wakes);
            }
        });
    }

    /// Changes what is known, and has worked on what that concerns, once everything has been seen.
    fn update<T>(&self, change: impl FnOnce(&mut State<W>, &mut Wakes<W>) -> T) -> T {
        let mut wakes = Wakes::default();
        let rows = self.rows();
        let mut state = self.state();
        let changed = change(&mut state, &mut wakes);
        if !state.begun {
            wakes.keys.clear();
            // The first time everything is looked at.
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
            self.lane(&key).wake(key, now);
        }
        changed
    }

    fn lane(&self, key: &W::Key) -> &Queue<W::Key> {
        &self.lanes[W::lane(key)]
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> std::sync::RwLockReadGuard<'_, Rows<W>> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn row_in(&self, kind: W::Kind) -> Option<Arc<Row<W>>> {
        self.rows().get(&kind).cloned()
    }

    /// The row that an object of this API server belongs to, in whichever version.
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

impl<W: World> Counted for Work<W> {
    fn is_primed(&self) -> bool {
        is_primed(&self.rows(), &self.state().seen)
    }

    fn waiting(&self, now: Instant) -> Vec<(&'static str, usize, Duration)> {
        let lanes = W::LANES.iter().zip(&self.lanes);
        let waiting = lanes.map(|(lane, queue)| {
            let (depth, age) = queue.waiting(now);
            (lane.name, depth, age)
        });
        waiting.collect()
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

/// What the clocks say; the monotonic one is the runtime's, which tests can stop.
pub fn now() -> Now {
    Now {
        instant: queue::now(),
        wall: Timestamp::now(),
    }
}

/// Some of the writes failed. It is tried again with what the API server is like then.
pub fn failed(failures: &[(WriteFailure, Refusal)]) -> Done {
    let waits = failures
        .iter()
        .filter_map(|(_, refusal)| refusal.retry_after);
    Done::Failed { wait: waits.max() }
}

fn is_primed<W: World>(rows: &Rows<W>, seen: &Seen<W::Kind>) -> bool {
    let mut needed = rows.iter().filter(|(_, row)| !row.watched.optional);
    needed.all(|(kind, _)| seen.is_listed(*kind))
}

/// After [`ROUNDS`] plans for a key, another one was due: that is logged, and tried again later.
pub fn never_settled(key: &impl std::fmt::Debug) -> Done {
    tracing::error!(
        ?key,
        "a reconcile does not settle: its writes do not last; another client may be writing the same"
    );
    Done::Failed { wait: None }
}

/// Nothing held the object any more but what this write took away: it is gone with it.
fn takes_last_finalizer(write: &Write, answer: &RawObject) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        deletion_timestamp: Option<String>,
    }
    #[derive(Deserialize)]
    struct Deleted {
        metadata: Metadata,
    }
    let Action::Patch {
        subresource: None,
        body,
    } = &write.action
    else {
        return false;
    };
    let none_left = match body["metadata"].get("finalizers") {
        Some(Value::Null) => true,
        Some(Value::Array(left)) => left.is_empty(),
        _ => false,
    };
    let is_deleted = |it: Deleted| it.metadata.deletion_timestamp.is_some();
    none_left && answer.parse().is_ok_and(is_deleted)
}

/// Expected refusals (conflict, throttling) are logged at debug.
fn is_expected(failure: &WriteFailure) -> bool {
    failure.is_transient() && !matches!(failure.code, 0 | 500..)
}

fn log_failure(failure: &WriteFailure) {
    let target = &failure.target;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let words = "not written, tried again";
    if is_expected(failure) {
        tracing::debug!(
            reconciler = failure.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            code = failure.code,
            error = failure.message,
            "{words}"
        );
    } else {
        tracing::warn!(
            reconciler = failure.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            code = failure.code,
            error = failure.message,
            "{words}"
        );
    }
}

#[cfg(test)]
mod tests;
