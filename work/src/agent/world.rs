//! The facts of the agent, and which keys a change of them concerns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use berth_api::Now;
use berth_api::groups;
use berth_api::plan::{Plan, Write};
use berth_api::work::{AppliedManifestWork, ManifestWork};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Lane, Meta, Report, Wake, WatchError, World, now};
use berth_work_core::evaluate::FeedbackSettings;
use berth_work_core::grants::RbacName;
use berth_work_core::{budget, report};

use super::connection::Connection;
use super::executor::Executors;
use super::facts::{Definition, Fact, Kind, has_finalizer};
use super::lines::Lines;
use super::mapping::Mapping;
use super::metrics::Metrics;
use super::objects::{Arrived, Entry, Evaluator, Known, ObjectId, Prescriptions};
use super::permissions::Permissions;
use super::progress::{ObjectName, Progress, Target, Wait, complete_objects, is_complete};
use super::rivals::Rivals;
use super::room::Room;
use super::rows::{RowId, Rows, Sight};
use super::settings::Settings;
use super::{HUB, MANAGED, lifecycle, pass, removal, status, table};

/// What the agent works on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A ManifestWork: its finalizer, its AppliedManifestWork and its objects.
    Work(Arc<str>),
    /// The status of a ManifestWork.
    Status(Arc<str>),
    /// An AppliedManifestWork that is deleted, or whose ManifestWork is missing.
    Applied(Arc<str>),
    /// The rows of the table of kinds.
    Table,
}

/// The facts of the agent.
pub(crate) struct Agent {
    pub(crate) settings: Arc<Settings>,
    pub(crate) connection: Arc<Connection>,
    /// Those that [`Agent::room`] does not have are without their manifests.
    pub(crate) works: HashMap<Arc<str>, Arc<ManifestWork>>,
    pub(crate) room: Room,
    /// Stands for all refused works that need nothing more: see [`Agent::forget_refused`].
    of_refused: Arc<ManifestWork>,
    pub(crate) applied: HashMap<Arc<str>, Arc<AppliedManifestWork>>,
    pub(crate) progress: HashMap<Arc<str>, Progress>,
    pub(crate) objects: HashMap<ObjectId, Known>,
    pub(crate) rows: Rows,
    pub(crate) prescriptions: Prescriptions,
    pub(crate) mapping: Arc<Mapping>,
    pub(crate) executors: Arc<Executors>,
    pub(crate) permissions: Permissions,
    /// The log lines about manifests that fail.
    pub(super) lines: Lines,
    pub(crate) evaluator: Arc<Evaluator>,
    pub(crate) metrics: Metrics,
    /// Held while works are mapped for the first time; true afterwards.
    pub(crate) preparing: Arc<tokio::sync::Mutex<bool>>,
    /// Held while rows are added and removed.
    pub(crate) table: Arc<std::sync::Mutex<()>>,
    /// The highest resourceVersion that the hub has shown, and the highest since its last list began.
    pub(crate) hub_versions: Option<(u64, u64)>,
    /// Waits for objects of deleted AppliedManifestWorks.
    pub(crate) removals: HashMap<Arc<str>, Wait>,
    pub(crate) rivals: Rivals,
    /// All AppliedManifestWorks were listed once.
    are_applied_listed: bool,
    /// What deleted AppliedManifestWorks wait for.
    pub(crate) waits: HashMap<Arc<str>, String>,
    definitions: HashMap<Box<str>, Definition>,
    /// The objects of works that are done, and not updated any more.
    complete: HashMap<Arc<str>, HashSet<ObjectName>>,
    /// Objects that the first list of their row will show, if they exist, and that nothing has shown yet.
    awaited: HashMap<RowId, HashSet<ObjectId>>,
}

// === impl Agent ===

impl Agent {
    pub(crate) fn new(
        settings: Arc<Settings>,
        connection: Arc<Connection>,
        metrics: Metrics,
    ) -> Self {
        let evaluator = Evaluator::new(FeedbackSettings {
            raw: settings.raw_feedback,
            max_raw: settings.max_json_raw,
        });
        Self {
            room: Room::new(settings.works_memory),
            of_refused: Arc::default(),
            settings,
            connection,
            works: HashMap::new(),
            applied: HashMap::new(),
            progress: HashMap::new(),
            objects: HashMap::new(),
            rows: Rows::default(),
            prescriptions: Prescriptions::default(),
            mapping: Arc::default(),
            executors: Arc::default(),
            permissions: Permissions::default(),
            lines: Lines::default(),
            evaluator: Arc::new(evaluator),
            metrics,
            preparing: Arc::default(),
            table: Arc::default(),
            hub_versions: None,
            removals: HashMap::new(),
            rivals: Rivals::default(),
            are_applied_listed: false,
            waits: HashMap::new(),
            definitions: HashMap::new(),
            complete: HashMap::new(),
            awaited: HashMap::new(),
        }
    }

    /// The name of the AppliedManifestWork of a ManifestWork of this hub.
    pub(crate) fn applied_name(&self, work: &str) -> String {
        format!("{}-{work}", self.connection.hub_hash)
    }

    /// The ManifestWork of an AppliedManifestWork of this hub.
    pub(crate) fn work_of<'a>(&self, applied: &'a str) -> Option<&'a str> {
        applied
            .strip_prefix(&*self.connection.hub_hash)?
            .strip_prefix('-')
    }

    /// What is known of the object of a manifest.
    pub(crate) fn known(&self, entry: &Entry) -> &Known {
        self.objects.get(&entry.object).unwrap_or(&Known::Unknown)
    }

    /// What is known of the row of an object. `None`: it has no row yet.
    pub(crate) fn sight(&self, object: &ObjectId) -> Option<&Sight> {
        let row = self.rows.row_of(object.kind, object.namespace());
        row.map(|(_, sight)| sight)
    }

    /// The row of an object.
    pub(crate) fn row(&self, object: &ObjectId) -> Option<RowId> {
        let row = self.rows.row_of(object.kind, object.namespace());
        row.map(|(row, _)| row)
    }

    /// The first list of a row will show its objects, if they exist. Those that another row has shown may have been deleted since.
    pub(crate) fn awaits(&mut self, row: RowId) {
        let rows = &self.rows;
        let objects = (self.objects.iter()).filter(|(_, it)| !matches!(it, Known::Missing));
        let of_row = objects.filter(|(id, _)| {
            let of = rows.row_of(id.kind, id.namespace());
            of.is_some_and(|(of, _)| of == row)
        });
        let awaited = of_row.map(|(id, _)| id.clone()).collect();
        self.awaited.insert(row, awaited);
    }

    /// A row is watched no more.
    pub(crate) fn forgets(&mut self, row: RowId) {
        self.awaited.remove(&row);
    }

    /// Notes what is now known of an object. Wake the works that it concerns.
    pub(crate) fn sees(&mut self, id: &ObjectId, known: Known, wakes: &mut Wake<Self>) {
        let Some(before) = self.objects.get_mut(id) else {
            return;
        };
        let former = std::mem::replace(before, known);
        let entries = self.prescriptions.of(id);
        for entry in &entries {
            let now = self.known(entry);
            let (now_is, was) = (now.judged(entry), former.judged(entry));
            let same_uid = match (&former, now) {
                (Known::Present(a), Known::Present(b)) => a.uid == b.uid,
                (Known::Missing, Known::Missing) => true,
                _ => false,
            };
            if same_uid && now_is == was {
                continue;
            }
            let differs = |it: Option<&super::objects::Judged>| it.map(|it| it.verdict.clone());
            let (is_due, is_other) = (
                !same_uid || now_is.is_none_or(|it| it.verdict.write),
                !same_uid || differs(now_is) != differs(was),
            );
            if is_other {
                self.object_changed(entry);
            }
            if is_due {
                wakes.wake(Key::Work(Arc::clone(&entry.work)));
            }
            if !same_uid {
                // Its deletion may have been waited for.
                let applied: Arc<str> = entry.owner.name.as_str().into();
                if self.removals.remove(&applied).is_some() {
                    wakes.wake(Key::Applied(applied));
                }
            }
            wakes.wake(Key::Status(Arc::clone(&entry.work)));
        }
    }

    /// Ends a wait for a change of the object.
    fn object_changed(&mut self, entry: &Arc<Entry>) {
        let Some(progress) = self.progress.get_mut(&entry.work) else {
            return;
        };
        let slot = progress.slot_of(entry);
        if let Some(slot) = slot.filter(|it| it.wait.is_some_and(|wait| wait.ends_with_change)) {
            slot.wait = None;
        }
    }

    /// The names of the works with manifests in a row.
    fn works_in(&self, row: RowId) -> HashSet<Arc<str>> {
        let works = self.progress.iter();
        let has = |progress: &Progress| {
            (progress.entries()).any(|entry| self.row(&entry.object) == Some(row))
        };
        let works = works.filter(|(_, progress)| has(progress));
        works.map(|(name, _)| Arc::clone(name)).collect()
    }

    /// Forgets the manifests of a work.
    pub(crate) fn strip(&mut self, name: &str) {
        if let Some(work) = self.works.get_mut(name) {
            *work = Arc::new(budget::stripped(work));
        }
    }

    /// Keeps the name and the cost of a refused work only, if its status says so, and nothing was done for it: there may be very many.
    pub(crate) fn forget_refused(&mut self, name: &str) {
        let Some(work) = self.works.get_mut(name) else {
            return;
        };
        let Some(excess) = self.room.refuses(name) else {
            return;
        };
        let is_new = work.metadata.deletion_timestamp.is_none() && !has_finalizer(work);
        let message = budget::message(excess, self.room.budget());
        if is_new && report::is_refused(work, &message) {
            *work = Arc::clone(&self.of_refused);
        }
    }

    /// Returns true if nothing but the name and the cost of the work is kept.
    pub(crate) fn is_forgotten(&self, work: &Arc<ManifestWork>) -> bool {
        Arc::ptr_eq(work, &self.of_refused)
    }

    /// Notes a work as it is on the hub.
    pub(crate) fn work_changed(
        &mut self,
        meta: &Meta,
        mut work: Arc<ManifestWork>,
        wakes: &mut Wake<Self>,
    ) {
        let name: Arc<str> = meta.name.as_str().into();
        let had = self.room.has(&name);
        if !self.room.arrives(&name, &work) {
            work = Arc::new(budget::stripped(&work));
        } else if had && let Some(known) = self.works.get(&name) {
            share(known, &mut work);
        }
        let former = self.works.insert(Arc::clone(&name), Arc::clone(&work));
        self.note_complete(&name, &work);
        if let Some(version) = meta.version() {
            let (highest, last) = self.hub_versions.get_or_insert((version, version));
            *highest = (*highest).max(version);
            *last = (*last).max(version);
        }
        let same = former.as_ref().is_some_and(|it| {
            let (a, b) = (&it.metadata, &work.metadata);
            (&a.uid, a.generation, &a.labels) == (&b.uid, b.generation, &b.labels)
                && a.deletion_timestamp.is_some() == b.deletion_timestamp.is_some()
                && has_finalizer(it) == has_finalizer(&work)
                && is_complete(it) == is_complete(&work)
                && complete_objects(it).eq(complete_objects(&work))
        });
        if !same || had != self.room.has(&name) {
            wakes.wake(Key::Work(Arc::clone(&name)));
        }
        if former.is_none() {
            wakes.wake(Key::Applied(self.applied_name(&name).into()));
        }
        if former.is_none_or(|it| it.status != work.status) {
            wakes.wake(Key::Status(Arc::clone(&name)));
        }
        self.forget_refused(&name);
    }

    /// Notes which objects of a work are done.
    pub(crate) fn note_complete(&mut self, name: &Arc<str>, work: &ManifestWork) {
        let complete: HashSet<_> = complete_objects(work).map(ObjectName::from).collect();
        match complete.is_empty() {
            true => drop(self.complete.remove(name)),
            false => drop(self.complete.insert(Arc::clone(name), complete)),
        }
    }

    /// Forgets them once the work is gone, and its objects are not tried any more.
    pub(crate) fn forget_complete(&mut self, name: &str) {
        if !self.works.contains_key(name) {
            self.complete.remove(name);
        }
    }

    /// Returns true if an object of the work is done.
    pub(crate) fn is_object_complete(&self, work: &str, entry: &Entry) -> bool {
        let complete = self.complete.get(work);
        complete.is_some_and(|it| it.contains(&ObjectName::from(entry)))
    }

    fn applied_changed(
        &mut self,
        meta: &Meta,
        applied: Arc<AppliedManifestWork>,
        wakes: &mut Wake<Self>,
    ) {
        let name: Arc<str> = meta.name.as_str().into();
        let former = self.applied.insert(Arc::clone(&name), Arc::clone(&applied));
        // This one makes none without a ManifestWork.
        if former.is_none() && self.are_applied_listed && !self.has_work(&name) {
            self.rivals.made(Arc::clone(&name));
        }
        let same = former.is_some_and(|it| {
            let (a, b) = (&it.metadata, &applied.metadata);
            (&a.uid, a.generation, &a.finalizers) == (&b.uid, b.generation, &b.finalizers)
                && (&a.labels, &a.annotations) == (&b.labels, &b.annotations)
                && a.deletion_timestamp.is_some() == b.deletion_timestamp.is_some()
                && it.status == applied.status
        });
        if !same {
            if let Some(work) = self.work_of(&name) {
                wakes.wake(Key::Work(work.into()));
            }
            wakes.wake(Key::Applied(name));
        }
    }

    fn definition_changed(
        &mut self,
        name: &str,
        definition: Option<Definition>,
        wakes: &mut Wake<Self>,
    ) {
        let former = match &definition {
            Some(it) => self.definitions.insert(name.into(), it.clone()),
            None => self.definitions.remove(name),
        };
        if former == definition {
            return;
        }
        let Some(group) = definition.or(former).map(|it| it.group) else {
            return;
        };
        self.mapping.forget(&group);
        for (name, progress) in &mut self.progress {
            let concerns = (progress.slots.iter()).any(|slot| match &slot.target {
                Target::Unmapped(meta) => *meta.group == *group,
                Target::Object(_) | Target::Unusable(_) => false,
            });
            if concerns {
                for slot in &mut progress.slots {
                    if matches!(slot.target, Target::Unmapped(_)) {
                        slot.wait = None;
                    }
                }
                wakes.wake(Key::Work(Arc::clone(name)));
            }
        }
    }

    /// A row cannot be watched.
    fn row_lost(&mut self, row: RowId, error: &WatchError, wakes: &mut Wake<Self>) {
        if error.code == 403 && self.rows.set_apart(row) {
            wakes.wake(Key::Table);
            return;
        }
        if error.code == 404 {
            let kind = self
                .rows
                .place(row)
                .and_then(|it| self.rows.resource(it.kind));
            if let Some(kind) = kind {
                self.mapping.forget(&kind.group);
            }
            for name in self.works_in(row) {
                if let Some(progress) = self.progress.get_mut(&name) {
                    progress.is_stale = true;
                }
                wakes.wake(Key::Work(name));
            }
        }
        if self.rows.fails(row, error.code) {
            let kind = self
                .rows
                .place(row)
                .and_then(|it| self.rows.resource(it.kind));
            let resource = kind.map(|it| it.resource.as_str());
            let seconds = self.settings.poll_interval.as_secs();
            tracing::warn!(resource, %error, seconds, "objects cannot be watched, and are read at intervals; if a permission is missing, grant list and watch");
            wakes.extend(self.works_in(row).into_iter().map(Key::Work));
        }
    }
}

/// Lets a work have the manifests of the known one, if it is of the same generation: so they are in memory once.
fn share(known: &ManifestWork, work: &mut Arc<ManifestWork>) {
    let of = |it: &ManifestWork| (it.metadata.uid.clone(), it.metadata.generation);
    if of(known) == of(work)
        && let Some(work) = Arc::get_mut(work)
        && work.spec.workload == known.spec.workload
    {
        work.spec.workload.clone_from(&known.spec.workload);
    }
}

fn rbac_name(namespace: &str, name: &str) -> RbacName {
    RbacName {
        namespace: namespace.into(),
        name: name.into(),
    }
}

impl World for Agent {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[
        Lane::new("work", 10),
        Lane::new("work-status", 10),
        Lane::new("applied-work", 10),
        Lane::new("work-table", 1),
    ];

    fn lane(key: &Key) -> usize {
        match key {
            Key::Work(_) => 0,
            Key::Status(_) => 1,
            Key::Applied(_) => 2,
            Key::Table => 3,
        }
    }

    fn apply(
        &mut self,
        kind: Kind,
        object: &Meta,
        fact: Fact,
        report: Report,
        wakes: &mut Wake<Self>,
    ) {
        match (kind, fact) {
            (Kind::Works, Fact::Work(work)) => self.work_changed(object, work, wakes),
            (Kind::Applied, Fact::Applied(applied)) => self.applied_changed(object, applied, wakes),
            (Kind::Definitions, Fact::Definition(definition)) => {
                self.definition_changed(&object.name, Some(definition), wakes);
            }
            (Kind::Permissions(kind), Fact::Permissions(rbac)) => {
                let name = rbac_name(&object.namespace, &object.name);
                self.permission_seen(kind, name, rbac, report.now.instant, wakes);
            }
            (Kind::Objects(row), Fact::Object(arrived)) => {
                if let Some(place) = self.rows.place(row) {
                    let id = ObjectId::new(place.kind, &object.namespace, &object.name);
                    if let Some(awaited) = self.awaited.get_mut(&row) {
                        awaited.remove(&id);
                    }
                    self.sees(&id, Known::Present(Arc::new(arrived)), wakes);
                }
            }
            _ => {}
        }
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Works => {
                if self.works.remove(name).is_some() {
                    self.room.leaves(name);
                    wakes.wake(Key::Work(name.into()));
                    wakes.wake(Key::Applied(self.applied_name(name).into()));
                }
            }
            Kind::Applied => {
                if self.applied.remove(name).is_some() {
                    self.rivals.forget(name);
                    if let Some(work) = self.work_of(name) {
                        wakes.wake(Key::Work(work.into()));
                    }
                    wakes.wake(Key::Applied(name.into()));
                }
            }
            Kind::Definitions => self.definition_changed(name, None, wakes),
            Kind::Permissions(kind) => {
                let name = rbac_name(namespace, name);
                self.permission_gone(kind, &name, now().instant, wakes);
            }
            Kind::Objects(row) => {
                if let Some(place) = self.rows.place(row) {
                    let id = ObjectId::new(place.kind, namespace, name);
                    self.sees(&id, Known::Missing, wakes);
                }
            }
        }
    }

    fn all(&self) -> Vec<Key> {
        let works = self.works.keys();
        let works = works.flat_map(|it| [Key::Work(Arc::clone(it)), Key::Status(Arc::clone(it))]);
        let applied = self.applied.keys().map(|it| Key::Applied(Arc::clone(it)));
        works.chain(applied).collect()
    }

    fn decide(&self, key: &Key, now: Now) -> Plan {
        match key {
            Key::Work(name) => lifecycle::plan(self, name),
            Key::Status(name) => status::plan(self, name, now),
            Key::Applied(name) => removal::plan(self, name, now),
            Key::Table => Plan::default(),
        }
    }

    fn server(write: &Write) -> usize {
        if write.target.resource.resource == groups::MANIFEST_WORKS {
            HUB
        } else {
            MANAGED
        }
    }

    fn listed_at(&mut self, kind: Kind, version: u64) {
        if kind == Kind::Works {
            let highest = self.hub_versions.map_or(version, |(it, _)| it.max(version));
            self.hub_versions = Some((highest, version));
        }
    }

    fn went_back(&mut self, kind: Kind, from: u64, to: u64) {
        if kind == Kind::Works {
            let highest = self.hub_versions.map_or(from, |(it, _)| it.max(from));
            self.hub_versions = Some((highest, to));
        }
    }

    fn listed(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Objects(row) => {
                self.rows.sees(row, Sight::Listed);
                for id in self.awaited.remove(&row).unwrap_or_default() {
                    self.sees(&id, Known::Missing, wakes);
                }
                wakes.extend(self.works_in(row).into_iter().map(Key::Work));
            }
            Kind::Works => {
                // The hub may have been restored.
                let applied = self.applied.keys().map(|it| Key::Applied(Arc::clone(it)));
                wakes.extend(applied.collect::<Vec<_>>());
            }
            Kind::Permissions(kind) => self.permissions_listed(kind, wakes),
            Kind::Applied => self.are_applied_listed = true,
            Kind::Definitions => {}
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Objects(row) => self.row_lost(row, error, wakes),
            Kind::Permissions(kind) => self.permissions_lost(kind, error, wakes),
            Kind::Works | Kind::Applied | Kind::Definitions => {}
        }
    }

    fn regained_sight(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        let is_polled = match kind {
            Kind::Objects(row) => self.rows.sight(row) == Some(&Sight::Polled),
            Kind::Permissions(kind) => self.permissions.is_polled(kind),
            Kind::Works | Kind::Applied | Kind::Definitions => false,
        };
        // Its list ends the polling.
        if is_polled {
            wakes.list_anew(kind);
        }
    }

    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        match key {
            Key::Work(name) => pass::reconcile(on, name).await,
            Key::Status(name) => status::reconcile(on, name).await,
            Key::Applied(name) => removal::reconcile(on, name).await,
            Key::Table => {
                table::update(on);
                Next::Settled {
                    again: None,
                    pause: None,
                }
            }
        }
    }
}

/// An object that a call of this agent read or wrote.
impl Known {
    pub(crate) fn arrived(arrived: Arrived) -> Self {
        Self::Present(Arc::new(arrived))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use berth_api::work::Manifest;
    use serde_json::json;

    use super::*;
    use crate::agent::targets::tests::agent;

    /// The work as it is on the hub, of one MiB.
    fn large(name: &str, message: Option<&str>) -> (Meta, Arc<ManifestWork>) {
        let status = message.map(|message| {
            json!({"conditions": [{
                "type": "Applied", "status": "False", "reason": "AppliedManifestWorkTooLarge",
                "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": 1,
            }]})
        });
        let work = json!({
            "metadata": {"name": name, "uid": name, "generation": 1}, "status": status,
        });
        let mut work: ManifestWork = serde_json::from_value(work).unwrap();
        let manifest = Manifest::new(&json!({"data": "x".repeat(1 << 20)})).unwrap();
        work.spec.workload.manifests = vec![manifest];
        let meta = Meta {
            name: name.to_owned(),
            resource_version: "1".to_owned(),
            ..Meta::default()
        };
        (meta, Arc::new(work))
    }

    #[test]
    fn of_a_refused_work_only_its_name_and_cost_are_kept_once_its_status_says_so() {
        let mut world = agent();
        world.room = Room::new(1 << 20);
        let mut wakes = Wake::default();
        let now = berth_reconcile::now();
        let names: Vec<_> = (0..100).map(|at| format!("w{at}")).collect();
        for name in &names {
            let (meta, work) = large(name, None);
            world.work_changed(&meta, work, &mut wakes);
        }
        assert_eq!(world.room.decide().news.len(), names.len());
        assert_eq!(world.counts().refused, names.len());
        for name in &names {
            let plan = status::plan(&world, name, now);
            assert_eq!(plan.writes.len(), 1, "{name} has to say so");
            let excess = world.room.refuses(name).unwrap();
            let message = budget::message(excess, world.room.budget());
            let (meta, work) = large(name, Some(&message));
            world.work_changed(&meta, work, &mut wakes);
            assert!(world.is_forgotten(&world.works[&**name]), "{name}");
            assert_eq!(status::plan(&world, name, now), Plan::default());
        }
        // One that is being deleted is known: what waits for it must go.
        let (meta, mut work) = large("w0", None);
        let deleting = Arc::get_mut(&mut work).unwrap();
        deleting.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        world.work_changed(&meta, work, &mut wakes);
        assert!(!world.is_forgotten(&world.works["w0"]));
    }

    #[test]
    fn versions_of_one_generation_share_their_manifests() {
        let mut world = agent();
        let mut wakes = Wake::default();
        for _ in 0..2 {
            let (meta, work) = large("w", None);
            let former = world.works.get("w").cloned();
            world.work_changed(&meta, work, &mut wakes);
            let text = |it: &Arc<ManifestWork>| it.spec.workload.manifests[0].text().as_ptr();
            let now = text(&world.works["w"]);
            assert!(former.is_none_or(|it| text(&it) == now));
        }
    }
}
