//! Which kinds are watched on the managed cluster, and in which namespaces: those of the manifests.
//!
//! One watch for each kind and namespace in use, or one for the whole kind once it is used in more than [`MOST_NAMESPACES`] namespaces.

use std::collections::{BTreeSet, HashMap};

use berth_api::GroupVersionResource;

/// A kind that is used in more namespaces is watched in all of them.
const MOST_NAMESPACES: usize = 8;

/// A row that is not answered is tried this many times before its objects are read at intervals.
const TRIES: u32 = 3;

/// A kind in one version. Its objects are tracked apart from those of another version.
pub(crate) type KindId = u32;

/// A row of the table of kinds.
pub type RowId = u32;

/// What a row watches. `namespace`: `None` for all objects of the kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub kind: KindId,
    pub namespace: Option<Box<str>>,
}

/// What is known about a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It has not been listed yet.
    Waiting {
        /// How many times that was tried.
        failures: u32,
    },
    /// Its objects are known.
    Listed,
    /// It cannot be listed or watched. Its objects are read at intervals.
    Polled,
}

/// The rows.
#[derive(Debug, Default)]
pub struct Rows {
    kinds: Vec<GroupVersionResource>,
    ids: HashMap<GroupVersionResource, KindId>,
    /// For each kind the namespaces in use, with the number of manifests. An empty one: cluster-scoped.
    used: HashMap<KindId, HashMap<Box<str>, usize>>,
    /// Kinds that may not be watched in all namespaces.
    apart: BTreeSet<KindId>,
    rows: HashMap<RowId, (Place, Sight)>,
    places: HashMap<Place, RowId>,
    next: RowId,
}

/// Rows to be added and removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: Vec<(RowId, Place)>,
    pub removed: Vec<RowId>,
}

// === impl Sight ===

impl Sight {
    /// Nothing was tried yet.
    pub const NONE: Self = Self::Waiting { failures: 0 };

    /// Notes that a list or a watch failed with this code (0: no response). Returns true if the objects are read at intervals from now on.
    ///
    /// What was listed still holds while the API server is away or busy: the watch goes on later. A row that was not listed yet must not
    /// wait for that: its ManifestWorks may have the remedy, or objects of other kinds.
    pub fn fails(&mut self, code: u16) -> bool {
        let is_brief = matches!(code, 0 | 408..=410 | 429);
        let turns = match self {
            Self::Polled => false,
            Self::Listed => (400..500).contains(&code) && !is_brief,
            Self::Waiting { failures } => {
                *failures += 1;
                !is_brief || *failures >= TRIES
            }
        };
        if turns {
            *self = Self::Polled;
        }
        turns
    }

    /// Returns true if the row has not been listed yet.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self, Self::Waiting { .. })
    }
}

// === impl Rows ===

impl Rows {
    /// The number of a kind.
    pub fn kind(&mut self, resource: &GroupVersionResource) -> KindId {
        if let Some(id) = self.ids.get(resource) {
            return *id;
        }
        let id = KindId::try_from(self.kinds.len()).unwrap_or(KindId::MAX);
        self.kinds.push(resource.clone());
        self.ids.insert(resource.clone(), id);
        id
    }

    /// The resource of a kind.
    pub fn resource(&self, kind: KindId) -> Option<&GroupVersionResource> {
        self.kinds.get(usize::try_from(kind).ok()?)
    }

    /// Notes a manifest of this kind in this namespace (empty: cluster-scoped).
    pub(crate) fn add(&mut self, kind: KindId, namespace: &str) {
        let used = self.used.entry(kind).or_default();
        *used.entry(namespace.into()).or_default() += 1;
    }

    /// Notes that a manifest of this kind in this namespace is gone.
    pub fn remove(&mut self, kind: KindId, namespace: &str) {
        let Some(used) = self.used.get_mut(&kind) else {
            return;
        };
        if let Some(count) = used.get_mut(namespace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                used.remove(namespace);
            }
        }
        if used.is_empty() {
            self.used.remove(&kind);
        }
    }

    /// Brings the rows up to date with what is used.
    pub fn changes(&mut self) -> Changes {
        let mut wanted = BTreeSet::new();
        for (kind, used) in &self.used {
            let namespaces = used.keys();
            if used.len() > MOST_NAMESPACES && !self.apart.contains(kind) {
                wanted.insert(Place {
                    kind: *kind,
                    namespace: None,
                });
                continue;
            }
            wanted.extend(namespaces.map(|namespace| Place {
                kind: *kind,
                namespace: (!namespace.is_empty()).then(|| namespace.clone()),
            }));
        }
        let mut changes = Changes::default();
        self.places.retain(|place, row| {
            let stays = wanted.contains(place);
            if !stays {
                self.rows.remove(row);
                changes.removed.push(*row);
            }
            stays
        });
        for place in wanted {
            if self.places.contains_key(&place) {
                continue;
            }
            let row = self.next;
            self.next = self.next.wrapping_add(1);
            self.places.insert(place.clone(), row);
            self.rows.insert(row, (place.clone(), Sight::NONE));
            changes.added.push((row, place));
        }
        changes
    }

    /// The row of an object.
    pub(crate) fn row_of(&self, kind: KindId, namespace: &str) -> Option<(RowId, &Sight)> {
        let place = |namespace| Place { kind, namespace };
        let apart = place((!namespace.is_empty()).then(|| namespace.into()));
        let row = (self.places.get(&apart)).or_else(|| self.places.get(&place(None)))?;
        self.rows.get(row).map(|(_, sight)| (*row, sight))
    }

    /// What is known about a row.
    pub fn sight(&self, row: RowId) -> Option<&Sight> {
        self.rows.get(&row).map(|(_, sight)| sight)
    }

    /// What a row watches.
    pub fn place(&self, row: RowId) -> Option<&Place> {
        self.rows.get(&row).map(|(place, _)| place)
    }

    /// Notes what is known about a row. Returns true if that is news.
    pub(crate) fn sees(&mut self, row: RowId, sight: Sight) -> bool {
        let Some((_, known)) = self.rows.get_mut(&row) else {
            return false;
        };
        let is_news = *known != sight;
        *known = sight;
        is_news
    }

    /// Notes that a list or a watch of a row failed with this code. Returns true if its objects are read at intervals from now on.
    pub fn fails(&mut self, row: RowId, code: u16) -> bool {
        let known = self.rows.get_mut(&row);
        known.is_some_and(|(_, sight)| sight.fails(code))
    }

    /// Watches a kind in single namespaces only, as the API server refuses to list it in all. Returns true if that is news.
    pub(crate) fn set_apart(&mut self, row: RowId) -> bool {
        let Some((place, _)) = self.rows.get(&row) else {
            return false;
        };
        let is_of_namespaces =
            (self.used.get(&place.kind)).is_some_and(|used| !used.contains_key(""));
        place.namespace.is_none() && is_of_namespaces && self.apart.insert(place.kind)
    }

    /// The number of rows that are polled.
    pub fn polled(&self) -> usize {
        let rows = self.rows.values();
        rows.filter(|(_, sight)| *sight == Sight::Polled).count()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn maps() -> GroupVersionResource {
        GroupVersionResource::new("", "v1", "configmaps")
    }

    #[test]
    fn a_namespace_is_watched_while_a_manifest_is_in_it() {
        let mut rows = Rows::default();
        let kind = rows.kind(&maps());
        assert_eq!(rows.kind(&maps()), kind);
        rows.add(kind, "a");
        rows.add(kind, "a");
        let added = rows.changes().added;
        assert_eq!(added.len(), 1);
        assert_eq!(added[0].1.namespace.as_deref(), Some("a"));
        assert_eq!(rows.changes(), Changes::default());
        assert_eq!(rows.row_of(kind, "a"), Some((0, &Sight::NONE)));
        assert!(rows.sees(0, Sight::Listed) && !rows.sees(0, Sight::Listed));
        rows.remove(kind, "a");
        assert_eq!(rows.changes(), Changes::default());
        rows.remove(kind, "a");
        assert_eq!(rows.changes().removed, [0]);
        assert_eq!(rows.row_of(kind, "a"), None);
    }

    #[test]
    fn a_kind_in_many_namespaces_is_watched_in_all_unless_that_is_refused() {
        let mut rows = Rows::default();
        let kind = rows.kind(&maps());
        for at in 0..9 {
            rows.add(kind, &format!("n{at}"));
        }
        let added = rows.changes().added;
        assert_eq!((added.len(), added[0].1.namespace.as_deref()), (1, None));
        assert_eq!(rows.row_of(kind, "n3").unwrap().0, added[0].0);
        assert!(rows.set_apart(added[0].0) && !rows.set_apart(added[0].0));
        let changes = rows.changes();
        assert_eq!((changes.added.len(), changes.removed.len()), (9, 1));
    }

    #[test]
    fn a_row_that_cannot_be_listed_is_polled() {
        for code in [401, 403, 404, 500, 503, 504] {
            let mut sight = Sight::NONE;
            assert!(sight.fails(code) && !sight.fails(code), "{code}");
            assert_eq!(sight, Sight::Polled);
        }
        for code in [0, 408, 409, 410, 429] {
            let mut sight = Sight::NONE;
            let tries = [(); 4].map(|()| sight.fails(code));
            assert_eq!(tries, [false, false, true, false], "{code}");
            assert_eq!(sight, Sight::Polled);
        }
    }

    #[test]
    fn a_row_that_was_listed_is_polled_when_its_watch_is_refused() {
        for (code, turns) in [
            (0, false),
            (429, false),
            (503, false),
            (401, true),
            (403, true),
        ] {
            assert_eq!(Sight::Listed.fails(code), turns, "{code}");
        }
    }

    #[test]
    fn a_kind_without_namespaces_has_one_row() {
        let mut rows = Rows::default();
        let kind = rows.kind(&GroupVersionResource::new("", "v1", "namespaces"));
        rows.add(kind, "");
        let added = rows.changes().added;
        assert_eq!(added[0].1.namespace, None);
        assert!(!rows.set_apart(added[0].0), "there is no other way");
    }
}
