//! The objects that manifests prescribe, and what is known of them on the cluster.
//!
//! An object that arrives from a watch is compared with its manifests at once, and evaluated for their status; the object itself is not
//! kept. Of an object that no manifest prescribes nothing is kept.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use berth_api::GroupVersionResource;
use berth_api::work::{
    Manifest, ManifestResourceMeta, ManifestWork, ManifestWorkExecutor, UpdateStrategyType,
};
use berth_work_core::config::{Configs, Identity, Picked, Rules};
use berth_work_core::evaluate::{Evaluated, FeedbackSettings, Programs, evaluate};
use berth_work_core::spending::Spending;
use berth_work_core::{Applying, Cuts, Owner, Settled, Unusable, Verdict, prescribed};
use serde_json::Value;

use super::rows::KindId;

/// An object that differs is kept until it is repaired, if it is not larger.
const KEPT: usize = 64 * 1024;

/// Upper bound on the bytes of all objects that are kept so.
const ALL_KEPT: usize = 4 * 1024 * 1024;

/// An object on the managed cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    pub kind: KindId,
    /// The namespace, a slash, and the name.
    pub place: Arc<str>,
}

/// A manifest of a ManifestWork, mapped to an object. A work may have thousands: what they have in common is shared.
#[derive(Debug)]
pub struct Entry {
    /// The ManifestWork.
    pub work: Arc<str>,
    /// The object.
    pub object: ObjectId,
    /// Its kind.
    pub served: Arc<Served>,
    /// Its owner: the AppliedManifestWork.
    pub owner: Arc<Owner>,
    /// Equal for manifests that prescribe the same in the same way.
    pub stamp: u64,
    source: Arc<ManifestWork>,
    ordinal: u32,
    picked: Picked,
    settled: Mutex<Settled>,
}

/// A kind as manifests name it, and its resource.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Served {
    pub kind: String,
    pub resource: GroupVersionResource,
    pub is_namespaced: bool,
}

/// The manifest of an object that was applied before the present one, without its ManifestWork.
#[derive(Clone, Debug)]
pub struct Former {
    stamp: u64,
    manifest: Manifest,
}

/// All manifests that are mapped, by object. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Prescriptions {
    all: Arc<RwLock<HashMap<ObjectId, Vec<Arc<Entry>>>>>,
    /// The bytes of the objects that are kept until they are repaired.
    kept: Arc<AtomicUsize>,
}

/// An object of the managed cluster, as it was read.
#[derive(Clone, Copy, Debug)]
pub struct ObjectItem<'a> {
    /// Empty for a cluster-scoped object.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its UID.
    pub uid: &'a str,
    /// The resourceVersion.
    pub version: &'a str,
    /// The object as JSON.
    pub json: &'a str,
}

/// An object that is kept as JSON. Its bytes are counted in a sum until it is dropped.
#[derive(Debug)]
pub struct Kept {
    json: Box<str>,
    sum: Arc<AtomicUsize>,
}

/// What evaluates objects, and notes what that costs.
#[derive(Debug)]
pub struct Evaluator {
    feedback: FeedbackSettings,
    programs: Programs,
    cuts: Cuts,
    spending: Mutex<Spending>,
    clock: fn() -> Instant,
}

/// What is known of an object.
#[derive(Clone, Debug)]
pub enum Known {
    /// It has not been read since a manifest prescribes it.
    Unknown,
    /// It does not exist.
    Missing,
    /// It exists.
    Present(Arc<Arrived>),
}

/// An object that manifests prescribe, as it was when it arrived.
#[derive(Debug)]
pub struct Arrived {
    /// Its UID.
    pub uid: Box<str>,
    /// Its resourceVersion.
    pub version: Box<str>,
    /// What each manifest makes of it, except those of works that have to wait as they cost too much.
    pub judged: Vec<Judged>,
    /// The object, if it is to be written, and there is room.
    pub live: Option<Kept>,
}

/// What a manifest makes of an object.
#[derive(Debug, PartialEq)]
pub struct Judged {
    pub work: Arc<str>,
    pub stamp: u64,
    pub verdict: Verdict,
    pub evaluated: Evaluated,
}

// === impl ObjectId ===

impl ObjectId {
    pub fn new(kind: KindId, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            place: format!("{namespace}/{name}").into(),
        }
    }

    pub fn namespace(&self) -> &str {
        self.place.split_once('/').map_or("", |(it, _)| it)
    }

    pub fn name(&self) -> &str {
        self.place.split_once('/').map_or("", |(_, it)| it)
    }
}

// === impl Entry ===

impl Entry {
    /// The manifest at this position of the work, mapped to an object of this kind.
    pub fn new(
        (work, source): (&Arc<str>, &Arc<ManifestWork>),
        configs: &Configs<'_>,
        manifest: &berth_work_core::Mapped,
        (kind, served): (KindId, Arc<Served>),
        owner: Arc<Owner>,
    ) -> Self {
        let prescribed = &manifest.prescribed;
        let mut entry = Self {
            work: Arc::clone(work),
            object: ObjectId::new(kind, &manifest.namespace, &prescribed.name),
            served,
            owner,
            stamp: 0,
            source: Arc::clone(source),
            ordinal: u32::try_from(prescribed.ordinal).unwrap_or(u32::MAX),
            picked: Picked::default(),
            settled: Mutex::default(),
        };
        entry.picked = configs.pick(&entry.identity());
        entry.stamp = entry.stamp();
        entry
    }

    /// The state machine that applies the manifest. `before`: what was applied last to the same object. The work pays for it.
    ///
    /// # Errors
    /// The manifest or its strategy is invalid.
    pub(crate) fn applying(
        &self,
        before: Option<&Former>,
        evaluator: &Evaluator,
    ) -> Result<Applying, Unusable> {
        let before = before.filter(|it| it.stamp != self.stamp);
        let before = before.and_then(|it| self.read(&it.manifest).ok());
        let settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = settled.clone();
        let rules = self.rules();
        let began = rules.cuts().then(evaluator.clock);
        let mut cutting = evaluator.cuts.of(&self.work, self.stamp);
        let applying = Applying::cut(
            self.prescribed()?,
            rules.strategy,
            Owner::clone(&self.owner),
            settled,
            before.as_ref(),
            Some(&mut cutting),
        );
        evaluator.spend(&self.work, cutting.cost(), began);
        applying
    }

    /// The manifest, as it is stored.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.source.spec.workload.manifests.get(self.ordinal())
    }

    /// What has to be known of the manifest when another one has taken its place.
    pub(crate) fn former(&self) -> Option<Former> {
        self.manifest().map(|manifest| Former {
            stamp: self.stamp,
            manifest: manifest.clone(),
        })
    }

    /// The object, as the status names it.
    pub fn meta(&self) -> ManifestResourceMeta {
        let resource = &self.served.resource;
        ManifestResourceMeta {
            group: resource.group.clone(),
            kind: self.served.kind.clone(),
            name: self.object.name().to_owned(),
            namespace: self.object.namespace().to_owned(),
            ordinal: i32::try_from(self.ordinal).unwrap_or(i32::MAX),
            resource: resource.resource.clone(),
            version: resource.version.clone(),
        }
    }

    /// The position of the manifest in the ManifestWork.
    pub fn ordinal(&self) -> usize {
        usize::try_from(self.ordinal).unwrap_or(usize::MAX)
    }

    fn identity(&self) -> Identity<'_> {
        let resource = &self.served.resource;
        Identity {
            group: &resource.group,
            resource: &resource.resource,
            namespace: self.object.namespace(),
            name: self.object.name(),
        }
    }

    /// The rules of the ManifestWork for the object.
    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules::picked(&self.source.spec.manifest_configs, self.picked)
    }

    /// Returns true if the object is only read.
    pub(crate) fn is_read_only(&self) -> bool {
        let strategy = self.rules().strategy;
        strategy.is_some_and(|it| it.r#type == UpdateStrategyType::ReadOnly)
    }

    /// Remembers what differs after a write, because the API server normalizes it.
    pub fn settle(&self, settled: Settled) {
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner) = settled;
    }

    /// Takes over what was remembered for an equal manifest.
    pub(crate) fn inherit(&self, from: &Self) {
        let settled = from.settled.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle(settled.clone());
    }

    /// The executor of the ManifestWork.
    pub fn executor(&self) -> Option<&ManifestWorkExecutor> {
        self.source.spec.executor.as_ref()
    }

    /// The manifest, as an object with its resource.
    ///
    /// # Errors
    /// The manifest is invalid.
    pub fn prescribed(&self) -> Result<berth_work_core::Mapped, Unusable> {
        let manifest = self.manifest();
        self.read(manifest.ok_or(Unusable::NotAnObject)?)
    }

    /// A manifest of the object, with its resource.
    fn read(&self, manifest: &Manifest) -> Result<berth_work_core::Mapped, Unusable> {
        let served = &self.served;
        prescribed(self.ordinal(), manifest)?
            .mapped(&served.resource.resource, served.is_namespaced)
    }

    fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let rules = self.rules();
        self.manifest().map(Manifest::text).hash(&mut hasher);
        // Written once for each manifest of each generation.
        format!(
            "{:?}{:?}{:?}",
            rules.strategy, rules.feedback, rules.conditions
        )
        .hash(&mut hasher);
        (&self.served.resource, self.served.is_namespaced).hash(&mut hasher);
        (&self.owner.uid, &self.owner.name).hash(&mut hasher);
        (format!("{:?}{:?}", self.owner.holding, self.source.spec.executor)).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns true if the manifest has fields to ignore, and to cut them costs something.
    pub(crate) fn cuts(&self, evaluator: &Evaluator) -> bool {
        self.rules().cuts() && !evaluator.cuts.of(&self.work, self.stamp).is_kept()
    }

    /// Returns true if to look at the object costs something that its work pays for.
    pub(crate) fn costs(&self, evaluator: &Evaluator) -> bool {
        let rules = self.rules();
        !rules.feedback.is_empty() || !rules.conditions.is_empty() || self.cuts(evaluator)
    }

    /// Compares an object with the manifest, and evaluates it. The work pays for it.
    fn judge(&self, object: &Value, evaluator: &Evaluator) -> Judged {
        // An invalid manifest is reported when it is applied.
        let verdict = self.applying(None, evaluator).map(|it| it.differs(object));
        let rules = self.rules();
        let began = rules.cost().then(evaluator.clock);
        let (evaluated, cost) = evaluate(
            &self.meta(),
            &rules,
            object,
            &evaluator.feedback,
            &evaluator.programs,
        );
        evaluator.spend(&self.work, cost, began);
        Judged {
            work: Arc::clone(&self.work),
            stamp: self.stamp,
            verdict: verdict.unwrap_or_default(),
            evaluated,
        }
    }
}

// === impl Evaluator ===

impl Evaluator {
    /// `clock`: the time, to measure what an evaluation takes.
    pub fn new(feedback: FeedbackSettings, clock: fn() -> Instant) -> Self {
        Self {
            feedback,
            programs: Programs::default(),
            cuts: Cuts::default(),
            spending: Mutex::default(),
            clock,
        }
    }

    /// Until when the work has to wait before it costs more; `None` if it may.
    pub fn waits(&self, work: &str) -> Option<Instant> {
        let mut spending = self.spending();
        if spending.is_idle() {
            return None;
        }
        let now = (self.clock)();
        let wait = spending.wait(work, now);
        wait.map(|it| now + it)
    }

    fn spend(&self, work: &Arc<str>, steps: u64, began: Option<Instant>) {
        let Some(began) = began.filter(|_| steps > 0) else {
            return;
        };
        let now = (self.clock)();
        self.spending().spend(work, steps, began, now);
    }

    fn spending(&self) -> MutexGuard<'_, Spending> {
        self.spending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Former ===

impl Former {
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

// === impl Prescriptions ===

impl Prescriptions {
    /// The manifests that prescribe an object.
    pub fn of(&self, object: &ObjectId) -> Vec<Arc<Entry>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(object).cloned().unwrap_or_default()
    }

    /// Notes a manifest.
    pub(crate) fn add(&self, entry: &Arc<Entry>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        // Usually there is one.
        let entries = all.entry(entry.object.clone());
        let entries = entries.or_insert_with(|| Vec::with_capacity(1));
        entries.push(Arc::clone(entry));
    }

    /// Returns true if no other manifest prescribes the object.
    pub fn remove(&self, entry: &Arc<Entry>) -> bool {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let Some(entries) = all.get_mut(&entry.object) else {
            return true;
        };
        entries.retain(|it| !Arc::ptr_eq(it, entry));
        let is_last = entries.is_empty();
        if is_last {
            all.remove(&entry.object);
        }
        is_last
    }

    /// Compares an object of this kind with its manifests. `may`: the work of this manifest need not wait, whatever it costs. `None`: no
    /// manifest prescribes it.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn read(
        &self,
        kind: KindId,
        item: &ObjectItem<'_>,
        evaluator: &Evaluator,
        may: Option<&Entry>,
    ) -> Result<Option<Arrived>, serde_json::Error> {
        let entries = self.of(&ObjectId::new(kind, item.namespace, item.name));
        if entries.is_empty() {
            return Ok(None);
        }
        let object: Value = serde_json::from_str(item.json)?;
        let may_cost = |entry: &&Arc<Entry>| {
            may.is_some_and(|it| std::ptr::eq(it, Arc::as_ptr(entry)))
                || evaluator.waits(&entry.work).is_none()
                || !entry.costs(evaluator)
        };
        // Kept for each object: without room to grow.
        let mut judged = Vec::with_capacity(entries.len());
        let due = entries.iter().filter(may_cost);
        judged.extend(due.map(|entry| entry.judge(&object, evaluator)));
        let is_due = judged.iter().any(|it| it.verdict.write);
        Ok(Some(Arrived {
            uid: item.uid.into(),
            version: item.version.into(),
            judged,
            live: (is_due.then(|| Kept::new(item.json, &self.kept))).flatten(),
        }))
    }
}

// === impl Kept ===

impl Kept {
    /// `None`: it is too large, or too much is kept already.
    fn new(json: &str, sum: &Arc<AtomicUsize>) -> Option<Self> {
        let with = |kept: usize| Some(kept + json.len()).filter(|it| *it <= ALL_KEPT);
        let has_room = json.len() <= KEPT && sum.fetch_update(Relaxed, Relaxed, with).is_ok();
        has_room.then(|| Self {
            json: json.into(),
            sum: Arc::clone(sum),
        })
    }

    /// The object.
    pub fn read(&self) -> Option<Value> {
        serde_json::from_str(&self.json).ok()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.sum.fetch_sub(self.json.len(), Relaxed);
    }
}

// === impl Known ===

impl Known {
    /// What a manifest makes of the object, if it was compared with it.
    pub(crate) fn judged(&self, entry: &Entry) -> Option<&Judged> {
        match self {
            Self::Present(arrived) => arrived.of(entry),
            Self::Unknown | Self::Missing => None,
        }
    }
}

// === impl Arrived ===

impl Arrived {
    /// What a manifest makes of the object, if it was compared with it.
    pub fn of(&self, entry: &Entry) -> Option<&Judged> {
        (self.judged.iter()).find(|it| it.work == entry.work && it.stamp == entry.stamp)
    }
}

#[cfg(test)]
mod tests;
