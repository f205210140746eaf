//! The slices of the hub, and the placements that a change of them concerns.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use super::slice::SliceFacts;
use crate::doubt::Removal;
use crate::facts::{Doubt, Owner};
use crate::view::Key;

/// The slices of the hub. Without the feature gate they are never listed.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    /// By namespace, then by name.
    stored: HashMap<String, BTreeMap<String, SliceFacts>>,
    /// They have been listed, so one that is not here does not exist.
    are_listed: bool,
    /// It was logged that the hub does not serve them.
    is_missed: bool,
}

// === impl Slices ===

impl Slices {
    /// The slices of a namespace. `None` if they have not been listed.
    pub(crate) fn of(&self, namespace: &str) -> Option<&BTreeMap<String, SliceFacts>> {
        static NOTHING: BTreeMap<String, SliceFacts> = BTreeMap::new();
        let stored = self.stored.get(namespace).unwrap_or(&NOTHING);
        self.are_listed.then_some(stored)
    }

    /// Applies a slice. Returns the placements that the change may concern. Not all of them exist.
    pub(crate) fn apply(&mut self, namespace: &str, name: &str, slice: SliceFacts) -> Vec<Key> {
        let now = placements(&slice);
        let names = self.stored.entry(namespace.to_owned()).or_default();
        let former = names.insert(name.to_owned(), slice);
        keys(namespace, former.map(|it| placements(&it)), now)
    }

    /// Removes a slice. Returns the placements that the change may concern.
    pub(crate) fn remove(&mut self, namespace: &str, name: &str) -> Vec<Key> {
        let Some(names) = self.stored.get_mut(namespace) else {
            return Vec::new();
        };
        let former = names.remove(name);
        if names.is_empty() {
            self.stored.remove(namespace);
        }
        let former = former.map(|it| placements(&it));
        keys(namespace, former, BTreeSet::new())
    }

    /// Records that the slices of the hub have been listed. Returns true if that is news.
    pub(crate) fn listed(&mut self) -> bool {
        self.is_missed = false;
        !std::mem::replace(&mut self.are_listed, true)
    }

    /// Records that the hub does not serve slices. Returns true if that is news.
    pub(crate) fn missing(&mut self) -> bool {
        self.are_listed = false;
        !std::mem::replace(&mut self.is_missed, true)
    }

    /// Notes that a removal may still be carried out, although it seemed to fail.
    pub(crate) fn doubt(&mut self, namespace: &str, removal: &Removal, now: Timestamp) {
        let names = self.stored.get_mut(namespace);
        if let Some(it) = names.and_then(|all| all.get_mut(&removal.decision)) {
            it.doubt = Some(Doubt::new(&it.clusters, removal, now));
        }
    }

    /// The slices of a placement that a write with an unknown outcome may still change.
    pub(crate) fn doubtful(&self, owner: Owner<'_>, now: Timestamp) -> Vec<(String, Timestamp)> {
        let own = self
            .of(owner.namespace)
            .into_iter()
            .flat_map(|all| all.values());
        let doubts = own.filter(|it| it.belongs_to(owner)).filter_map(|it| {
            let doubt = it.doubt.as_ref().filter(|doubt| now < doubt.until)?;
            Some((it.name.clone(), doubt.until))
        });
        doubts.collect()
    }
}

/// The placements that a slice concerns: by its labels, its controller, and its name, which it takes from a slice of the placement.
fn placements(slice: &SliceFacts) -> BTreeSet<String> {
    let labelled = slice.placement();
    let controller = slice.controller().map(|it| it.name.as_str());
    let named = slice.name.rsplit_once("-decision-").map(|(it, _)| it);
    let all = [labelled, controller, named].into_iter().flatten();
    all.map(str::to_owned).collect()
}

fn keys(namespace: &str, former: Option<BTreeSet<String>>, now: BTreeSet<String>) -> Vec<Key> {
    let all: BTreeSet<_> = former.into_iter().flatten().chain(now).collect();
    let keys = all.iter().map(|name| Key::new(namespace, name));
    keys.collect()
}
