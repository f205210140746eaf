//! The last observed state of the hub: facts, what is derived from them, and the placements that a change of them concerns.
//!
//! # Guarantees
//! - Members of sets and counts of decisions are kept up to date with each change, and are not computed anew for an evaluation.
//! - A change wakes every placement whose result it can change, except for decisions of other placements: those are read (by the
//!   prioritizer Balance) when a placement is evaluated for another reason.
//! - While the decisions of a placement are being written, the wanted ones count for other placements. So evaluations at the same time
//!   give the same results as one after the other.

mod apart;
mod balance;
mod changes;
mod clusters;
mod concerned;
mod evaluation;
mod journal;
mod kept;
mod matching;
mod members;
mod readers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use berth_api::cluster_set::Membership;
use jiff::Timestamp;

use self::apart::MostSteps;
pub(crate) use self::apart::{Apart, Evaluated};
use self::balance::{Balance, difference};
pub(crate) use self::changes::Circumstances;
use self::clusters::Clusters;
use self::journal::Journal;
use self::kept::Kept;
use self::matching::AllScores;
pub(crate) use self::matching::{Known, Matching};
use self::members::Members;
use self::readers::Readers;
use crate::doubt::Removal;
use crate::facts::{DecisionFacts, Doubt, PlacementFacts};
use crate::wanted::WantedClusters;

/// A placement, by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// The last observed state of the hub.
#[derive(Debug, Default)]
pub(crate) struct View {
    clusters: Clusters,
    sets: BTreeMap<String, Set>,
    /// The names of the ManagedClusterSetBindings, by namespace.
    bindings: HashMap<String, BTreeSet<String>>,
    /// The namespaces with a binding of a set, by the set's name.
    bound: HashMap<String, BTreeSet<String>>,
    /// The placements with CEL expressions, except those that are left alone. While there are some, clusters have their objects.
    cel: HashSet<Key>,
    /// By namespace, then by name.
    placements: HashMap<String, BTreeMap<Arc<str>, PlacementFacts>>,
    /// ManagedClusters are being listed again, for whole ones that were left out.
    is_taking_in: bool,
    decisions: HashMap<String, Decisions>,
    readers: Readers,
    balance: Balance,
    /// The clusters that a placement is to have, while its decisions are being written. They are counted in `balance` instead of the
    /// stored ones.
    pending: HashMap<Key, Vec<String>>,
    /// The AddOnPlacementScores, by namespace (the cluster's name) and name.
    scores: Arc<AllScores>,
    wakes: Vec<Key>,
    /// The clusters whose evaluation may have changed.
    journal: Journal,
    kept: Kept,
    /// The steps of an evaluation on the view.
    most_steps: MostSteps,
    /// The last version of a set.
    set_versions: u64,
}

/// A ManagedClusterSet.
#[derive(Debug)]
struct Set {
    /// Grows with each change of the selector.
    version: u64,
    /// Shared with threads that evaluate placements.
    membership: Arc<Result<Membership, String>>,
    /// Its clusters, except those that are being deleted.
    members: Members,
}

/// The PlacementDecisions of a namespace.
#[derive(Debug, Default)]
struct Decisions {
    by_name: BTreeMap<String, DecisionFacts>,
    /// By the placement that the label names.
    of: HashMap<String, Own>,
}

/// The PlacementDecisions of a placement.
#[derive(Debug, Default)]
struct Own {
    names: BTreeSet<String>,
    /// The clusters that they list.
    clusters: HashSet<String>,
}

// === impl Key ===

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

// === impl View ===

impl View {
    /// The placements that changes since the last call concern.
    pub(crate) fn wakes(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.wakes)
    }

    /// Returns whether a placement reads whole ManagedClusters.
    pub(crate) fn needs_objects(&self) -> bool {
        !self.cel.is_empty()
    }

    /// Drops the whole ManagedClusters: no placement reads them any more.
    pub(crate) fn drop_objects(&mut self) {
        self.clusters.drop_objects();
    }

    /// Returns whether all ManagedClusters are to be listed again, since whole ones were left out that fit by now; once until they are listed.
    pub(crate) fn takes_in(&mut self) -> bool {
        !std::mem::replace(&mut self.is_taking_in, self.clusters.has_room()) && self.is_taking_in
    }

    /// All placements.
    pub(crate) fn all(&self) -> Vec<Key> {
        let all = self.placements.iter();
        let all = all.flat_map(|(namespace, names)| {
            let namespace: Arc<str> = namespace.as_str().into();
            names.keys().map(move |name| Key {
                namespace: namespace.clone(),
                name: name.clone(),
            })
        });
        all.collect()
    }

    /// A placement.
    pub(crate) fn placement(&self, key: &Key) -> Option<&PlacementFacts> {
        self.placements.get(&*key.namespace)?.get(&key.name)
    }

    /// The PlacementDecisions of a namespace, by name.
    pub(crate) fn decisions(&self, namespace: &str) -> Option<&BTreeMap<String, DecisionFacts>> {
        Some(&self.decisions.get(namespace)?.by_name)
    }

    /// Notes that a removal may still be carried out, although it seemed to fail.
    pub(crate) fn doubt(&mut self, namespace: &str, removal: &Removal, now: Timestamp) {
        let decisions = self.decisions.get_mut(namespace);
        if let Some(it) = decisions.and_then(|all| all.by_name.get_mut(&removal.decision)) {
            it.doubt = Some(Doubt::new(it.clusters(), removal, now));
        }
    }

    /// The PlacementDecisions of a placement that a write with an unknown outcome may still change.
    pub(crate) fn doubtful(&self, key: &Key, now: Timestamp) -> Vec<(String, Timestamp)> {
        let doubts = self.own(key).filter_map(|it| {
            let doubt = it.doubt.as_ref().filter(|doubt| now < doubt.until)?;
            Some((it.name.clone(), doubt.until))
        });
        doubts.collect()
    }

    /// The PlacementDecisions with the label of a placement.
    pub(crate) fn own<'a>(&'a self, key: &Key) -> impl Iterator<Item = &'a DecisionFacts> {
        let in_namespace = self.decisions.get(&*key.namespace);
        let own = in_namespace.and_then(|all| Some((all, all.of.get(&*key.name)?)));
        own.into_iter().flat_map(|(all, own)| {
            let names = own.names.iter();
            names.filter_map(|name| all.by_name.get(name))
        })
    }

    /// Counts the wanted clusters as the placement's decisions until [`Self::written`], if others are stored.
    pub(crate) fn writes(&mut self, key: &Key, wanted: &WantedClusters) {
        self.written(key);
        let listed = self.listed_for(&key.namespace, &key.name);
        let (mut number, mut are_listed) = (0, true);
        for name in wanted.names() {
            number += 1;
            are_listed &= listed.contains(name);
        }
        let entries: usize = self.own(key).map(|it| it.clusters().len()).sum();
        if are_listed && number == entries {
            return;
        }
        let clusters: Vec<_> = wanted.names().cloned().collect();
        let stored: Vec<_> = self
            .own(key)
            .flat_map(|it| it.clusters().to_vec())
            .collect();
        self.recount(&stored, &clusters);
        self.pending.insert(key.clone(), clusters);
    }

    /// Counts the stored decisions of the placement again.
    pub(crate) fn written(&mut self, key: &Key) {
        let Some(pending) = self.pending.remove(key) else {
            return;
        };
        let stored: Vec<_> = self
            .own(key)
            .flat_map(|it| it.clusters().to_vec())
            .collect();
        self.recount(&pending, &stored);
    }

    /// Counts other decisions of a placement.
    fn recount(&mut self, old: &[String], new: &[String]) {
        let (gone, come) = difference(old, new);
        for name in gone.iter().chain(&come) {
            if let Some(slot) = self.clusters.find(name) {
                self.journal.note(slot);
            }
        }
        self.balance.remove(gone);
        self.balance.add(come);
    }
}
