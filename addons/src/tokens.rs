//! The stored objects with which agents of add-ons ask for tokens.

use std::collections::BTreeMap;

use berth_addons_core::tokens::{Kind, Stored};

use super::keys::{Place, place};

/// The objects, by kind, and by the cluster and the add-on that their names say.
#[derive(Debug, Default)]
pub(super) struct Tokens([BTreeMap<Place, Stored>; 3]);

// === impl Tokens ===

impl Tokens {
    /// Applies an object, or its end. `object`: its namespace and name. Returns its cluster and its add-on.
    pub(super) fn set(
        &mut self,
        kind: Kind,
        object: &Place,
        stored: Option<Stored>,
    ) -> Option<Place> {
        let at = place(&object.0, kind.addon(&object.1)?);
        let all = &mut self.0[kind as usize];
        let old = all.remove(&at);
        let is_known = old.is_some() || stored.is_some();
        if let Some(stored) = stored {
            all.insert(at.clone(), stored);
        }
        is_known.then_some(at)
    }

    /// The objects of an add-on on a cluster, in the order of [`Kind::ALL`].
    pub(super) fn of(&self, at: &Place) -> [Option<&Stored>; 3] {
        self.0.each_ref().map(|all| all.get(at))
    }

    /// Returns whether an add-on on a cluster has any object.
    pub(super) fn has(&self, at: &Place) -> bool {
        self.0.iter().any(|all| all.contains_key(at))
    }

    /// The add-ons with objects on a cluster.
    pub(super) fn on<'a>(&'a self, cluster: &'a str) -> impl Iterator<Item = &'a Place> {
        let all = self.0.iter();
        all.flat_map(move |all| {
            let from = all.range(place(cluster, "")..);
            from.map(|(at, _)| at)
                .take_while(move |(it, _)| it == cluster)
        })
    }

    /// All add-ons with objects, some more than once.
    pub(super) fn all(&self) -> impl Iterator<Item = &Place> {
        self.0.iter().flat_map(BTreeMap::keys)
    }
}
