//! How far a ManifestWork is: its manifests in the order of application, and what became of each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::conditions::{TRUE, condition_of, manifest_work::COMPLETE};
use berth_api::work::{AppliedManifestResourceMeta, ManifestResourceMeta, ManifestWork};
use berth_work_core::executor::Account;
use berth_work_core::report::Applied;
use berth_work_core::{Failure, Retry};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::checks::{Access, Checks};
use super::fights::Fight;
use super::objects::{Entry, Former};
use super::targets::failed;

/// The first wait after a failure. It doubles with each failure that follows.
const FIRST: Duration = Duration::from_millis(500);

/// The longest wait after a failure.
const LONGEST: Duration = Duration::from_secs(300);

/// How long a wait for permissions lasts, as with OCM's agent.
const PERMISSION: Duration = Duration::from_secs(60);

/// The first wait for an object that is being deleted, and the longest.
const PENDING: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// The progress of a ManifestWork.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The ManifestWork that the manifests are of.
    pub(crate) source: Arc<ManifestWork>,
    /// The executor.
    pub(crate) account: Option<Account>,
    /// The UID of its AppliedManifestWork.
    pub(crate) owner: String,
    /// The manifests, in the order of application.
    pub(crate) slots: Vec<Slot>,
    /// The place of each manifest in `slots`, by its position in the spec.
    pub(crate) places: Vec<u32>,
    /// All manifests were tried once: the status may be written.
    pub(crate) is_tried: bool,
    /// How often the hub has refused the status as too large.
    pub(crate) too_large: u32,
    /// A kind may be served now, or not any more.
    pub(crate) is_stale: bool,
    /// Objects of former manifests that exist, and may not be in the stored list yet.
    pub(crate) unlisted: Vec<AppliedManifestResourceMeta>,
    /// The list could not be written; when to try again.
    pub(crate) list_wait: Option<Wait>,
    /// When objects that are no longer prescribed are looked at again.
    pub(crate) stale_wait: Option<Wait>,
}

/// A manifest.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The position in the spec.
    pub(crate) ordinal: usize,
    pub(crate) target: Target,
    /// What is reported of the last try; `None`: what is stored counts.
    pub(crate) applied: Option<Applied>,
    /// The manifest of the same object that was applied before.
    pub(crate) before: Option<Former>,
    pub(crate) wait: Option<Wait>,
    pub(crate) fight: Fight,
    /// When the permissions of the executor are asked for.
    pub(crate) checks: Checks,
    /// What may be reported of the object.
    pub(crate) access: Access,
    /// The object could not be read; the error.
    pub(crate) unread: Option<String>,
    /// When the object is to be read again, which cannot be watched.
    pub(crate) poll: Option<Instant>,
}

/// What a manifest names.
#[derive(Clone, Debug)]
pub(crate) enum Target {
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

/// A wait after failures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) until: Instant,
    failures: u32,
    /// A change of the object ends it.
    pub(crate) ends_with_change: bool,
    /// A change of permissions ends it.
    ends_with_permission: bool,
}

// === impl Progress ===

impl Progress {
    /// Returns true if the manifests are those of this ManifestWork, for this owner.
    pub(crate) fn is_of(&self, work: &ManifestWork, owner: &str) -> bool {
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
    pub(crate) fn place(&self, ordinal: usize) -> Option<usize> {
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
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.slots.iter().filter_map(Slot::entry)
    }
}

// === impl Slot ===

impl Slot {
    pub(crate) fn new(ordinal: usize, target: Target, applied: Option<Applied>) -> Self {
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
    pub(crate) fn entry(&self) -> Option<&Arc<Entry>> {
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
    pub(crate) fn follow(&mut self, former: Slot) {
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
    pub(crate) fn fails(&mut self, failure: Failure, now: Instant) {
        self.waits(failure.retry, now);
        self.applied = Some(failed(&failure));
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
    pub(crate) fn waits(&mut self, retry: Retry, now: Instant) {
        self.wait = Some(Wait::after(self.wait, retry, now));
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

// === impl Wait ===

impl Wait {
    /// The number of failures in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// The next wait for objects that are being deleted.
    pub(crate) fn pending(last: Option<Self>, now: Instant) -> Self {
        let failures = last.map_or(0, |it| it.failures);
        let (first, longest) = PENDING;
        Self {
            until: now + doubled(first, longest, failures),
            failures: failures.saturating_add(1),
            ends_with_change: false,
            ends_with_permission: false,
        }
    }

    /// The wait that follows this one.
    pub(crate) fn after(last: Option<Self>, retry: Retry, now: Instant) -> Self {
        let failures = last.map_or(0, |it| it.failures);
        let wait = match retry {
            Retry::Backoff => doubled(FIRST, LONGEST, failures),
            Retry::OnChange => LONGEST,
            Retry::OnPermission => PERMISSION,
        };
        // Works that failed together do not try again together.
        let jitter = wait.mul_f64(fastrand::f64() * 0.2);
        Self {
            until: now + wait + jitter,
            failures: failures.saturating_add(1),
            ends_with_change: retry == Retry::OnChange,
            ends_with_permission: retry == Retry::OnPermission,
        }
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

/// A wait that was doubled this many times, and is at most the longest one.
pub(crate) fn doubled(first: Duration, longest: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.min(20)).min(longest)
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
