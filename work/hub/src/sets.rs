//! Carries out what is due for a replica set: decides, writes, and decides again with the results, until nothing is due.

use std::time::{Duration, Instant};

use berth_api::plan::{Action, Target, Write, WriteFailure};
use berth_api::text::shorten;
use berth_reconcile::queue::{Next, rest_after};
use berth_reconcile::{Handle, ROUNDS, Refusal, WriteOutcome, failed, never_settled, now};
use berth_work_replicas::{Change, Digest, FailedChange, ReplicaSet, Work};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::kinds::Kind;
use super::view::{Key, Place, place};
use super::world::{LONGEST_TIMER, SETS, Works};

/// Writes of one decision at most.
const AT_ONCE: usize = 256;

/// Bytes of manifests that are written at the same time.
const BYTES_AT_ONCE: usize = 4 << 20;

/// How many times as long as a decision took, the replica set rests ([`rest_after`]): then it takes about a tenth of a processor, however
/// often its ManifestWorks change.
const REST: u32 = 10;

/// How long a replica set rests after a write: agents report in bursts.
const PAUSE: Duration = Duration::from_millis(100);

/// Upper bound on the bytes of an error that is kept.
const LONGEST_ERROR: usize = 512;

/// What is due for a replica set.
struct Due {
    writes: Vec<Write>,
    /// The number of all changes, of which `writes` are the first.
    changes: usize,
    /// The most writes at once.
    at_once: usize,
    /// The ManifestWorks whose spec `writes` set to the template.
    specs: Vec<Place>,
    /// The digest of the template.
    template: Digest,
    name: String,
    status: Option<Write>,
    next: Option<Timestamp>,
}

/// Works on a replica set until nothing is due.
pub(super) async fn reconcile(on: &Handle<Works>, key: &Key, at: &Place) -> Next {
    let mut failures = Vec::new();
    let mut refused = Vec::new();
    let mut rounds = ROUNDS;
    let mut has_written = false;
    let mut round = 0;
    while round < rounds {
        let (due, took) = {
            let world = on.world();
            if !world.is_ready(key) {
                return settled(None, None);
            }
            let begun = Instant::now();
            (due(&world, at, &failures), begun.elapsed())
        };
        let Some(due) = due else {
            return settled(None, None);
        };
        if due.writes.is_empty() {
            has_written |= due.status.is_some();
            if let WriteOutcome::Failed(more) = on.carry_out(due.status.into_iter().collect()).await
            {
                refused.extend(more);
            }
            if !refused.is_empty() {
                return failed(&refused);
            }
            let shortest = if has_written { PAUSE } else { Duration::ZERO };
            let rest = rest_after(took, REST).max(shortest);
            return settled(due.next, Some(rest));
        }
        has_written = true;
        rounds = rounds.max(ROUNDS + 2 * due.changes / due.at_once);
        round += 1;
        carry_out(on, at, due, &mut failures, &mut refused).await;
    }
    never_settled(key)
}

fn settled(next: Option<Timestamp>, rest: Option<Duration>) -> Next {
    let now = now();
    let again = next.map(|next| {
        let wait = Duration::try_from(next.duration_since(now.wall)).unwrap_or_default();
        now.instant + wait.min(LONGEST_TIMER)
    });
    Next::rests(again, rest, now.instant)
}

/// Decides what is due.
fn due(world: &Works, at: &Place, failures: &[FailedChange]) -> Option<Due> {
    world
        .view
        .decide(at, failures, now().wall, |set, decision| {
            let size = set.template.size().max(1);
            let at_once = (BYTES_AT_ONCE / size).clamp(1, AT_ONCE);
            let now_due = || decision.changes.iter().take(at_once);
            let specs = now_due().filter(|it| it.sets_spec());
            let specs = specs.filter_map(Change::work);
            Due {
                writes: now_due().filter_map(|it| write(set, it)).collect(),
                specs: specs.map(|(cluster, name)| place(cluster, name)).collect(),
                changes: decision.changes.len(),
                at_once,
                template: set.template.digest(),
                name: set.name.clone(),
                status: (decision.status != set.status).then(|| Write {
                    events: decision.events,
                    ..of_set(set, Some("status"), json!({"status": decision.status}))
                }),
                next: decision.next,
            }
        })
}

/// The request of a change.
fn write(set: &ReplicaSet, change: &Change<'_>) -> Option<Write> {
    if let Some(finalizers) = change.finalizers(set) {
        let body = json!({"metadata": {"finalizers": finalizers}});
        return Some(of_set(set, None, body));
    }
    let (cluster, name) = change.work()?;
    let action = match change {
        Change::Create { .. } => Action::CreateText {
            body: change.body(set)?.into(),
        },
        Change::Update { .. } => Action::PatchText {
            body: change.body(set)?.into(),
        },
        Change::Delete { work, why } => Action::Delete {
            uid: work.uid.clone(),
            resource_version: None,
            why,
        },
        Change::AddFinalizer | Change::RemoveFinalizer => return None,
    };
    Some(Write {
        target: Target {
            resource: Kind::Work.resource(),
            namespace: Some(cluster.to_owned()),
            name: name.to_owned(),
        },
        action,
        reconciler: SETS,
        events: Vec::new(),
    })
}

/// A patch of the replica set, as it was when this was decided.
fn of_set(set: &ReplicaSet, subresource: Option<&'static str>, mut body: Value) -> Write {
    body["metadata"]["uid"] = json!(set.uid);
    body["metadata"]["resourceVersion"] = json!(set.resource_version);
    Write {
        target: Target {
            resource: Kind::Set.resource(),
            namespace: Some(set.namespace.clone()),
            name: set.name.clone(),
        },
        action: Action::Patch { subresource, body },
        reconciler: SETS,
        events: Vec::new(),
    }
}

/// Sends the writes, and notes what came of them.
async fn carry_out(
    on: &Handle<Works>,
    at: &Place,
    due: Due,
    failures: &mut Vec<FailedChange>,
    refused: &mut Vec<(WriteFailure, Refusal)>,
) {
    let place_of = |it: &Target| place(it.namespace.as_deref().unwrap_or_default(), &it.name);
    let created = |it: &&Write| matches!(it.action, Action::CreateText { .. });
    let created = due.writes.iter().filter(created);
    let created: Vec<_> = created.map(|it| place_of(&it.target)).collect();
    let mut written = due.specs;
    let since = on.moment(Kind::Work);
    let outcome = on.carry_out(due.writes).await;
    let more = match outcome {
        WriteOutcome::Failed(failures) => failures,
        WriteOutcome::Nothing | WriteOutcome::Written => Vec::new(),
    };
    for (failure, refusal) in more {
        let work = place_of(&failure.target);
        written.retain(|it| *it != work);
        let is_work = failure.target.resource == Kind::Work.resource();
        if is_work && created.contains(&work) && failure.code == 409 {
            match exists(on, at, &due.name, &failure).await {
                Ok(failure) => failures.extend(failure),
                Err(refusal) => {
                    failures.push(of(&failure, cut(&refusal.message)));
                    refused.push((failure, refusal));
                }
            }
            continue;
        }
        if is_work && refusal.is_absent && !created.contains(&work) {
            on.gone(since, &work.0, &work.1);
            continue;
        }
        failures.push(of(&failure, cut(&failure.message)));
        refused.push((failure, refusal));
    }
    on.change(|world, _| {
        for work in &written {
            world.view.written(at, work, due.template);
        }
    });
}

fn cut(error: &str) -> String {
    shorten(error, LONGEST_ERROR).into_owned()
}

fn of(failure: &WriteFailure, message: String) -> FailedChange {
    let target = &failure.target;
    let is_work = target.resource == Kind::Work.resource();
    FailedChange {
        cluster: target
            .namespace
            .clone()
            .filter(|_| is_work)
            .unwrap_or_default(),
        name: if is_work {
            target.name.clone()
        } else {
            String::new()
        },
        message,
        is_transient: failure.is_transient(),
    }
}

/// Follows up a ManifestWork that could not be created since one of its name exists. `set`: the name of the replica set.
///
/// # Errors
/// The existing one cannot be read.
async fn exists(
    on: &Handle<Works>,
    at: &Place,
    set: &str,
    failure: &WriteFailure,
) -> Result<Option<FailedChange>, Refusal> {
    let target = &failure.target;
    let cluster = target.namespace.as_deref().unwrap_or_default();
    let object = match on.writer(0).read(target).await {
        Ok((object, _)) => object,
        // It was deleted in between.
        Err(refusal) if refusal.is_absent => return Ok(None),
        Err(refusal) => return Err(refusal),
    };
    let work = Work::read(object.item().json).ok().flatten();
    let is_ours = work.is_some_and(|it| it.set() == Some((&*at.0, &*at.1)));
    if is_ours {
        // An earlier write succeeded without a response, and the watch is late.
        on.observed(Kind::Work, &object);
        return Ok(None);
    }
    if target.name == set {
        on.change(|world, _| world.view.take(at, cluster));
        return Ok(None);
    }
    let message = "another ManifestWork of this name exists; delete it".to_owned();
    Ok(Some(FailedChange {
        is_transient: false,
        ..of(failure, message)
    }))
}
