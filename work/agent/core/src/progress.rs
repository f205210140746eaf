//! How far a ManifestWork is: its manifests in the order of application, and what became of each.

use std::sync::Arc;
use std::time::Instant;

use berth_api::conditions::{TRUE, condition_of, manifest_work::COMPLETE};
use berth_api::work::{AppliedManifestResourceMeta, ManifestResourceMeta, ManifestWork};
use berth_work_core::executor::Account;
use berth_work_core::report::Applied;
use berth_work_core::{ApplyFailure, Retry};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::checks::{Access, Checks};
use super::fights::Fight;
use super::objects::{Entry, Former};
use super::wait::Wait;

/// The progress of a ManifestWork.
#[derive(Debug)]
pub struct Progress {
    /// Another number for each time that the manifests of a work are put in place.
    pub installed: u64,
    /// The ManifestWork that the manifests are of.
    pub source: Arc<ManifestWork>,
    /// The executor.
    pub account: Option<Account>,
    /// The UID of its AppliedManifestWork.
    pub owner: String,
    /// The manifests, in the order of application.
    pub slots: Vec<Slot>,
    /// The place of each manifest in `slots`, by its position in the spec.
    pub places: Vec<u32>,
    /// All manifests were tried once: the status may be written.
    pub is_tried: bool,
    /// How often the hub has refused the status as too large.
    pub too_large: u32,
    /// A kind may be served now, or not any more.
    pub is_stale: bool,
    /// Objects of former manifests that exist, and may not be in the stored list yet.
    pub unlisted: Vec<AppliedManifestResourceMeta>,
    /// The list could not be written; when to try again.
    pub list_wait: Option<Wait>,
    /// When objects that are no longer prescribed are looked at again.
    pub stale_wait: Option<Wait>,
}

/// A manifest.
#[derive(Debug)]
pub struct Slot {
    /// The position in the spec.
    pub ordinal: usize,
    pub target: Target,
    /// What is reported of the last try; `None`: what is stored counts.
    pub applied: Option<Applied>,
    /// The manifest of the same object that was applied before.
    pub before: Option<Former>,
    pub wait: Option<Wait>,
    pub fight: Fight,
    /// When the permissions of the executor are asked for.
    pub checks: Checks,
    /// What may be reported of the object.
    pub access: Access,
    /// The object could not be read; the error.
    pub unread: Option<String>,
    /// When the object is to be read again, which cannot be watched.
    pub poll: Option<Instant>,
}

/// What a manifest names.
#[derive(Clone, Debug)]
pub enum Target {
    /// An object.
    Object(Arc<Entry>),
    /// An object of a kind that the cluster does not serve.
    Unmapped(Box<ManifestResourceMeta>),
    /// No object.
    Unusable(Box<ManifestResourceMeta>),
}

/// Group, kind, namespace and name of an object.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectName([String; 4]);

// === impl Progress ===

impl Progress {
    /// Returns true if the manifests are those of this ManifestWork, for this owner.
    pub fn is_of(&self, work: &ManifestWork, owner: &str) -> bool {
        !self.is_stale && self.owner == owner && self.is_of_generation(work)
    }

    /// Returns true if the manifests are those of this ManifestWork. Its kinds may be served otherwise since.
    pub(crate) fn is_of_generation(&self, work: &ManifestWork) -> bool {
        let (source, work) = (&self.source.metadata, &work.metadata);
        (&source.uid, source.generation) == (&work.uid, work.generation)
    }

    /// Tries at once what waits for this namespace.
    pub(crate) fn namespace_exists(&mut self, name: &str) {
        for slot in &mut self.slots {
            let entry = slot.entry();
            if entry.is_some_and(|it| it.object.namespace() == name) {
                slot.wait = None;
            }
        }
    }

    /// The place in `slots` of the manifest at this position of the spec.
    pub fn place(&self, ordinal: usize) -> Option<usize> {
        let at = usize::try_from(*self.places.get(ordinal)?).ok()?;
        let slot = self.slots.get(at)?;
        (slot.ordinal == ordinal).then_some(at)
    }

    /// The slot of a manifest that is mapped to an object.
    pub(crate) fn slot_of(&mut self, entry: &Arc<Entry>) -> Option<&mut Slot> {
        let at = self.place(entry.ordinal())?;
        let slot = self.slots.get_mut(at)?;
        (slot.entry().is_some_and(|it| Arc::ptr_eq(it, entry))).then_some(slot)
    }

    /// The manifests that are mapped to objects.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.slots.iter().filter_map(Slot::entry)
    }
}

// === impl Slot ===

impl Slot {
    pub fn new(ordinal: usize, target: Target, applied: Option<Applied>) -> Self {
        Self {
            ordinal,
            target,
            applied,
            before: None,
            wait: None,
            fight: Fight::default(),
            checks: Checks::default(),
            access: Access::Open,
            unread: None,
            poll: None,
        }
    }

    /// The object of the manifest, if it is mapped.
    pub fn entry(&self) -> Option<&Arc<Entry>> {
        match &self.target {
            Target::Object(entry) => Some(entry),
            Target::Unmapped(_) | Target::Unusable(_) => None,
        }
    }

    /// Returns true if the ManifestWork has an executor.
    pub(crate) fn has_executor(&self) -> bool {
        self.entry().is_some_and(|it| it.executor().is_some())
    }

    /// Returns true if another manifest of the object was applied last. One write is due then: what the manifest does not have any more may
    /// not show.
    pub(crate) fn is_changed(&self) -> bool {
        let (entry, before) = (self.entry(), self.before.as_ref());
        entry
            .zip(before)
            .is_some_and(|(entry, before)| entry.manifest() != Some(before.manifest()))
    }

    /// Takes over what is known of the same object from the slot of the former manifests.
    pub fn follow(&mut self, former: Slot) {
        let (Target::Object(new), Target::Object(old)) = (&self.target, &former.target) else {
            return;
        };
        if new.stamp == old.stamp {
            new.inherit(old);
            self.applied = former.applied;
            self.before = former.before;
            self.wait = former.wait;
            self.fight = former.fight;
            self.checks = former.checks;
            self.access = former.access;
            self.unread = former.unread;
            self.poll = former.poll;
        } else {
            // An object that is complete counts as applied: the manifest that was really applied is then still known.
            let applied = former.applied == Some(Applied::Complete);
            self.before = former.before.or_else(|| old.former().filter(|_| applied));
        }
    }

    /// Notes that the manifest is applied.
    pub(crate) fn completes(&mut self) {
        self.applied = Some(Applied::Complete);
        self.before = None;
        self.wait = None;
        self.unread = None;
    }

    /// Notes that the manifest could not be applied.
    pub fn fails(&mut self, failure: &ApplyFailure, now: Instant, spread: f64) {
        self.waits(failure.retry, now, spread);
        self.applied = Some(failed(failure));
    }

    /// If the slot waits: until when. A wait for permissions is over when they may have changed.
    pub(crate) fn waits_until(&self, now: Instant) -> Option<Instant> {
        let wait = self.wait.filter(|it| it.until > now)?;
        if !wait.ends_with_permission {
            return Some(wait.until);
        }
        match self.checks.due(now) {
            Some(_) => None,
            None => [Some(wait.until), self.checks.next()]
                .into_iter()
                .flatten()
                .min(),
        }
    }

    /// Waits after a failure: longer each time.
    pub fn waits(&mut self, retry: Retry, now: Instant, spread: f64) {
        self.wait = Some(Wait::after(self.wait, retry, now, spread));
    }
}

// === impl ObjectName ===

impl From<&ManifestResourceMeta> for ObjectName {
    fn from(it: &ManifestResourceMeta) -> Self {
        Self([&it.group, &it.kind, &it.namespace, &it.name].map(String::clone))
    }
}

impl From<&Entry> for ObjectName {
    fn from(entry: &Entry) -> Self {
        let (served, object) = (&entry.served, &entry.object);
        let place = (object.namespace(), object.name());
        Self([&served.resource.group, &*served.kind, place.0, place.1].map(str::to_owned))
    }
}

/// The place of each manifest, by its position in the spec.
pub(crate) fn places(slots: &[Slot]) -> Vec<u32> {
    let mut places = vec![0; slots.len()];
    for (at, slot) in (0..).zip(slots) {
        if let Some(place) = places.get_mut(slot.ordinal) {
            *place = at;
        }
    }
    places
}

/// Returns true if the ManifestWork is done: its objects are not updated any more.
pub(crate) fn is_complete(work: &ManifestWork) -> bool {
    let status = work.status.as_ref();
    status.is_some_and(|it| has_ended(&it.conditions))
}

/// The objects of the ManifestWork that are done: they are not updated any more.
pub(crate) fn complete_objects(work: &ManifestWork) -> impl Iterator<Item = &ManifestResourceMeta> {
    let status = work.status.iter();
    let manifests = status.flat_map(|it| &it.resource_status.manifests);
    let complete = manifests.filter(|it| has_ended(&it.conditions));
    complete.map(|it| &it.resource_meta)
}

fn has_ended(conditions: &[Condition]) -> bool {
    condition_of(conditions, COMPLETE).is_some_and(|it| it.status == TRUE)
}

/// A failure as the status reports it.
pub(crate) fn failed(failure: &ApplyFailure) -> Applied {
    Applied::Failed {
        reason: failure.reason,
        message: failure.message.clone(),
    }
}
