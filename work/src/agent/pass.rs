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
use berth_reconcile::queue::Done;
use berth_reconcile::{RawObject, Reference, Regarding, Work, failed, now};
use berth_work_core::report::Applied;
use berth_work_core::{Failure, Outcome, Response, Retry, Step};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::call;
use super::facts::{Fact, Kind, has_finalizer};
use super::objects::{Entry, Known};
use super::progress::{Progress, Slot, Target, is_complete, is_object_complete};
use super::rows::Sight;
use super::targets::{self, Ready};
use super::world::{Agent, Key};
use super::{HUB, MANAGED, executor, record};

/// Upper bound on the requests for one object in a pass.
const STEPS: usize = 12;

/// After so many requests without a response the rest of the pass waits: the API server is away.
const MOST_SILENCES: usize = 3;

/// How long a pass waits for a kind whose CustomResourceDefinition it has just applied.
const ESTABLISHED: Duration = Duration::from_secs(5);

/// How often it asks meanwhile.
const ASKS: Duration = Duration::from_millis(100);

/// What is to be done about a manifest.
enum Task {
    /// Nothing, until then.
    Nothing(Option<Instant>),
    /// The object is as the manifest says.
    Complete,
    /// A frozen object is read for the status: its conditions must count for this generation, too.
    Look(Arc<Entry>),
    /// The kind may be served now.
    Map,
    /// The object is as the manifest says, but its executor may not have the permissions any more.
    Check(Arc<Entry>, Instant),
    /// Requests.
    Run(Run),
}

/// The requests about an object.
struct Run {
    entry: Arc<Entry>,
    before: Option<Arc<Entry>>,
    /// What is known of the object; `None`: it is read first.
    start: Option<Response>,
    /// The row of the object was listed before any manifest prescribed it. It exists if the watch has seen it.
    was_foreign: bool,
    /// What differs, if the object was applied before.
    repairs: Option<String>,
    /// Answers of before do not count for the permissions of the executor.
    since: Option<Instant>,
}

/// Works on a ManifestWork.
pub(crate) async fn work(on: &Work<Agent>, name: &Arc<str>) -> Done {
    prepare(on).await;
    if let Err(failures) = on.attempt(&Key::Work(Arc::clone(name))).await {
        return failed(&failures);
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
        Ok(again) => settled(again),
        Err(error) => {
            tracing::debug!(work = &**name, %error, "the managed cluster does not respond");
            Done::Failed {
                wait: error.retry_after(),
            }
        }
    }
}

/// At the start, maps all works before the first kind is listed: so the lists show which of their objects exist.
async fn prepare(on: &Work<Agent>) {
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
    let work = world.works.get(name)?;
    let applied = world.applied.get(&*world.applied_name(name))?;
    let is_ready = work.metadata.deletion_timestamp.is_none()
        && has_finalizer(work)
        && applied.metadata.deletion_timestamp.is_none();
    is_ready.then(|| Ready {
        work: Arc::clone(work),
        applied: Arc::clone(applied),
    })
}

/// Tries each manifest that is due. Returns when to try again.
///
/// # Errors
/// The managed cluster does not respond.
async fn pass(
    on: &Work<Agent>,
    name: &Arc<str>,
    ready: &Ready,
) -> Result<Option<Instant>, CallError> {
    let count = on.world().progress.get(name).map_or(0, |it| it.slots.len());
    let mut again: Option<Instant> = None;
    let mut silences = 0;
    let frozen = is_complete(&ready.work);
    for at in 0..count {
        let mut task = on.world().task(name, at, frozen);
        if let Task::Map = task {
            task = map(on, name, ready, at).await;
        }
        match task {
            Task::Nothing(until) => again = [again, until].into_iter().flatten().min(),
            Task::Map => {}
            Task::Look(entry) => {
                let unread = look(on, &entry).await?;
                note(on, name, at, unread);
            }
            Task::Complete => on.change(|world, _| {
                if let Some(slot) = world.slot(name, at) {
                    slot.completes();
                }
            }),
            Task::Run(run) => {
                let (entry, begun) = (Arc::clone(&run.entry), now().instant);
                let ended = match run.send(on).await {
                    Err(error) => {
                        silences += 1;
                        if silences >= MOST_SILENCES || matches!(error.cause(), Cause::NotSent(_)) {
                            return Err(error);
                        }
                        Err(error)
                    }
                    ended => ended,
                };
                let is_answered = ended.is_ok();
                let now = now().instant;
                let (until, news) = on.change(|world, _| {
                    if is_answered {
                        world.permissions_answered(name, at, begun);
                    }
                    world.ended(name, at, &entry, ended, now)
                });
                again = [again, until].into_iter().flatten().min();
                if let Some(news) = news {
                    tell(on, ready, &entry, &news);
                }
                learn(on, name, at, &entry).await;
            }
            Task::Check(entry, since) => {
                let begun = now().instant;
                let refusal = refusal(on, &entry, Some(since)).await?;
                let news = on.change(|world, _| {
                    world.permissions_answered(name, at, begun);
                    if let Some(failure) = refusal {
                        let ended = Ok((Outcome::Failed(failure), None));
                        return world.ended(name, at, &entry, ended, begun).1;
                    }
                    if let Some(slot) = world.slot(name, at) {
                        slot.completes();
                    }
                    None
                });
                if let Some(news) = news {
                    tell(on, ready, &entry, &news);
                }
            }
        }
        let wait = on.world().next_check(name, at);
        again = [again, wait].into_iter().flatten().min();
    }
    on.change(|world, wakes| {
        if let Some(progress) = world.progress.get_mut(name) {
            progress.is_tried = true;
        }
        wakes.wake(Key::Status(Arc::clone(name)));
    });
    if frozen {
        return Ok(again);
    }
    let until = record::record(on, name, ready).await?;
    Ok([again, until].into_iter().flatten().min())
}

/// Maps a manifest whose kind was not served. If the work has its CustomResourceDefinition, waits for it.
async fn map(on: &Work<Agent>, name: &Arc<str>, ready: &Ready, at: usize) -> Task {
    let (ordinal, group, wait) = {
        let world = on.world();
        let Some(slot) = world.progress.get(name).and_then(|it| it.slots.get(at)) else {
            return Task::Nothing(None);
        };
        let Target::Unmapped(meta) = &slot.target else {
            return Task::Nothing(None);
        };
        let defines = defines(&ready.work, &meta.group, &meta.kind);
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

/// Returns true if a manifest of the work is the CustomResourceDefinition of this kind.
fn defines(work: &ManifestWork, group: &str, kind: &str) -> bool {
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
    let mut definitions = manifests.filter_map(|it| it.read::<Definition>().ok());
    definitions.any(|it| {
        it.kind == "CustomResourceDefinition"
            && it.spec.group == group
            && it.spec.names.kind == kind
    })
}

fn settled(again: Option<Instant>) -> Done {
    Done::Settled { again, pause: None }
}

// === impl Run ===

impl Run {
    /// Sends requests until the object is as the manifest says, or one is refused.
    async fn send(self, on: &Work<Agent>) -> Result<(Outcome, Option<String>), CallError> {
        let Self {
            entry,
            before,
            mut start,
            was_foreign,
            repairs,
            since,
        } = self;
        let mut machine = match entry.applying(before.as_deref()) {
            Ok(machine) => machine,
            Err(unusable) => {
                let (reason, message) = unusable.condition();
                let failure = Failure {
                    reason,
                    message,
                    retry: Retry::OnChange,
                };
                return Ok((Outcome::Failed(failure), None));
            }
        };
        let cluster = on.writer(MANAGED);
        if let Some(failure) = refusal(on, &entry, since).await? {
            return Ok((Outcome::Failed(failure), None));
        }
        let impersonates = on.world().settings.impersonates_executors;
        let writer = match executor::writer(&entry, impersonates) {
            Ok(writer) => writer,
            Err(failure) => return Ok((Outcome::Failed(failure), None)),
        };
        if was_foreign && !is_seen(on, &entry) {
            start = Some(Response::NotFound);
        }
        let mut response = start;
        let mut last = None;
        for _ in 0..STEPS {
            let step = machine.next(response.take());
            if let Step::Done(outcome) = step {
                if let Outcome::Applied(done) = &outcome {
                    entry.settle(done.settled.clone());
                }
                if let Some(object) = &last {
                    saw(on, &entry, object);
                }
                return Ok((outcome, repairs));
            }
            let Some(sent) = call::send(cluster, entry.path(), &step, writer.as_ref()).await?
            else {
                break;
            };
            let is_gone = matches!(step, Step::Delete { .. } | Step::Get)
                && matches!(sent.response, Response::NotFound);
            if is_gone {
                last = None;
                gone(on, &entry);
            }
            if sent.object.is_some() {
                last = sent.object;
            }
            response = Some(sent.response);
        }
        let failure = Failure {
            reason: berth_api::conditions::manifest::APPLIED_FAILED,
            message: format!(
                "Failed to apply manifest: the {} {:?} does not settle: other clients change it at the same time",
                entry.meta.kind, entry.meta.name
            ),
            retry: Retry::Backoff,
        };
        Ok((Outcome::Failed(failure), repairs))
    }
}

/// Asks whether the executor may write the object. Returns why not.
///
/// # Errors
/// The managed cluster does not respond.
async fn refusal(
    on: &Work<Agent>,
    entry: &Entry,
    since: Option<Instant>,
) -> Result<Option<Failure>, CallError> {
    let (executors, settings) = {
        let world = on.world();
        (Arc::clone(&world.executors), Arc::clone(&world.settings))
    };
    let cluster = on.writer(MANAGED);
    let refusal = executors.refusal(cluster, entry, &settings.namespace, since);
    refusal.await
}

/// Notes the object of a response.
fn saw(on: &Work<Agent>, entry: &Entry, object: &RawObject) {
    let row = on.world().row(&entry.object);
    if let Some(row) = row {
        on.observed(Kind::Objects(row), object);
    }
    // The watch may have reported this version before it was known what the API server makes of the manifest.
    let (prescriptions, evaluator) = {
        let world = on.world();
        (world.prescriptions.clone(), Arc::clone(&world.evaluator))
    };
    let Ok(Fact::Object(arrived)) =
        prescriptions.read(entry.object.kind, &object.item(), &evaluator)
    else {
        return;
    };
    on.change(|world, wakes| {
        let is_same = match world.known(entry) {
            Known::Present(known) => known.version == arrived.version,
            Known::Unknown => true,
            Known::Missing => false,
        };
        if is_same {
            world.sees(&entry.object, Known::arrived(arrived), wakes);
        }
    });
}

/// Reads an object that could not be applied, for the status, unless it was compared with its manifest. It may be known as an object of
/// another ManifestWork.
async fn learn(on: &Work<Agent>, name: &str, at: usize, entry: &Entry) {
    if on.world().is_read(entry) {
        return;
    }
    let unread = look(on, entry).await;
    let unread = unread.unwrap_or_else(|error| Some(error.to_string()));
    note(on, name, at, unread);
}

/// Reads an object for the status. Returns the API server's refusal.
///
/// # Errors
/// The managed cluster does not respond.
async fn look(on: &Work<Agent>, entry: &Entry) -> Result<Option<String>, CallError> {
    let read = call::send(on.writer(MANAGED), entry.path(), &Step::<()>::Get, None).await?;
    let Some(sent) = read else {
        return Ok(None);
    };
    Ok(match (sent.object, sent.response) {
        (Some(object), _) => {
            saw(on, entry, &object);
            None
        }
        (None, Response::Refused(refusal)) => Some(refusal.message),
        (None, _) => {
            gone(on, entry);
            None
        }
    })
}

/// Notes why an object could not be read, or that it could.
fn note(on: &Work<Agent>, name: &str, at: usize, unread: Option<String>) {
    on.change(|world, _| {
        if let Some(slot) = world.slot(name, at) {
            slot.unread = unread;
        }
    });
}

/// Returns true if the watch has seen the object.
fn is_seen(on: &Work<Agent>, entry: &Entry) -> bool {
    let row = on.world().row(&entry.object);
    let (namespace, name) = (entry.object.namespace(), entry.object.name());
    row.is_none_or(|row| on.is_seen(Kind::Objects(row), namespace, name))
}

/// Notes that the object does not exist.
fn gone(on: &Work<Agent>, entry: &Entry) {
    let row = on.world().row(&entry.object);
    if let Some(row) = row {
        let (namespace, name) = (entry.object.namespace(), entry.object.name());
        on.gone(Kind::Objects(row), namespace, name);
    }
}

// === impl Agent ===

impl Agent {
    /// Returns true if objects of the work are not known yet, and will be.
    fn waits_for_rows(&self, name: &str) -> bool {
        let progress = self.progress.get(name);
        let mut entries = progress.into_iter().flat_map(Progress::entries);
        entries.any(|it| self.sight(&it.object) == Some(&Sight::Waiting))
    }

    pub(crate) fn slot(&mut self, name: &str, at: usize) -> Option<&mut Slot> {
        self.progress.get_mut(name)?.slots.get_mut(at)
    }

    /// What is to be done about a manifest.
    fn task(&self, name: &str, at: usize, frozen: bool) -> Task {
        let now = now().instant;
        let Some(progress) = self.progress.get(name) else {
            return Task::Nothing(None);
        };
        let Some(slot) = progress.slots.get(at) else {
            return Task::Nothing(None);
        };
        let waits = slot.waits_until(now);
        let since = slot.checks.due(now);
        let entry = match &slot.target {
            Target::Object(entry) => entry,
            Target::Unmapped(_) => return waits.map_or(Task::Map, |it| Task::Nothing(Some(it))),
            Target::Unusable(_) => return Task::Nothing(None),
        };
        let work = self.works.get(name).unwrap_or(&progress.source);
        if frozen || is_object_complete(work, &entry.meta) {
            return match self.is_read(entry) {
                true => Task::Nothing(None),
                false => Task::Look(Arc::clone(entry)),
            };
        }
        if waits.is_some() {
            return Task::Nothing(waits);
        }
        let was_applied = slot.applied == Some(Applied::Complete);
        let is_polled = self.sight(&entry.object) == Some(&Sight::Polled);
        if is_polled && let Some(poll) = slot.poll.filter(|it| *it > now && was_applied) {
            return Task::Nothing(Some(poll));
        }
        let known = self.known(entry);
        let (start, repairs) = match (known, known.judged(entry)) {
            _ if is_polled => (None, None),
            (Known::Missing, _) => {
                if was_applied && entry.is_read_only() {
                    return Task::Nothing(None);
                }
                (Some(Response::NotFound), Some("the object".to_owned()))
            }
            (_, Some(judged)) if !judged.verdict.write => {
                let is_failed = matches!(slot.applied, Some(Applied::Failed { .. }));
                if !is_failed {
                    return match since {
                        None => Task::Complete,
                        Some(since) => Task::Check(Arc::clone(entry), since),
                    };
                }
                (None, None)
            }
            (Known::Present(arrived), Some(judged)) => {
                let start = arrived.live.clone().map(Response::Found);
                (start, Some(fields(&judged.verdict.differences)))
            }
            _ => (None, None),
        };
        let repairs = repairs.filter(|_| was_applied);
        if let Some(fields) = &repairs
            && let Some(until) = slot.fight.until(fields, now)
        {
            return Task::Nothing(Some(until));
        }
        Task::Run(Run {
            entry: Arc::clone(entry),
            before: slot.before.clone(),
            start,
            was_foreign: matches!(known, Known::Unknown) && self.is_listed(entry),
            repairs,
            since,
        })
    }

    /// When to ask again for the permissions of the executor. What is due already waits for something else.
    fn next_check(&self, name: &str, at: usize) -> Option<Instant> {
        let slot = self.progress.get(name)?.slots.get(at)?;
        slot.checks.next().filter(|it| *it > now().instant)
    }

    /// Notes that the permissions that were due at this time are known.
    fn permissions_answered(&mut self, name: &str, at: usize, begun: Instant) {
        let is_watched = self.permissions.is_watched();
        let slot = self.slot(name, at).filter(|it| it.has_executor());
        if let Some(slot) = slot {
            slot.checks.answered(begun, is_watched);
        }
    }

    /// Returns true if the status can say what the object is.
    fn is_read(&self, entry: &Entry) -> bool {
        let known = self.known(entry);
        matches!(known, Known::Missing) || known.judged(entry).is_some()
    }

    fn is_listed(&self, entry: &Entry) -> bool {
        self.sight(&entry.object) == Some(&Sight::Listed)
    }

    /// Notes the result of requests. Returns when to try again, and a failure that was not known.
    fn ended(
        &mut self,
        name: &str,
        at: usize,
        entry: &Arc<Entry>,
        ended: Result<(Outcome, Option<String>), CallError>,
        now: Instant,
    ) -> (Option<Instant>, Option<String>) {
        let is_polled = self.sight(&entry.object) == Some(&Sight::Polled);
        let interval = self.settings.poll_interval;
        let metrics = self.metrics.clone();
        let mut news = None;
        let slot = self.slot(name, at);
        let is_of = |it: &&mut Slot| it.entry().is_some_and(|it| Arc::ptr_eq(it, entry));
        let Some(slot) = slot.filter(is_of) else {
            return (None, None);
        };
        slot.unread = None;
        match ended {
            Ok((Outcome::Applied(done), repairs)) => {
                slot.completes();
                if done.written
                    && let Some(fields) = repairs
                {
                    metrics.repaired();
                    if slot.fight.repaired(&fields, now) {
                        metrics.fought();
                        tracing::warn!(
                            work = name,
                            kind = entry.meta.kind,
                            namespace = entry.meta.namespace,
                            name = entry.meta.name,
                            fields,
                            "another client changes what the ManifestWork prescribes; repaired again, and less often from now on"
                        );
                    }
                }
            }
            Ok((Outcome::Missing, _)) => slot.completes(),
            Ok((Outcome::Failed(failure), _)) => {
                let is_news = slot.applied != Some(targets::failed(&failure));
                if is_news {
                    tracing::warn!(
                        work = name,
                        kind = entry.meta.kind,
                        namespace = entry.meta.namespace,
                        name = entry.meta.name,
                        error = failure.message,
                        "a manifest was not applied"
                    );
                    news = Some(failure.message.clone());
                }
                slot.fails(failure, now);
            }
            Err(error) => {
                let failure = Failure {
                    reason: berth_api::conditions::manifest::APPLIED_FAILED,
                    message: format!("Failed to apply manifest: {error}"),
                    retry: Retry::Backoff,
                };
                slot.fails(failure, now);
            }
        }
        slot.poll = is_polled.then(|| now + interval);
        let again = [slot.wait.map(|it| it.until), slot.poll];
        (again.into_iter().flatten().min(), news)
    }
}

/// Reports a failure by Events about the ManifestWork, on the hub, and about the AppliedManifestWork, on the cluster.
fn tell(on: &Work<Agent>, ready: &Ready, entry: &Entry, failure: &str) {
    let meta = &entry.meta;
    let event = |namespace: Option<String>| Event {
        warning: true,
        reason: "ManifestNotApplied",
        note: format!("{} {}/{}: {failure}", meta.kind, meta.namespace, meta.name),
        namespace,
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

/// The fields that differ, as one text.
fn fields(differences: &berth_work_core::Differences) -> String {
    let paths: HashSet<_> = differences
        .shown
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    if paths.is_empty() {
        return "metadata".to_owned();
    }
    let mut paths: Vec<_> = paths.into_iter().collect();
    paths.sort_unstable();
    paths.join(", ")
}
