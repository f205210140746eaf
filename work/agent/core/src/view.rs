//! The facts of the agent, and which keys a change of them concerns.

mod changes;
mod permissions;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use berth_api::work::{AppliedManifestWork, ManifestWork};

use super::answers::Answers;
use super::facts::Definition;
use super::lines::Lines;
use super::mapping::Mapping;
use super::objects::{Entry, Evaluator, Known, ObjectId, Prescriptions};
use super::permissions::{Permissions, RbacKind};
use super::progress::{ObjectName, Progress, complete_objects};
use super::ready::Ready;
use super::rivals::Rivals;
use super::room::Room;
use super::rows::{RowId, Rows, Sight};
use super::settings::{Identity, Settings};
use super::wait::Wait;

/// What the agent works on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A ManifestWork: its finalizer, its AppliedManifestWork and its objects.
    Work(Arc<str>),
    /// The status of a ManifestWork.
    Status(Arc<str>),
    /// An AppliedManifestWork that is deleted, or whose ManifestWork is missing.
    Applied(Arc<str>),
    /// The rows of the table of kinds.
    Table,
}

/// The keys that a change concerns.
#[derive(Debug, Default)]
pub struct Wakes(pub Vec<Key>);

/// What a change has to be told of: in the log, as a metric, or by an Event.
#[derive(Debug)]
pub enum Notice {
    /// An object was put back that another client had changed or deleted.
    Repaired,
    /// These fields of an object were put back again: another client changes them again and again.
    Fought {
        /// The manifest.
        entry: Arc<Entry>,
        /// The paths of the fields.
        fields: String,
    },
    /// A manifest was not applied.
    NotApplied {
        /// The manifest.
        entry: Arc<Entry>,
        /// Why.
        error: String,
        /// Its ManifestWork.
        ready: Ready,
        /// The number of log lines that were left out before; `None`: this one is left out, too.
        left_out: Option<u64>,
    },
    /// A ManifestWork does not fit into the agent's memory.
    Refused {
        /// Its name.
        work: Arc<str>,
        /// Why, with the figures.
        why: String,
        /// The number of such lines that were left out before.
        left_out: u64,
    },
    /// Objects of this kind cannot be watched.
    ObjectsPolled {
        /// Its resource.
        resource: Option<String>,
        /// Why.
        error: String,
    },
    /// Roles or bindings cannot be watched.
    PermissionsPolled {
        /// Which ones.
        kind: RbacKind,
        /// Why.
        error: String,
    },
    /// Another agent with the same agent ID changes this AppliedManifestWork again and again.
    TwoAgents(Arc<AppliedManifestWork>),
}

/// The facts of the agent.
pub struct View {
    pub(crate) settings: Settings,
    /// The names of the agent and its hub.
    pub identity: Identity,
    /// The ManifestWorks, by name. Those that [`View::room`] does not have are without their manifests.
    pub works: HashMap<Arc<str>, Arc<ManifestWork>>,
    /// Which works fit into the agent's memory.
    pub room: Room,
    /// Stands for all refused works that need nothing more: see [`View::forget_refused`].
    of_refused: Arc<ManifestWork>,
    /// The AppliedManifestWorks, by name.
    pub applied: HashMap<Arc<str>, Arc<AppliedManifestWork>>,
    /// How far each work is, by name.
    pub progress: HashMap<Arc<str>, Progress>,
    pub(crate) objects: HashMap<ObjectId, Known>,
    /// What is watched.
    pub rows: Rows,
    /// All manifests, by object.
    pub prescriptions: Prescriptions,
    /// The resources of kinds.
    pub mapping: Mapping,
    pub(crate) answers: Answers,
    /// Roles and bindings.
    pub permissions: Permissions,
    /// When a role or a binding last changed that concerns a service account.
    pub(crate) permissions_changed: Option<Instant>,
    /// The log lines about manifests that fail.
    pub lines: Lines,
    /// What evaluates objects.
    pub evaluator: Arc<Evaluator>,
    /// The highest resourceVersion that the hub has shown, and the highest since its last list began.
    pub hub_versions: Option<(u64, u64)>,
    /// Waits for objects of deleted AppliedManifestWorks.
    pub removals: HashMap<Arc<str>, Wait>,
    pub(crate) rivals: Rivals,
    /// All AppliedManifestWorks were listed once.
    are_applied_listed: bool,
    /// What deleted AppliedManifestWorks wait for.
    pub waits: HashMap<Arc<str>, String>,
    definitions: HashMap<Box<str>, Definition>,
    /// The objects of works that are done, and not updated any more.
    complete: HashMap<Arc<str>, HashSet<ObjectName>>,
    /// Objects that the first list of their row will show, if they exist, and that nothing has shown yet.
    awaited: HashMap<RowId, HashSet<ObjectId>>,
    /// What is to be told.
    pub notices: Vec<Notice>,
    /// How often manifests were put in place.
    pub(crate) installs: u64,
    chance: fn() -> f64,
}

// === impl Wakes ===

impl Wakes {
    /// Wakes a key.
    pub fn wake(&mut self, key: Key) {
        self.0.push(key);
    }
}

impl Extend<Key> for Wakes {
    fn extend<I: IntoIterator<Item = Key>>(&mut self, keys: I) {
        self.0.extend(keys);
    }
}

// === impl View ===

impl View {
    /// The view of an agent that knows nothing yet. `clock`: the time, to measure evaluations; `chance`: a number from 0 to 1, so that what
    /// failed together is not tried again together.
    pub fn new(
        settings: Settings,
        identity: Identity,
        clock: fn() -> Instant,
        chance: fn() -> f64,
    ) -> Self {
        Self {
            room: Room::new(settings.works_memory),
            evaluator: Arc::new(Evaluator::new(settings.feedback, clock)),
            settings,
            identity,
            of_refused: Arc::default(),
            works: HashMap::new(),
            applied: HashMap::new(),
            progress: HashMap::new(),
            objects: HashMap::new(),
            rows: Rows::default(),
            prescriptions: Prescriptions::default(),
            mapping: Mapping::default(),
            answers: Answers::default(),
            permissions: Permissions::default(),
            permissions_changed: None,
            lines: Lines::default(),
            hub_versions: None,
            removals: HashMap::new(),
            rivals: Rivals::default(),
            are_applied_listed: false,
            waits: HashMap::new(),
            definitions: HashMap::new(),
            complete: HashMap::new(),
            awaited: HashMap::new(),
            notices: Vec::new(),
            installs: 0,
            chance,
        }
    }

    /// A number from 0 to 1, by chance.
    pub(crate) fn spread(&self) -> f64 {
        (self.chance)()
    }

    /// The name of the AppliedManifestWork of a ManifestWork of this hub.
    pub(crate) fn applied_name(&self, work: &str) -> String {
        format!("{}-{work}", self.identity.hub_hash)
    }

    /// The ManifestWork of an AppliedManifestWork of this hub.
    pub(crate) fn work_of<'a>(&self, applied: &'a str) -> Option<&'a str> {
        applied
            .strip_prefix(&*self.identity.hub_hash)?
            .strip_prefix('-')
    }

    /// What is known of the object of a manifest.
    pub fn known(&self, entry: &Entry) -> &Known {
        self.objects.get(&entry.object).unwrap_or(&Known::Unknown)
    }

    /// What is known of the row of an object. `None`: it has no row yet.
    pub fn sight(&self, object: &ObjectId) -> Option<&Sight> {
        let row = self.rows.row_of(object.kind, object.namespace());
        row.map(|(_, sight)| sight)
    }

    /// The row of an object.
    pub fn row(&self, object: &ObjectId) -> Option<RowId> {
        let row = self.rows.row_of(object.kind, object.namespace());
        row.map(|(row, _)| row)
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

    /// All keys that may be due.
    pub fn keys(&self) -> Vec<Key> {
        let works = self.works.keys();
        let works = works.flat_map(|it| [Key::Work(Arc::clone(it)), Key::Status(Arc::clone(it))]);
        let applied = self.applied.keys().map(|it| Key::Applied(Arc::clone(it)));
        works.chain(applied).collect()
    }

    /// Returns true if objects of the work are not known yet, and will be.
    pub fn waits_for_rows(&self, name: &str) -> bool {
        let progress = self.progress.get(name);
        let mut entries = progress.into_iter().flat_map(Progress::entries);
        entries.any(|it| self.sight(&it.object).is_some_and(Sight::is_waiting))
    }

    /// Returns true if the hub has the ManifestWork of this AppliedManifestWork.
    pub(crate) fn has_work(&self, applied: &str) -> bool {
        let work = self.work_of(applied);
        work.is_some_and(|it| self.works.contains_key(it))
    }
}
