//! The store: current objects and the history of each kind.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;

use crate::object::Object;
use crate::storage::{Event, EventKind, Watch};

/// Where a resource's objects are kept, whatever the version: `managedclusters.cluster.open-cluster-management.io`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StorageId(pub(crate) Arc<str>);

/// The place of one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The kind of storage.
    pub(crate) storage: StorageId,
    /// The namespace; empty for cluster-scoped objects.
    pub(crate) namespace: String,
    /// The name.
    pub(crate) name: String,
}

/// An object as committed, in its storage version.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The revision of the commit; `object.metadata.resourceVersion` says the same.
    pub(crate) revision: u64,
    /// The object.
    pub(crate) object: Object,
    json: OnceLock<Bytes>,
}

/// The default limit of a request to etcd, in bytes.
const LARGEST: usize = 3 << 19;

/// Why nothing was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommitError {
    /// There is an object already.
    #[error("exists")]
    Exists,
    /// There is no object.
    #[error("not found")]
    NotFound,
    /// The object has another revision, this one.
    #[error("modified")]
    Modified(u64),
    /// The object takes more than etcd takes in a request.
    #[error("etcdserver: request is too large")]
    TooLarge,
}

/// The history does not reach back to the revision asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub(crate) struct Expired {
    /// What was asked for.
    pub(crate) asked: u64,
    /// The oldest revision that can be had.
    pub(crate) oldest: u64,
}

/// Which part of a kind to list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// As of which revision; none for now.
    pub(crate) at: Option<u64>,
    /// Only what comes after this (namespace, name).
    pub(crate) after: Option<(String, String)>,
    /// The most *matching* objects; `None` for all.
    pub(crate) limit: Option<usize>,
}

/// A list.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// The objects, by namespace and name.
    pub(crate) items: Vec<Arc<Stored>>,
    /// As of which revision.
    pub(crate) revision: u64,
    /// True if objects were left for the next page.
    pub(crate) more: bool,
    /// How many objects come after the page, whether they match or not.
    pub(crate) remaining: usize,
}

/// The content of a store at one revision.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    revision: u64,
    kinds: Vec<(StorageId, Objects)>,
}

/// The store. Shared behind an `Arc`; every method is short and never awaits.
pub(crate) struct Store {
    state: Mutex<State>,
    history: usize,
}

#[derive(Default)]
struct State {
    revision: u64,
    kinds: HashMap<StorageId, StoredKind>,
}

/// By namespace and name.
type Objects = BTreeMap<(String, String), Arc<Stored>>;

/// The objects of one kind, and their latest changes.
struct StoredKind {
    objects: Objects,
    /// In the order of revisions, without gaps.
    log: VecDeque<Event>,
    /// Events up to this revision may be missing from the log.
    forgotten: u64,
    /// The revision of the latest commit; wakes the watchers.
    latest: watch::Sender<u64>,
    /// The names that are watched alone: a fleet watches each of its objects.
    named: HashMap<String, Named>,
}

/// A name that is watched alone.
struct Named {
    /// The revision of the latest commit of that name since then; wakes its watchers.
    latest: watch::Sender<u64>,
    /// As [`StoredKind::forgotten`], of this name.
    forgotten: u64,
}

// === impl Stored ===

impl Stored {
    fn new(revision: u64, mut object: Object) -> Arc<Self> {
        object.set(&["metadata", "resourceVersion"], revision.to_string());
        Arc::new(Self {
            revision,
            object,
            json: OnceLock::new(),
        })
    }

    /// The stored object as JSON; made once, then shared.
    pub(crate) fn json(&self) -> Bytes {
        let json = self.json.get_or_init(|| {
            // Writing a tree of JSON values into memory cannot fail.
            Bytes::from(serde_json::to_vec(&self.object).unwrap_or_default())
        });
        json.clone()
    }
}

// === impl StoredKind ===

impl StoredKind {
    fn new(revision: u64) -> Self {
        Self {
            objects: Objects::new(),
            log: VecDeque::new(),
            // Nothing of this kind happened before: every earlier revision can be had.
            forgotten: 0,
            latest: watch::Sender::new(revision),
            named: HashMap::new(),
        }
    }

    fn record(&mut self, event: Event, history: usize) {
        let revision = event.revision;
        let name = event.object.object.name();
        match self.named.get(name) {
            Some(named) if named.latest.receiver_count() > 0 => {
                named.latest.send_replace(revision);
            }
            Some(_) => drop(self.named.remove(name)),
            None => {}
        }
        self.log.push_back(event);
        while self.log.len() > history {
            if let Some(event) = self.log.pop_front() {
                self.forgotten = event.revision;
                if let Some(named) = self.named.get_mut(event.object.object.name()) {
                    named.forgotten = event.revision;
                }
            }
        }
        self.latest.send_replace(revision);
    }

    /// A receiver that commits of this name wake; without a name, all commits.
    fn subscribe(&mut self, name: Option<&str>) -> watch::Receiver<u64> {
        let Some(name) = name else {
            return self.latest.subscribe();
        };
        let new = || Named {
            latest: watch::Sender::new(0),
            forgotten: 0,
        };
        let named = self.named.entry(name.to_owned()).or_insert_with(new);
        named.latest.subscribe()
    }

    /// The revision of the latest commit of this name, or of all.
    fn latest(&self, name: Option<&str>) -> u64 {
        let named = name.and_then(|name| self.named.get(name));
        *named.map_or(&self.latest, |it| &it.latest).borrow()
    }

    fn check(&self, asked: u64, name: Option<&str>) -> Result<(), Expired> {
        let named = name.and_then(|name| self.named.get(name));
        let oldest = named.map_or(self.forgotten, |it| it.forgotten);
        if asked < oldest {
            return Err(Expired { asked, oldest });
        }
        Ok(())
    }

    fn since(&self, revision: u64) -> impl Iterator<Item = &Event> {
        let first = self.log.partition_point(|event| event.revision <= revision);
        self.log.range(first..)
    }

    /// What was otherwise at an earlier revision: the objects that have changed since, as they were.
    fn changed_since(&self, revision: u64) -> BTreeMap<(String, String), Option<Arc<Stored>>> {
        let mut changed = BTreeMap::new();
        for event in self.since(revision) {
            let object = &event.object.object;
            let place = (object.namespace().to_owned(), object.name().to_owned());
            changed.entry(place).or_insert_with(|| event.before.clone());
        }
        changed
    }
}

// === impl Store ===

impl Store {
    /// An empty store that keeps `history` events of each kind.
    pub(crate) fn new(history: usize) -> Self {
        let state = State {
            revision: 1,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            history,
        }
    }

    /// A store as it was at the snapshot. It has no history, as the watch cache of a kube-apiserver that has just started.
    pub(crate) fn restored(history: usize, snapshot: Snapshot) -> Self {
        let revision = snapshot.revision;
        let kinds = snapshot.kinds.into_iter().map(|(storage, objects)| {
            let kind = StoredKind {
                objects,
                forgotten: revision,
                ..StoredKind::new(revision)
            };
            (storage, kind)
        });
        let state = State {
            revision,
            kinds: kinds.collect(),
        };
        Self {
            state: Mutex::new(state),
            history,
        }
    }

    /// What the store has now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.state();
        let kinds = state.kinds.iter();
        let kinds = kinds.map(|(storage, kind)| (storage.clone(), kind.objects.clone()));
        Snapshot {
            revision: state.revision,
            kinds: kinds.collect(),
        }
    }

    /// The revision of the latest commit of any kind; 1 in an empty store.
    pub(crate) fn revision(&self) -> u64 {
        self.state().revision
    }

    /// The revision of the latest commit of this kind; 0 if there was none. Lets caches know whether they are current.
    pub(crate) fn revision_of(&self, storage: &StorageId) -> u64 {
        let state = self.state();
        let kind = state.kinds.get(storage);
        kind.map_or(0, |kind| *kind.latest.borrow())
    }

    /// The object, if it exists.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        let state = self.state();
        let objects = &state.kinds.get(&key.storage)?.objects;
        objects.get(&key.place()).cloned()
    }

    /// Adds an object, setting its resourceVersion.
    ///
    /// # Errors
    /// [`CommitError::Exists`]
    pub(crate) fn create(&self, key: &Key, object: Object) -> Result<Arc<Stored>, CommitError> {
        self.commit(key, |before| match before {
            Some(_) => Err(CommitError::Exists),
            None => Ok((EventKind::Added, object)),
        })
    }

    /// Replaces the object that has the revision `expected`, setting its resourceVersion.
    ///
    /// # Errors
    /// [`CommitError::NotFound`], [`CommitError::Modified`]
    pub(crate) fn update(
        &self,
        key: &Key,
        expected: u64,
        object: Object,
    ) -> Result<Arc<Stored>, CommitError> {
        self.commit(key, |before| {
            is_expected(before, expected)?;
            Ok((EventKind::Modified, object))
        })
    }

    /// Removes the object that has the revision `expected`. Watchers, and the caller, get `last` (its final state) with the
    /// deletion's revision.
    ///
    /// # Errors
    /// [`CommitError::NotFound`], [`CommitError::Modified`]
    pub(crate) fn delete(
        &self,
        key: &Key,
        expected: u64,
        last: Object,
    ) -> Result<Arc<Stored>, CommitError> {
        self.commit(key, |before| {
            is_expected(before, expected)?;
            Ok((EventKind::Deleted, last))
        })
    }

    fn commit(
        &self,
        key: &Key,
        decide: impl FnOnce(Option<&Arc<Stored>>) -> Result<(EventKind, Object), CommitError>,
    ) -> Result<Arc<Stored>, CommitError> {
        let mut state = self.state();
        let revision = state.revision + 1;
        let place = key.place();
        let kind = state.kind(&key.storage);
        let before = kind.objects.get(&place).cloned();
        let (sort, object) = decide(before.as_ref())?;
        let stored = Stored::new(revision, object);
        if sort != EventKind::Deleted && stored.json().len() > LARGEST {
            return Err(CommitError::TooLarge);
        }
        if sort == EventKind::Deleted {
            kind.objects.remove(&place);
        } else {
            kind.objects.insert(place, Arc::clone(&stored));
        }
        let event = Event {
            kind: sort,
            revision,
            object: Arc::clone(&stored),
            before,
        };
        kind.record(event, self.history);
        state.revision = revision;
        Ok(stored)
    }

    /// Objects of a kind, in one namespace or (none) everywhere, that `matches` says yes to.
    ///
    /// # Errors
    /// The history does not reach back to `page.at`.
    pub(crate) fn list(
        &self,
        storage: &StorageId,
        namespace: Option<&str>,
        page: &Page,
        matches: &dyn Fn(&Object) -> bool,
    ) -> Result<Listed, Expired> {
        // Looked through without the lock: selectors may take their time.
        let (candidates, revision) = self.candidates(storage, namespace, page)?;
        let limit = page.limit.unwrap_or(usize::MAX);
        let mut items = Vec::new();
        for (index, stored) in candidates.iter().enumerate() {
            if !matches(&stored.object) {
                continue;
            }
            if items.len() == limit {
                return Ok(Listed {
                    items,
                    revision,
                    more: true,
                    remaining: candidates.len() - index,
                });
            }
            items.push(Arc::clone(stored));
        }
        Ok(Listed {
            items,
            revision,
            more: false,
            remaining: 0,
        })
    }

    /// All objects of a kind, in one namespace or (none) everywhere, as they are now.
    pub(crate) fn all(&self, storage: &StorageId, namespace: Option<&str>) -> Listed {
        let listed = self.list(storage, namespace, &Page::default(), &|_| true);
        // Reading the present never expires.
        listed.unwrap_or_default()
    }

    /// Everything that a page may hold, and the revision it is read at.
    fn candidates(
        &self,
        storage: &StorageId,
        namespace: Option<&str>,
        page: &Page,
    ) -> Result<(Vec<Arc<Stored>>, u64), Expired> {
        let state = self.state();
        let revision = page.at.unwrap_or(state.revision);
        let Some(kind) = state.kinds.get(storage) else {
            return Ok((Vec::new(), revision));
        };
        kind.check(revision, None)?;
        let first = match (&page.after, namespace) {
            (Some(place), _) => Bound::Excluded(place.clone()),
            (None, Some(namespace)) => Bound::Included((namespace.to_owned(), String::new())),
            (None, None) => Bound::Unbounded,
        };
        let is_inside = |place: &(String, String)| namespace.is_none_or(|name| name == place.0);
        let range = (first, Bound::Unbounded);

        let changed = kind.changed_since(revision);
        let mut then = changed.range(range.clone());
        let mut then = then
            .by_ref()
            .take_while(|(place, _)| is_inside(place))
            .peekable();
        let now = kind
            .objects
            .range(range)
            .take_while(|(place, _)| is_inside(place));
        let mut found = Vec::new();
        for (place, stored) in now {
            while let Some((_, was)) = then.next_if(|(changed, _)| *changed < place) {
                found.extend(was.clone());
            }
            match then.next_if(|(changed, _)| *changed == place) {
                Some((_, was)) => found.extend(was.clone()),
                None => found.push(Arc::clone(stored)),
            }
        }
        found.extend(then.filter_map(|(_, was)| was.clone()));
        Ok((found, revision))
    }

    /// Events of a kind after `from`.
    ///
    /// # Errors
    /// The history does not reach back to `from`.
    pub(crate) fn watch(
        self: &Arc<Self>,
        storage: &StorageId,
        from: u64,
    ) -> Result<Watch, Expired> {
        self.watch_name(storage, from, None)
    }

    /// The same, of the objects with this name.
    ///
    /// # Errors
    /// The history does not reach back to `from`.
    pub(crate) fn watch_name(
        self: &Arc<Self>,
        storage: &StorageId,
        from: u64,
        name: Option<&str>,
    ) -> Result<Watch, Expired> {
        let mut state = self.state();
        let kind = state.kind(storage);
        kind.check(from, None)?;
        let latest = kind.subscribe(name);
        drop(state);
        let (store, storage) = (Arc::clone(self), storage.clone());
        Ok(Watch::new(store, storage, from, name, latest))
    }

    /// Up to `limit` events of a kind, or of a name that is watched, after `from`, without waiting for any.
    ///
    /// # Errors
    /// The history does not reach back to `from`.
    pub(crate) fn events(
        &self,
        storage: &StorageId,
        from: u64,
        limit: usize,
        name: Option<&str>,
    ) -> Result<Vec<Event>, Expired> {
        let state = self.state();
        let Some(kind) = state.kinds.get(storage) else {
            return Ok(Vec::new());
        };
        kind.check(from, name)?;
        let is_named = |event: &&Event| name.is_none_or(|it| it == event.object.object.name());
        Ok(kind
            .since(from)
            .filter(is_named)
            .take(limit)
            .cloned()
            .collect())
    }

    /// The latest revision up to which a watch at `from` has missed no event. None if `from` is later than the store.
    pub(super) fn seen(&self, storage: &StorageId, from: u64, name: Option<&str>) -> Option<u64> {
        let state = self.state();
        if state.revision < from {
            return None;
        }
        let latest = state.kinds.get(storage).map_or(0, |kind| kind.latest(name));
        Some(if latest > from { from } else { state.revision })
    }

    /// Nothing panics while the lock is held, and if it did, what was committed is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn kind(&mut self, storage: &StorageId) -> &mut StoredKind {
        self.kinds
            .entry(storage.clone())
            .or_insert_with(|| StoredKind::new(0))
    }
}

impl Key {
    /// The place of an object in the storage of this name.
    pub(crate) fn new(storage: &str, namespace: &str, name: &str) -> Self {
        Self {
            storage: StorageId(storage.into()),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn place(&self) -> (String, String) {
        (self.namespace.clone(), self.name.clone())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

fn is_expected(before: Option<&Arc<Stored>>, expected: u64) -> Result<(), CommitError> {
    match before {
        None => Err(CommitError::NotFound),
        Some(stored) if stored.revision == expected => Ok(()),
        Some(stored) => Err(CommitError::Modified(stored.revision)),
    }
}
