//! Works on a ManifestWork: applies what is missing or differs, one object after another.
//!
//! # Guarantees
//! - Objects that are as their manifests say cost no request.
//! - A failure of one object does not keep the others waiting. Each failed object waits longer each time.
//! - Nothing is written before the objects that exist are known: a restart writes nothing that was written before.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::plan::Event;
use berth_api::work::ManifestWork;
use berth_hub::{CallError, Cause};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Reference, Regarding, failed, now};
use berth_work_core::report::Applied;
use berth_work_core::spending::Spending;
use berth_work_core::{Retry, Unusable};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::checks::Access;
use super::facts::has_finalizer;
use super::objects::Entry;
use super::progress::{Progress, Target, is_complete};
use super::rows::Sight;
use super::run::{Tried, learn, look, note, refusal};
use super::targets::{self, Ready};
use super::task::Task;
use super::world::{Agent, Key};
use super::{HUB, MANAGED, lifecycle, record, room};

/// After so many requests without a response the rest of the pass waits: the API server is away.
const MOST_SILENCES: usize = 3;

/// How long a managed cluster is silent before the status says so. A cluster that starts with its agent is not reported.
const LONG_SILENCE: Duration = Duration::from_secs(60);

/// How long a pass waits for a kind whose CustomResourceDefinition it has just applied.
const ESTABLISHED: Duration = Duration::from_secs(5);

/// How often it asks meanwhile.
const ASKS: Duration = Duration::from_millis(100);

/// How far the manifests of a ManifestWork were tried.
enum End {
    /// All of them, and when to try again.
    All(Option<Instant>),
    /// The managed cluster does not respond, or nothing may be sent to it.
    Silent(CallError),
    /// The ManifestWork is not the one of these manifests any more.
    Replaced,
}

/// Works on a ManifestWork.
pub(crate) async fn reconcile(on: &Handle<Agent>, name: &Arc<str>) -> Next {
    room::decide(on);
    if let Err(error) = room::read(on, name).await {
        return Next::Failed {
            wait: error.retry_after(),
        };
    }
    prepare(on).await;
    let corrects = lifecycle::corrects(&on.world(), name);
    if let Err(failures) = on.attempt(&Key::Work(Arc::clone(name))).await {
        return failed(&failures);
    }
    let corrects_again = corrects.and_then(|(_, until)| until);
    if let Some((mark, None)) = corrects {
        lifecycle::corrected(on, name, mark);
    }
    let ready = ready(&on.world(), name);
    let Some(ready) = ready else {
        let stays = on.world().works.contains_key(name);
        // While it is being deleted, its last status counts.
        if !stays {
            targets::forget(on, name);
        }
        return settled(None);
    };
    targets::map(on, name, &ready).await;
    targets::watch(on);
    if on.world().waits_for_permissions(name) || on.world().waits_for_rows(name) {
        return settled(None);
    }
    match pass(on, name, &ready).await {
        Ok(again) => settled(again.into_iter().chain(corrects_again).min()),
        Err(error) => {
            tracing::debug!(work = &**name, %error, "the managed cluster does not respond");
            Next::Failed {
                wait: error.retry_after(),
            }
        }
    }
}

/// At the start, maps all works before the first kind is listed: so the lists show which of their objects exist.
async fn prepare(on: &Handle<Agent>) {
    let guard = Arc::clone(&on.world().preparing);
    let mut is_prepared = guard.lock().await;
    if std::mem::replace(&mut *is_prepared, true) {
        return;
    }
    let all: Vec<_> = on.world().works.keys().cloned().collect();
    for name in all {
        let ready = ready(&on.world(), &name);
        if let Some(ready) = ready {
            targets::map(on, &name, &ready).await;
        }
    }
    targets::watch(on);
}

fn ready(world: &Agent, name: &str) -> Option<Ready> {
    let work = world.works.get(name).filter(|_| world.room.has(name))?;
    let applied = world.applied.get(&*world.applied_name(name))?;
    let is_ready = work.metadata.deletion_timestamp.is_none()
        && has_finalizer(work)
        && applied.metadata.deletion_timestamp.is_none();
    is_ready.then(|| Ready {
        work: Arc::clone(work),
        applied: Arc::clone(applied),
    })
}

/// Tries each manifest that is due, and records the objects. Returns when to try again.
///
/// # Errors
/// The managed cluster does not respond.
async fn pass(
    on: &Handle<Agent>,
    name: &Arc<str>,
    ready: &Ready,
) -> Result<Option<Instant>, CallError> {
    let frozen = is_complete(&ready.work);
    let (mut again, silence) = match try_each(on, name, ready, frozen).await {
        End::All(again) => (again, None),
        End::Silent(error) => (None, Some(error)),
        // Its key was woken.
        End::Replaced => return Ok(None),
    };
    let key = Key::Work(Arc::clone(name));
    let is_over = silence.is_none() || on.failing_for(&key, now().instant) >= LONG_SILENCE;
    on.change(|world, wakes| {
        if let Some(progress) = world.progress.get_mut(name) {
            progress.is_tried |= is_over;
        }
        wakes.wake(Key::Status(Arc::clone(name)));
    });
    if !frozen {
        // What was made must be in the list, also if the rest of the pass waits: the next manifests may not have it.
        let recorded = record::record(on, name, ready, silence.is_none()).await;
        if silence.is_none() {
            again = [again, recorded?].into_iter().flatten().min();
        }
    }
    silence.map_or(Ok(again), Err)
}

/// Tries each manifest that is due.
async fn try_each(on: &Handle<Agent>, name: &Arc<str>, ready: &Ready, frozen: bool) -> End {
    let count = on.world().progress.get(name).map_or(0, |it| it.slots.len());
    let mut again: Option<Instant> = None;
    let mut silences = 0;
    let mut definitions = None;
    for at in 0..count {
        if !on.world().is_current(name, ready) {
            return End::Replaced;
        }
        let mut task = on.world().task(name, at, frozen);
        if let Task::Map = task {
            let definitions = definitions.get_or_insert_with(|| defined(&ready.work));
            task = map(on, name, ready, at, definitions).await;
        }
        let is_check_only = matches!(task, Task::Check { is_kept: true, .. });
        let (mut until, mut error) = carry_out(on, name, ready, (at, frozen), task).await;
        if is_check_only && error.is_none() {
            let task = on.world().task(name, at, frozen);
            (until, error) = carry_out(on, name, ready, (at, frozen), task).await;
        }
        let wait = on.world().next_check(name, at);
        again = [again, until, wait].into_iter().flatten().min();
        // An API server that answers is there, though it may be busy with objects of this kind.
        let Some(error) = error.filter(|it| it.code() == 0) else {
            continue;
        };
        silences += 1;
        if silences >= MOST_SILENCES || matches!(error.cause(), Cause::NotSent(_)) {
            return End::Silent(error);
        }
    }
    End::All(again)
}

/// Does what is due for a manifest, and notes what became of it. Returns when to try again, and why there was no usable response.
async fn carry_out(
    on: &Handle<Agent>,
    name: &Arc<str>,
    ready: &Ready,
    (at, frozen): (usize, bool),
    task: Task,
) -> (Option<Instant>, Option<CallError>) {
    match task {
        Task::Nothing(until) => (until, None),
        Task::Map => (None, None),
        Task::Postponed { until, cuts } => {
            if cuts {
                postpone(on, name, at);
            }
            (Some(until), None)
        }
        Task::Look(entry) => match look(on, &entry, true).await {
            Ok(unread) => {
                note(on, name, at, unread);
                let is_kept = matches!(on.world().task(name, at, frozen), Task::Keep);
                if is_kept {
                    keep(on, name, at);
                }
                (None, None)
            }
            Err(error) => {
                note(on, name, at, Some(error.to_string()));
                (waits(on, name, at), Some(error))
            }
        },
        Task::Keep => {
            keep(on, name, at);
            (None, None)
        }
        Task::Complete => {
            on.change(|world, _| {
                if let Some(slot) = world.slot(name, at) {
                    slot.completes();
                }
            });
            (None, None)
        }
        Task::Run(run) => {
            let (entry, begun) = (Arc::clone(&run.entry), now().instant);
            let ended = run.send(on).await;
            let now = now().instant;
            let (until, news) = on.change(|world, _| {
                if ended.is_ok() {
                    world.permissions_answered(name, at, begun);
                }
                world.ended(name, at, &entry, &ended, now)
            });
            if let Some(news) = news {
                tell(on, ready, &entry, &news);
            }
            let error = ended.err();
            match error.as_ref().filter(|it| it.code() == 0) {
                None => learn(on, name, at, &entry).await,
                Some(_) if on.world().is_read(&entry) => {}
                Some(silence) => note(on, name, at, Some(silence.to_string())),
            }
            (until, error)
        }
        Task::Check {
            entry,
            since,
            is_kept,
        } => {
            let begun = now().instant;
            let denied = match refusal(on, &entry, Some(since)).await {
                Ok(denied) => denied.map(Tried::denied),
                Err(error) => return (waits(on, name, at), Some(error)),
            };
            let (until, news) = on.change(|world, _| {
                world.permissions_answered(name, at, begun);
                let slot = world.slot(name, at);
                match (denied, slot) {
                    (Some(denied), _) if !is_kept => {
                        return world.ended(name, at, &entry, &Ok(denied), begun);
                    }
                    (denied, Some(slot)) => {
                        slot.access = denied.map_or(Access::Open, |it| it.access);
                        if !is_kept {
                            slot.completes();
                        }
                    }
                    (_, None) => {}
                }
                (None, None)
            });
            if let Some(news) = news {
                tell(on, ready, &entry, &news);
            }
            (until, None)
        }
    }
}

/// Notes that an object which is not updated any more counts as applied.
fn keep(on: &Handle<Agent>, name: &str, at: usize) {
    on.change(|world, _| {
        if let Some(slot) = world.slot(name, at) {
            slot.applied = Some(Applied::Complete);
        }
    });
}

/// Notes that a manifest is not applied yet, as its work has spent too much.
fn postpone(on: &Handle<Agent>, name: &str, at: usize) {
    on.change(|world, _| {
        let slot = world.slot(name, at);
        if let Some(slot) = slot.filter(|it| it.applied != Some(Applied::Complete)) {
            let failure = Unusable::IgnoreFields(Spending::message());
            let (reason, message) = failure.condition();
            slot.applied = Some(Applied::Failed { reason, message });
        }
    });
}

/// A manifest waits, as its object could not be asked for: longer each time. Returns until when.
fn waits(on: &Handle<Agent>, name: &Arc<str>, at: usize) -> Option<Instant> {
    let now = now().instant;
    on.change(|world, _| {
        let slot = world.slot(name, at)?;
        slot.waits(Retry::Backoff, now);
        slot.wait.map(|it| it.until)
    })
}

/// Maps a manifest whose kind was not served. If the work has its CustomResourceDefinition, waits for it.
async fn map(
    on: &Handle<Agent>,
    name: &Arc<str>,
    ready: &Ready,
    at: usize,
    definitions: &HashSet<(String, String)>,
) -> Task {
    let (ordinal, group, wait) = {
        let world = on.world();
        let Some(slot) = world.progress.get(name).and_then(|it| it.slots.get(at)) else {
            return Task::Nothing(None);
        };
        let Target::Unmapped(meta) = &slot.target else {
            return Task::Nothing(None);
        };
        let defines = definitions.contains(&(meta.group.clone(), meta.kind.clone()));
        let has_waited = slot.wait.is_some_and(|it| it.failures() > 1);
        (slot.ordinal, meta.group.clone(), defines && !has_waited)
    };
    let until = now().instant + if wait { ESTABLISHED } else { Duration::ZERO };
    loop {
        if wait {
            on.world().mapping.forget(&group);
        }
        if targets::map_again(on, name, ready, ordinal).await {
            return on.world().task(name, at, false);
        }
        if now().instant >= until {
            break;
        }
        tokio::time::sleep(ASKS).await;
    }
    let now = now().instant;
    on.change(|world, _| {
        let slot = world.slot(name, at);
        let wait = slot.and_then(|slot| {
            slot.waits(Retry::Backoff, now);
            slot.wait
        });
        Task::Nothing(wait.map(|it| it.until))
    })
}

/// Group and kind of the CustomResourceDefinitions in the manifests of the work.
fn defined(work: &ManifestWork) -> HashSet<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Definition {
        kind: String,
        spec: Spec,
    }
    #[derive(serde::Deserialize)]
    struct Spec {
        group: String,
        names: Names,
    }
    #[derive(serde::Deserialize)]
    struct Names {
        kind: String,
    }
    let manifests = work.spec.workload.manifests.iter();
    let definitions = manifests.filter_map(|it| it.read::<Definition>().ok());
    let definitions = definitions.filter(|it| it.kind == "CustomResourceDefinition");
    definitions
        .map(|it| (it.spec.group, it.spec.names.kind))
        .collect()
}

fn settled(again: Option<Instant>) -> Next {
    Next::Settled { again, pause: None }
}

/// Reports a failure by Events about the ManifestWork, on the hub, and about the AppliedManifestWork, on the cluster.
fn tell(on: &Handle<Agent>, ready: &Ready, entry: &Entry, failure: &str) {
    let (kind, object) = (&entry.served.kind, &entry.object);
    let (namespace, name) = (object.namespace(), object.name());
    let event = |of: Option<String>| Event {
        warning: true,
        reason: "ManifestNotApplied",
        note: format!("{kind} {namespace}/{name}: {failure}"),
        namespace: of,
    };
    let (work, applied) = (&ready.work.metadata, &ready.applied.metadata);
    let regarding = |kind: &str, of: &ObjectMeta| Regarding {
        api_version: "work.open-cluster-management.io/v1".to_owned(),
        kind: kind.to_owned(),
        metadata: Reference {
            name: of.name.clone().unwrap_or_default(),
            namespace: of.namespace.clone(),
            uid: of.uid.clone(),
            resource_version: None,
        },
    };
    on.tell(
        HUB,
        &event(work.namespace.clone()),
        &regarding("ManifestWork", work),
    );
    on.tell(
        MANAGED,
        &event(None),
        &regarding("AppliedManifestWork", applied),
    );
}

// === impl Agent ===

impl Agent {
    /// Returns true if the manifests of the ManifestWork are still these, and its objects are to stay.
    pub(crate) fn is_current(&self, name: &str, ready: &Ready) -> bool {
        let is_same = |now: &ObjectMeta, then: &ObjectMeta| {
            (&now.uid, now.generation) == (&then.uid, then.generation)
                && now.deletion_timestamp.is_none()
        };
        let (work, applied) = (&ready.work.metadata, &ready.applied.metadata);
        let of_applied = self
            .applied
            .get(applied.name.as_deref().unwrap_or_default());
        self.room.has(name)
            && (self.works.get(name)).is_some_and(|it| is_same(&it.metadata, work))
            && of_applied.is_some_and(|it| {
                it.metadata.uid == applied.uid && it.metadata.deletion_timestamp.is_none()
            })
    }

    /// Returns true if objects of the work are not known yet, and will be.
    fn waits_for_rows(&self, name: &str) -> bool {
        let progress = self.progress.get(name);
        let mut entries = progress.into_iter().flat_map(Progress::entries);
        entries.any(|it| self.sight(&it.object).is_some_and(Sight::is_waiting))
    }
}
