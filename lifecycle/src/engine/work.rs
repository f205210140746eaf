//! The work on a key: facts, decision, writes, and again with what the writes made, until nothing is due.

mod cluster;
mod csr;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use kube::Client;
use serde_json::Value;

use super::events::Events;
use super::kinds::Kind;
use super::metrics::Metrics;
use super::object::Object;
use berth_reconcile::queue::{self, Done, Queue};
use super::view::{Key, Source, View};
use super::writer::{Refusal, Writer, Written};
use crate::config::Config;
use crate::facts::Now;
use crate::{bindings, common_roles, default_sets, heartbeat, sets, status};
use berth_api::plan::{Action, Failure, Plan, Write};

/// So many times a plan may follow another at once. More would be a decider that is never content.
const ROUNDS: usize = 16;

/// The status of a set is written at most this often: it tells a number that changes with every cluster.
const SET_PAUSE: Duration = Duration::from_millis(500);

/// What all that works on keys shares.
pub(crate) struct Work {
    config: Arc<Config>,
    client: Client,
    writer: Arc<Writer>,
    view: Mutex<View>,
    events: Events,
    metrics: Metrics,
    lanes: [Queue<Key>; Lane::ALL.len()],
}

/// A queue of its own: what is seldom and small does not wait behind ten thousand clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Clusters,
    Csrs,
    Sets,
    Bindings,
}

/// What a plan came to.
enum Outcome {
    /// Nothing was due.
    Nothing,
    /// All of it was written.
    Written,
    /// Some of it was not.
    Failed(Vec<(Failure, Refusal)>),
}

// === impl Lane ===

impl Lane {
    pub(crate) const ALL: [Self; 4] = [Self::Clusters, Self::Csrs, Self::Sets, Self::Bindings];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clusters => "clusters",
            Self::Csrs => "csrs",
            Self::Sets => "sets",
            Self::Bindings => "bindings",
        }
    }

    /// How many keys are worked on at the same time. A cluster that is accepted has up to four requests under way.
    pub(crate) fn at_once(self) -> usize {
        match self {
            Self::Clusters => 24,
            Self::Csrs => 16,
            Self::Sets => 2,
            Self::Bindings => 8,
        }
    }

    fn of(key: &Key) -> Self {
        match key {
            Key::Cluster(_) => Self::Clusters,
            Key::Csr(_) => Self::Csrs,
            Key::CommonRoles | Key::DefaultSets | Key::Set(_) => Self::Sets,
            Key::Binding(..) => Self::Bindings,
        }
    }
}

// === impl Work ===

impl Work {
    pub(crate) fn new(
        config: Arc<Config>,
        client: Client,
        writer: Arc<Writer>,
        events: Events,
        metrics: Metrics,
    ) -> Self {
        Self {
            view: Mutex::new(View::new(config.clone())),
            config,
            client,
            writer,
            events,
            metrics,
            lanes: Lane::ALL.map(|_| Queue::new()),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn lane(&self, lane: Lane) -> &Queue<Key> {
        &self.lanes[lane as usize]
    }

    pub(crate) fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the view back, and has worked on what changed in it, once everything has been seen.
    pub(crate) fn wake(&self, mut view: MutexGuard<'_, View>, now: Instant) {
        let mut keys = view.wakes();
        if !view.begun {
            keys.clear();
            // The first time everything is looked at.
            if view.is_primed() {
                view.begun = true;
                keys = view.all();
            }
        }
        drop(view);
        for key in keys {
            self.lane(Lane::of(&key)).wake(key, now);
        }
    }

    /// Works on a key that has waited since this time.
    pub(crate) async fn one(&self, lane: Lane, key: Key, since: Instant) {
        let begun = queue::now();
        self.metrics
            .waited(lane.name(), begun.saturating_duration_since(since));
        let (controller, done) = match &key {
            Key::Cluster(name) => ("clusters", self.cluster(name).await),
            Key::Csr(name) => (crate::csrs::NAME, self.csr(name).await),
            Key::CommonRoles => (common_roles::NAME, self.common_roles().await),
            Key::DefaultSets => (
                default_sets::NAME,
                self.until_content(
                    |view, _| {
                        let set = |name| view.set(name).map(|(set, _)| set);
                        let (default, global) = (
                            set(berth_api::labels::DEFAULT_SET),
                            set(berth_api::labels::GLOBAL_SET),
                        );
                        Some(default_sets::decide(&self.config, default, global))
                    },
                    Duration::ZERO,
                )
                .await,
            ),
            Key::Set(name) => (
                sets::NAME,
                self.until_content(
                    |view, now| {
                        let (set, members) = view.set(name)?;
                        Some(sets::decide(set, members, now))
                    },
                    SET_PAUSE,
                )
                .await,
            ),
            Key::Binding(namespace, name) => (
                bindings::NAME,
                self.until_content(
                    |view, now| {
                        let binding = view.binding(namespace, name)?;
                        let exists = view.set(&binding.cluster_set).is_some();
                        let accepted = view
                            .cluster(namespace)
                            .is_some_and(|cluster| cluster.accepted);
                        Some(bindings::decide(
                            namespace, name, binding, exists, accepted, now,
                        ))
                    },
                    Duration::ZERO,
                )
                .await,
            ),
        };
        let now = queue::now();
        let succeeded = !matches!(done, Done::Failed { .. });
        self.metrics
            .reconciled(controller, succeeded, now.saturating_duration_since(begun));
        self.lane(lane).done(&key, done, now);
    }

    /// Works on the roles that all agents share. All clusters wait for them, so that they know what failed.
    async fn common_roles(&self) -> Done {
        let decide = |view: &View, _| {
            let (any, registration, work) = view.common_roles();
            Some(common_roles::decide(&self.config, any, registration, work))
        };
        let done = self.attempt(decide, Duration::ZERO).await;
        let now = queue::now();
        let lasted = self.lane(Lane::Sets).failing_for(&Key::CommonRoles, now);
        let failures = done.as_ref().err().into_iter().flatten();
        let told = failures.map(|(failure, _)| failure);
        let told: Vec<_> = told.filter(|it| it.is_told_after(lasted)).collect();
        let mut view = self.view();
        view.common_roles_fail((!told.is_empty()).then(|| status::describe(&told)));
        self.wake(view, now);
        done.unwrap_or_else(|failures| failed(&failures))
    }

    /// Decides and writes until nothing is due. `pause`: how long the key rests after a write.
    async fn until_content(
        &self,
        decide: impl Fn(&View, Now) -> Option<Plan>,
        pause: Duration,
    ) -> Done {
        let done = self.attempt(decide, pause).await;
        done.unwrap_or_else(|failures| failed(&failures))
    }

    /// The same; what failed is the error.
    async fn attempt(
        &self,
        decide: impl Fn(&View, Now) -> Option<Plan>,
        pause: Duration,
    ) -> Result<Done, Vec<(Failure, Refusal)>> {
        let mut wrote = false;
        for _ in 0..ROUNDS {
            let now = crate::engine::now();
            let plan = decide(&self.view(), now).unwrap_or_default();
            match self.carry_out(plan.writes).await {
                Outcome::Nothing => {
                    return Ok(Done::Settled {
                        again: plan.again,
                        pause: wrote.then(|| queue::now() + pause),
                    });
                }
                Outcome::Written => wrote = true,
                Outcome::Failed(failures) => return Err(failures),
            }
        }
        Ok(never_content(""))
    }

    /// Writes all of it, and lets the view see what came of it.
    async fn carry_out(&self, writes: Vec<Write>) -> Outcome {
        if writes.is_empty() {
            return Outcome::Nothing;
        }
        let outcomes = join_all(writes.iter().map(|write| self.writer.write(write))).await;
        let now = crate::engine::now();
        let mut failures = Vec::new();
        for (write, outcome) in writes.iter().zip(outcomes) {
            match outcome {
                Ok(written) => self.written(write, &written, now),
                Err((failure, refusal)) => {
                    tell_failure(&failure);
                    failures.push((failure, refusal));
                }
            }
        }
        if failures.is_empty() {
            Outcome::Written
        } else {
            Outcome::Failed(failures)
        }
    }

    fn written(&self, write: &Write, written: &Written, now: Now) {
        let target = &write.target;
        let kind = Kind::of(&target.resource);
        let namespace = target.namespace.as_deref().unwrap_or_default();
        tracing::debug!(
            reconciler = write.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            "written"
        );
        let mut view = self.view();
        match (kind, written) {
            // The answer is the object as it was before.
            (Some(kind), Written::Object(object)) if takes_last_finalizer(write, object) => {
                view.remove(kind, namespace, &target.name);
            }
            (Some(kind), Written::Object(object)) => view.apply(kind, object, Source::Write, now),
            (Some(kind), Written::Gone) => view.remove(kind, namespace, &target.name),
            (None, _) => {}
        }
        self.wake(view, now.instant);
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
        if tells_silence(write) {
            self.metrics.expired();
        }
        if let Written::Object(object) = written {
            for event in &write.events {
                tracing::info!(
                    reason = event.reason,
                    note = event.note,
                    namespace,
                    name = target.name,
                    "event"
                );
                // As OCM: what went well is in the log, and costs the hub no write.
                if event.warning {
                    self.events.tell(event, &object.value, now.wall);
                }
            }
        }
    }
}

/// The hub said no, or nothing. It is tried again with what the hub is like then.
fn failed(failures: &[(Failure, Refusal)]) -> Done {
    let waits = failures
        .iter()
        .filter_map(|(_, refusal)| refusal.retry_after);
    Done::Failed { wait: waits.max() }
}

fn never_content(cluster: &str) -> Done {
    tracing::error!(
        cluster,
        "a reconcile is never content: what it writes does not last; somebody else may be writing the same"
    );
    Done::Failed { wait: None }
}

/// Whether this says of a cluster that it is silent.
fn tells_silence(write: &Write) -> bool {
    write.reconciler == heartbeat::NAME && matches!(write.action, Action::ApplyStatus { .. })
}

/// Nothing held the object any more but what this write took away: it is gone with it.
fn takes_last_finalizer(write: &Write, answer: &Object) -> bool {
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
    none_left && answer.value["metadata"]["deletionTimestamp"].is_string()
}

/// The hub does what it ought to: that is no fault.
fn is_passing(failure: &Failure) -> bool {
    failure.is_transient() && !matches!(failure.code, 0 | 500..)
}

fn tell_failure(failure: &Failure) {
    let target = &failure.target;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    if is_passing(failure) {
        tracing::debug!(
            reconciler = failure.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            code = failure.code,
            error = failure.message,
            "not written, tried again"
        );
    } else {
        tracing::warn!(
            reconciler = failure.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            code = failure.code,
            error = failure.message,
            "not written, tried again"
        );
    }
}

#[cfg(test)]
mod tests;
