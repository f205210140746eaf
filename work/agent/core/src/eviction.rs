//! AppliedManifestWorks that are deleted, or whose ManifestWork is missing on the hub.
//!
//! A deleted one stays until its objects are gone. One without a ManifestWork is deleted after a grace period, unless the hub looks
//! restored from a backup: then it is held until a user confirms, by the annotation [`CONFIRMED`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::labels::APPLIED_MANIFEST_WORK_CLEANUP;
use berth_api::plan::{Plan, Write};
use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_work_core::{Eviction, HubView, eviction, waits_for};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::facts::{applied_has_finalizer, applied_works};
use super::hold;
use super::lifecycle::{HUB_VERSION, delete};
use super::record::{self, unrecorded};
use super::rivals::{self, Part};
use super::view::{Key, View, Wakes};
use super::wait::Wait;

/// The name of the reconciler in metrics and logs.
const APPLIED: &str = "applied-work";

/// On an AppliedManifestWork: why it stays though its ManifestWork is missing.
pub const HELD: &str = "berth.open-cluster-management.io/eviction-held";

/// On an AppliedManifestWork, with any value: a user confirms that it may go.
pub const CONFIRMED: &str = "berth.open-cluster-management.io/eviction-confirmed";

/// What is written to an AppliedManifestWork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
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
    pub(crate) fn part(self) -> Part {
        match self {
            Self::Hold | Self::Start | Self::Evict => Part::Eviction,
            Self::Free | Self::Stop => Part::Keeping,
        }
    }
}

/// What is due for an AppliedManifestWork that is not deleted.
pub fn plan(view: &View, name: &str, now: Now) -> Plan {
    decide(view, name, now).0
}

/// The same, and what it is. What another agent undoes again and again is not repeated at once, and nothing goes meanwhile.
pub fn decide(view: &View, name: &str, now: Now) -> (Plan, Option<Due>) {
    let (plan, due) = due(view, name, now);
    let Some(due) = due.filter(|_| !plan.writes.is_empty()) else {
        return (plan, None);
    };
    let (rivals, part) = (&view.rivals, due.part());
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

fn due(view: &View, name: &str, now: Now) -> (Plan, Option<Due>) {
    let nothing = || (Plan::default(), None);
    let Some(applied) = view.applied.get(name) else {
        return nothing();
    };
    if applied.metadata.deletion_timestamp.is_some() {
        return nothing();
    }
    let work_exists = view.has_work(name);
    let confirmed = annotation(applied, CONFIRMED).is_some();
    let hub = view.hub_view(confirmed);
    let grace = SignedDuration::try_from(view.settings.eviction_grace);
    let grace = grace.unwrap_or(SignedDuration::MAX);
    let mut eviction = eviction(applied, work_exists, &hub, grace, now.wall);
    if hold::of(applied).is_some()
        && matches!(
            eviction,
            Eviction::Start | Eviction::Wait(_) | Eviction::Evict
        )
    {
        // The grace period begins when the hold ends.
        return (without_start(applied), Some(Due::Stop));
    }
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
            let why = match view.rivals.are_there(name, now.instant) {
                true => rivals::words(&view.identity.agent_id),
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

/// The value of an annotation.
pub fn annotation<'a>(applied: &'a AppliedManifestWork, key: &str) -> Option<&'a str> {
    let annotations = applied.metadata.annotations.as_ref()?;
    annotations.get(key).map(String::as_str)
}

/// The removal of the objects of a deleted AppliedManifestWork.
#[derive(Debug)]
pub struct Departure {
    /// Its UID.
    pub uid: String,
    /// The objects that it lists, or that were made for it.
    pub objects: Vec<AppliedManifestResourceMeta>,
    stored: Vec<AppliedManifestResourceMeta>,
}

impl Departure {
    /// The write that is due when these objects are not gone yet. `None`: nothing has changed.
    pub fn write(
        &self,
        applied: &AppliedManifestWork,
        pending: &[AppliedManifestResourceMeta],
    ) -> Option<Write> {
        match pending.is_empty() {
            true => Some(without_finalizer(applied)),
            false => self.shrinks(applied, pending),
        }
    }

    /// The write of the list, if it has changed.
    pub fn shrinks(
        &self,
        applied: &AppliedManifestWork,
        pending: &[AppliedManifestResourceMeta],
    ) -> Option<Write> {
        (pending != self.stored)
            .then(|| record::status(applied, "appliedResources", json!(pending)))
    }
}

// === impl View ===

impl View {
    /// The AppliedManifestWork of this name, if it is deleted, its objects are to be removed first, and no admin of the cluster holds it.
    pub fn departs(&self, name: &str) -> Option<&Arc<AppliedManifestWork>> {
        let applied = self.applied.get(name)?;
        let is_due =
            applied.metadata.deletion_timestamp.is_some() && applied_has_finalizer(applied);
        let is_due = is_due && hold::of(applied).is_none();
        is_due.then_some(applied)
    }

    /// What is to be removed for a deleted AppliedManifestWork. An agent that was killed may not have recorded what it had made.
    pub fn departure(&self, name: &str, applied: &AppliedManifestWork) -> Departure {
        let stored = applied.status.clone().unwrap_or_default().applied_resources;
        let progress = self.work_of(name).and_then(|it| self.progress.get(it));
        let unrecorded = progress.map_or_else(Vec::new, |it| unrecorded(self, it, &stored));
        Departure {
            uid: applied.metadata.uid.clone().unwrap_or_default(),
            objects: stored.iter().cloned().chain(unrecorded).collect(),
            stored,
        }
    }

    /// Notes what an AppliedManifestWork waits for that is deleted. `pending`: the objects that are not gone yet, each with the reason.
    pub fn departing(
        &mut self,
        name: &Arc<str>,
        pending: &[(AppliedManifestResourceMeta, String)],
        wakes: &mut Wakes,
    ) {
        self.waits_for(name, waits_for(pending), wakes);
    }

    /// Waits for objects of a deleted AppliedManifestWork. Returns until when.
    pub fn wait_to_depart(&mut self, name: &Arc<str>, now: Instant) -> Instant {
        let wait = Wait::pending(self.removals.get(name).copied(), now);
        self.removals.insert(Arc::clone(name), wait);
        wait.until
    }

    /// Notes that an AppliedManifestWork is gone.
    pub fn departed(&mut self, name: &str) {
        self.removals.remove(name);
        self.waits.remove(name);
    }

    /// Returns true if the last write to an AppliedManifestWork was this one.
    pub fn was_last(&self, name: &str, due: Due) -> bool {
        self.rivals.last(name, due.part()) == Some(due as u64)
    }

    /// Notes a write. It is undone if it was the last one, too.
    pub fn wrote(&mut self, name: &Arc<str>, due: Due, now: Instant) {
        let was_undone = self.was_last(name, due);
        if let Some(applied) = self.applied.get(name).cloned() {
            self.rival_write(name, applied, (due.part(), due as u64), was_undone, now);
        }
    }

    /// Notes what the deletion of an AppliedManifestWork waits for, for the status of its ManifestWork.
    fn waits_for(&mut self, applied: &Arc<str>, message: String, wakes: &mut Wakes) {
        let former = self.waits.insert(Arc::clone(applied), message);
        if former.as_ref() != self.waits.get(applied)
            && let Some(work) = self.work_of(applied)
        {
            wakes.wake(Key::Status(work.into()));
        }
    }

    /// The AppliedManifestWorks of this hub and this agent that stay, as the hub looks restored.
    pub fn held(&self) -> usize {
        let applied = self.applied.iter();
        let held =
            applied.filter(|(name, it)| annotation(it, HELD).is_some() && !self.has_work(name));
        held.count()
    }

    fn hub_view(&self, confirmed: bool) -> HubView {
        let (hash, agent) = (&self.identity.hub_hash, &self.identity.agent_id);
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
}
