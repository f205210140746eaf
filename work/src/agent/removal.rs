//! AppliedManifestWorks that are deleted, or whose ManifestWork is missing on the hub.
//!
//! A deleted one stays until its objects are gone. One without a ManifestWork is deleted after a grace period, unless the hub looks
//! restored from a backup: then it is held until a user confirms, by the annotation [`CONFIRMED`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::labels::APPLIED_MANIFEST_WORK_CLEANUP;
use berth_api::plan::{Event, Plan, Write};
use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Reference, Regarding, Wake, WriteOutcome, now};
use berth_work_core::{Eviction, HubView, eviction, waits_for};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::MANAGED;
use super::facts::{applied_has_finalizer, applied_works};
use super::lifecycle::{HUB_VERSION, delete};
use super::objects::Known;
use super::progress::{Progress, Wait};
use super::record;
use super::removing::remove_all;
use super::rivals::{self, Part};
use super::world::{Agent, Key};

/// The name of the reconciler in metrics and logs.
const APPLIED: &str = "applied-work";

/// On an AppliedManifestWork: why it stays though its ManifestWork is missing.
pub(crate) const HELD: &str = "berth.open-cluster-management.io/eviction-held";

/// On an AppliedManifestWork, with any value: a user confirms that it may go.
pub(crate) const CONFIRMED: &str = "berth.open-cluster-management.io/eviction-confirmed";

/// What is written to an AppliedManifestWork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// Why it stays.
    Hold,
    /// It is not held any more.
    Free,
    /// Since when its ManifestWork is missing.
    Start,
    /// It is not missing any more.
    Stop,
    /// Its deletion.
    Evict,
}

impl Due {
    fn part(self) -> Part {
        match self {
            Self::Hold | Self::Start | Self::Evict => Part::Eviction,
            Self::Free | Self::Stop => Part::Keeping,
        }
    }
}

/// Works on an AppliedManifestWork.
pub(crate) async fn reconcile(on: &Handle<Agent>, name: &Arc<str>) -> Next {
    let applied = on.world().applied.get(name).cloned();
    let Some(applied) = applied else {
        on.change(|world, _| {
            world.removals.remove(name);
            world.waits.remove(name);
        });
        return settled(None);
    };
    if applied.metadata.deletion_timestamp.is_some() && applied_has_finalizer(&applied) {
        return remove(on, name, &applied).await;
    }
    // The second round says when to look again.
    for _ in 0..2 {
        let (mut plan, due) = decide(&on.world(), name, now());
        let Some(due) = due.filter(|_| !plan.writes.is_empty()) else {
            return settled(plan.again);
        };
        let was_held = on.world().rivals.last(name, due.part()) == Some(due as u64);
        match on.carry_out(std::mem::take(&mut plan.writes)).await {
            WriteOutcome::Failed(failures) => return berth_reconcile::failed(&failures),
            WriteOutcome::Nothing | WriteOutcome::Written => {}
        }
        wrote(on, name, due);
        if due == Due::Hold && !was_held {
            tell_of_hold(on, name);
        }
    }
    settled(Some(now().instant))
}

/// Notes a write. It is undone if it was the last one, too.
fn wrote(on: &Handle<Agent>, name: &Arc<str>, due: Due) {
    let contested = on.change(|world, _| {
        let (part, mark) = (due.part(), due as u64);
        let was_undone = world.rivals.last(name, part) == Some(mark);
        let applied = world.applied.get(name).cloned()?;
        let is_news = (world.rivals).wrote(name, part, mark, was_undone, now().instant);
        is_news.then_some(applied)
    });
    if let Some(applied) = contested {
        rivals::tell(on, &applied);
    }
}

fn tell_of_hold(on: &Handle<Agent>, name: &Arc<str>) {
    let held = on.world().applied.get(name).cloned();
    if let Some(held) = held
        && let Some(reason) = annotation(&held, HELD)
    {
        tracing::warn!(
            name = &**name,
            reason,
            "the objects of a missing ManifestWork are held"
        );
        let note = format!("{reason}; to delete its objects, set the annotation {CONFIRMED}");
        let event = Event {
            warning: true,
            reason: "EvictionHeld",
            note,
            namespace: None,
        };
        on.tell(MANAGED, &event, &regarding(&held));
    }
}

/// Removes the objects of a deleted AppliedManifestWork, and then its finalizer.
async fn remove(on: &Handle<Agent>, name: &Arc<str>, applied: &AppliedManifestWork) -> Next {
    let time = now().instant;
    let wait = on.world().removals.get(name).copied();
    if let Some(wait) = wait.filter(|it| it.until > time) {
        return settled(Some(wait.until));
    }
    let uid = applied.metadata.uid.clone().unwrap_or_default();
    let stored = applied.status.clone().unwrap_or_default().applied_resources;
    // An agent that was killed may not have recorded what it had made.
    let unrecorded = {
        let world = on.world();
        let progress = world.work_of(name).and_then(|it| world.progress.get(it));
        progress.map_or_else(Vec::new, |it| world.unrecorded(it, &stored))
    };
    let all: Vec<_> = stored.iter().cloned().chain(unrecorded).collect();
    let (pending, error) = remove_all(on, &all, &uid).await;
    let message = waits_for(&pending);
    on.change(|world, wakes| world.waits_for(name, message, wakes));
    let pending: Vec<_> = pending.into_iter().map(|(object, _)| object).collect();
    if let Some(error) = error {
        tracing::debug!(name = &**name, %error, "not all objects could be removed");
        if pending != stored {
            let write = record::status(applied, "appliedResources", json!(pending));
            on.carry_out(vec![write]).await;
        }
        return Next::Failed {
            wait: error.retry_after(),
        };
    }
    let write = if pending.is_empty() {
        without_finalizer(applied)
    } else if pending != stored {
        record::status(applied, "appliedResources", json!(pending))
    } else {
        let wait = Wait::pending(wait, time);
        on.change(|world, _| world.removals.insert(Arc::clone(name), wait));
        return settled(Some(wait.until));
    };
    match on.carry_out(vec![write]).await {
        WriteOutcome::Failed(failures) => berth_reconcile::failed(&failures),
        _ if pending.is_empty() => {
            on.change(|world, _| world.removals.remove(name));
            settled(None)
        }
        _ => {
            let wait = Wait::pending(wait, time);
            on.change(|world, _| world.removals.insert(Arc::clone(name), wait));
            settled(Some(wait.until))
        }
    }
}

/// What is due for an AppliedManifestWork that is not deleted.
pub(crate) fn plan(world: &Agent, name: &str, now: Now) -> Plan {
    decide(world, name, now).0
}

/// The same, and what it is. What another agent undoes again and again is not repeated at once, and nothing goes meanwhile.
fn decide(world: &Agent, name: &str, now: Now) -> (Plan, Option<Due>) {
    let (plan, due) = due(world, name, now);
    let Some(due) = due.filter(|_| !plan.writes.is_empty()) else {
        return (plan, None);
    };
    let (rivals, part) = (&world.rivals, due.part());
    let wait = match due {
        Due::Evict => rivals.is_on(name, part, now.instant),
        _ if rivals.last(name, part) == Some(due as u64) => rivals.until(name, part, now.instant),
        _ => None,
    };
    match wait {
        Some(until) => (
            Plan {
                again: Some(until),
                ..Plan::default()
            },
            None,
        ),
        None => (plan, Some(due)),
    }
}

fn due(world: &Agent, name: &str, now: Now) -> (Plan, Option<Due>) {
    let nothing = || (Plan::default(), None);
    let Some(applied) = world.applied.get(name) else {
        return nothing();
    };
    if applied.metadata.deletion_timestamp.is_some() {
        return nothing();
    }
    let work_exists = world.has_work(name);
    let confirmed = annotation(applied, CONFIRMED).is_some();
    let hub = world.hub_view(confirmed);
    let grace = SignedDuration::try_from(world.settings.eviction_grace);
    let grace = grace.unwrap_or(SignedDuration::MAX);
    let mut eviction = eviction(applied, work_exists, &hub, grace, now.wall);
    let held = annotation(applied, HELD);
    // The hub's resourceVersion grows past the one that was seen, and other works come back: a hold stays until it is confirmed.
    if held.is_some() && !confirmed && !matches!(eviction, Eviction::Keep | Eviction::Foreign) {
        eviction = match eviction {
            Eviction::Hold(hold) => Eviction::Hold(hold),
            _ => return (without_start(applied), Some(Due::Stop)),
        };
    }
    let (plan, due) = match eviction {
        Eviction::Foreign => return nothing(),
        Eviction::Keep if held.is_some() => (annotate(applied, HELD, None).into(), Due::Free),
        Eviction::Keep => (without_start(applied), Due::Stop),
        Eviction::Hold(hold) if held.is_none() => {
            let why = match world.rivals.are_there(name, now.instant) {
                true => rivals::words(&world.connection.agent_id),
                false => hold.to_string(),
            };
            (annotate(applied, HELD, Some(&why)).into(), Due::Hold)
        }
        Eviction::Hold(_) => (without_start(applied), Due::Stop),
        Eviction::Start => {
            let start = record::status(applied, "evictionStartTime", json!(now.wall));
            (start.into(), Due::Start)
        }
        Eviction::Wait(until) => {
            let left = Duration::try_from(until.duration_since(now.wall)).unwrap_or_default();
            let plan = Plan {
                again: Some(now.instant + left),
                ..Plan::default()
            };
            return (plan, None);
        }
        Eviction::Evict => {
            let why = "its ManifestWork is missing on the hub";
            (delete(applied, why).into(), Due::Evict)
        }
    };
    (plan, Some(due))
}

/// Removes the time since when the ManifestWork is missing.
fn without_start(applied: &AppliedManifestWork) -> Plan {
    let started = applied.status.as_ref().map(|it| &it.eviction_start_time);
    if started.is_none_or(Option::is_none) {
        return Plan::default();
    }
    record::status(applied, "evictionStartTime", Value::Null).into()
}

fn without_finalizer(applied: &AppliedManifestWork) -> Write {
    let metadata = &applied.metadata;
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|it| it != APPLIED_MANIFEST_WORK_CLEANUP);
    patch(applied, json!({"finalizers": finalizers}))
}

fn annotate(applied: &AppliedManifestWork, key: &str, value: Option<&str>) -> Write {
    patch(applied, json!({"annotations": {key: value}}))
}

/// A patch of metadata.
fn patch(applied: &AppliedManifestWork, mut changes: serde_json::Value) -> Write {
    let metadata = &applied.metadata;
    changes["uid"] = json!(metadata.uid);
    changes["resourceVersion"] = json!(metadata.resource_version);
    let name = metadata.name.clone().unwrap_or_default();
    Write::patch(APPLIED, applied_works(), name, json!({"metadata": changes}))
}

fn annotation<'a>(applied: &'a AppliedManifestWork, key: &str) -> Option<&'a str> {
    let annotations = applied.metadata.annotations.as_ref()?;
    annotations.get(key).map(String::as_str)
}

pub(crate) fn regarding(applied: &AppliedManifestWork) -> Regarding {
    let metadata = &applied.metadata;
    Regarding {
        api_version: "work.open-cluster-management.io/v1".to_owned(),
        kind: "AppliedManifestWork".to_owned(),
        metadata: Reference {
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            ..Reference::default()
        },
    }
}

fn settled(again: Option<Instant>) -> Next {
    Next::Settled { again, pause: None }
}

// === impl Agent ===

impl Agent {
    /// Notes what the deletion of an AppliedManifestWork waits for, for the status of its ManifestWork.
    fn waits_for(&mut self, applied: &Arc<str>, message: String, wakes: &mut Wake<Self>) {
        let former = self.waits.insert(Arc::clone(applied), message);
        if former.as_ref() != self.waits.get(applied)
            && let Some(work) = self.work_of(applied)
        {
            wakes.wake(Key::Status(work.into()));
        }
    }

    /// Returns true if the hub has the ManifestWork of this AppliedManifestWork.
    pub(crate) fn has_work(&self, applied: &str) -> bool {
        let work = self.work_of(applied);
        work.is_some_and(|it| self.works.contains_key(it))
    }

    /// The AppliedManifestWorks of this hub and this agent that stay, as the hub looks restored.
    pub(crate) fn held(&self) -> usize {
        let applied = self.applied.iter();
        let held =
            applied.filter(|(name, it)| annotation(it, HELD).is_some() && !self.has_work(name));
        held.count()
    }

    fn hub_view(&self, confirmed: bool) -> HubView {
        let (hash, agent) = (&self.connection.hub_hash, &self.connection.agent_id);
        let ours = (self.applied.iter())
            .filter(|(name, it)| it.spec.agent_id == *agent && self.work_of(name).is_some());
        let mut view = HubView {
            hub_hash: hash.clone(),
            agent_id: agent.clone(),
            seen: self.hub_versions.map(|(highest, _)| highest),
            now: self.hub_versions.map(|(_, listed)| listed),
            applied: 0,
            missing: 0,
            confirmed,
        };
        for (name, applied) in ours {
            view.applied += 1;
            view.missing += usize::from(!self.has_work(name));
            // Another agent has seen a later version of the hub than this one.
            let is_ours = !self.rivals.has_made(name);
            let seen = annotation(applied, HUB_VERSION).filter(|_| is_ours);
            view.seen = view.seen.max(seen.and_then(|it| it.parse().ok()));
        }
        view
    }

    /// Objects of a work that exist and are not in the list, those of former manifests first.
    pub(crate) fn unrecorded(
        &self,
        progress: &Progress,
        stored: &[AppliedManifestResourceMeta],
    ) -> Vec<AppliedManifestResourceMeta> {
        let existing = progress
            .entries()
            .filter_map(|entry| match self.known(entry) {
                Known::Present(arrived) => Some(record::meta(entry, &arrived.uid)),
                Known::Unknown | Known::Missing => None,
            });
        let all = progress.unlisted.iter().cloned().chain(existing);
        let stored: HashSet<_> = stored.iter().collect();
        all.filter(|it| !stored.contains(it)).collect()
    }
}
