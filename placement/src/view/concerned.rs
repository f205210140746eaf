//! Which placements a change concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_placement_core::Cluster;
use jiff::Timestamp;

use super::{Key, View};
use crate::facts::{PlacementFacts, Reads};

/// The steps of a placement on a cluster up to which a change of the cluster is judged before the placement is evaluated.
const MOST_TESTS: u64 = 200;

/// Two states of a cluster that a placement may select.
struct Change<'a> {
    old: &'a Cluster,
    new: &'a Cluster,
    /// Every predicate without CEL expressions matches both of them, or neither.
    are_predicates_alike: bool,
    now: Timestamp,
}

impl View {
    /// Wake the placements that may select from a set.
    pub(super) fn wake_users(&mut self, set: &str) {
        let namespaces = self.bound.get(set).cloned().unwrap_or_default();
        for namespace in &namespaces {
            self.wake_those(namespace, |_, placement| placement.wants(set));
        }
    }

    /// Wake all placements of a namespace: its number of bindings changes, which decides about their conditions.
    pub(super) fn wake_all_in(&mut self, namespace: &str) {
        self.wake_those(namespace, |_, _| true);
    }

    /// Wake all placements of the namespaces with a binding of a set, which was created or deleted.
    pub(super) fn wake_all_bound(&mut self, set: &str) {
        for namespace in &self.bound.get(set).cloned().unwrap_or_default() {
            self.wake_all_in(namespace);
        }
    }

    /// Wake the placements whose result depends on the difference between two states of a cluster. `was_in` and `is_in`
    /// are the sets of the cluster before and after.
    pub(super) fn wake_for_cluster(
        &mut self,
        (old, new): (Option<&Cluster>, Option<&Cluster>),
        (was_in, is_in): (&BTreeSet<String>, &BTreeSet<String>),
        now: Timestamp,
    ) {
        let mut namespaces = BTreeSet::new();
        for set in was_in.union(is_in) {
            namespaces.extend(self.bound.get(set).into_iter().flatten().cloned());
        }
        let stays = was_in == is_in;
        let change = old.zip(new).map(|(old, new)| Change::new(old, new, now));
        for namespace in &namespaces {
            let bound = |sets: &BTreeSet<String>| match self.bindings.get(namespace) {
                Some(bindings) => sets.intersection(bindings).cloned().collect(),
                None => Vec::new(),
            };
            let (was_in, is_in) = (bound(was_in), bound(is_in));
            self.wake_those(namespace, |view, placement| {
                let is_of = |sets: &[String]| sets.iter().any(|set| placement.wants(set));
                let was_member = is_of(&was_in);
                let is_member = if stays { was_member } else { is_of(&is_in) };
                match (was_member, is_member) {
                    (false, false) => false,
                    (true, true) => change
                        .as_ref()
                        .is_none_or(|change| change.concerns(view, placement)),
                    _ => true,
                }
            });
        }
    }

    /// Wake the placements whose result depends on the labels, claims or amounts in which two states of a cluster differ. Nothing else of it
    /// that placements read has changed.
    pub(super) fn wake_for_difference(
        &mut self,
        slot: usize,
        old: &Cluster,
        new: &Cluster,
        now: Timestamp,
    ) {
        let readers = self.readers.of(old, new);
        if readers.is_empty() {
            return;
        }
        self.journal.note(slot);
        let change = Change::new(old, new, now);
        let is_concerned = |key: &Key| {
            let placement = self.placement(key).filter(|it| !it.is_left_alone());
            placement.is_some_and(|it| {
                self.sets_of(it).any(|set| set.members.has(slot)) && change.concerns(self, it)
            })
        };
        let keys: Vec<_> = readers.into_iter().filter(is_concerned).collect();
        self.wakes.extend(keys);
    }

    /// Wake the placements that may select from a set whose members are unknown: they may have decided for the cluster.
    pub(super) fn wake_users_of_broken_sets(&mut self) {
        let broken = self.sets.iter().filter(|(_, set)| set.membership.is_err());
        let broken: Vec<_> = broken.map(|(name, _)| name.clone()).collect();
        for set in &broken {
            self.wake_users(set);
        }
    }

    /// Wake the placements that read the AddOnPlacementScores of this name of a cluster.
    pub(super) fn wake_readers(&mut self, cluster: &str, scores: &str) {
        let Some(slot) = self.clusters.find(cluster) else {
            return;
        };
        let of = self.sets.iter().filter(|(_, set)| set.members.has(slot));
        let namespaces = of.filter_map(|(name, _)| self.bound.get(name)).flatten();
        let namespaces: BTreeSet<_> = namespaces.cloned().collect();
        for namespace in &namespaces {
            self.wake_those(namespace, |view, placement| {
                let mut sets = view.sets_of(placement);
                placement.reads.scores(scores) && sets.any(|set| set.members.has(slot))
            });
        }
    }

    /// Wake the placements that read whole ManagedClusters.
    pub(crate) fn wake_readers_of_objects(&mut self) {
        self.wakes.extend(self.cel.iter().cloned());
    }

    /// Wake the placements that read the whole ManagedCluster in this slot.
    pub(super) fn wake_readers_of_object(&mut self, slot: usize) {
        let reads = |key: &&Key| {
            let placement = self.placement(key);
            placement.is_some_and(|it| self.sets_of(it).any(|set| set.members.has(slot)))
        };
        let keys: Vec<_> = self.cel.iter().filter(reads).cloned().collect();
        self.wakes.extend(keys);
    }

    fn wake_those(&mut self, namespace: &str, is_one: impl Fn(&Self, &PlacementFacts) -> bool) {
        let all = self.placements.get(namespace).into_iter().flatten();
        let those =
            all.filter(|(_, placement)| !placement.is_left_alone() && is_one(self, placement));
        let namespace: Arc<str> = namespace.into();
        let keys = those.map(|(name, _)| Key {
            namespace: namespace.clone(),
            name: name.clone(),
        });
        let keys: Vec<_> = keys.collect();
        self.wakes.extend(keys);
    }
}

// === impl Change ===

impl<'a> Change<'a> {
    fn new(old: &'a Cluster, new: &'a Cluster, now: Timestamp) -> Self {
        let are_predicates_alike = old.labels == new.labels && old.claims == new.claims;
        Self {
            old,
            new,
            are_predicates_alike,
            now,
        }
    }

    /// Returns whether the result of a placement depends on the difference. It may select the cluster.
    fn concerns(&self, view: &View, placement: &PlacementFacts) -> bool {
        let Self { old, new, now, .. } = *self;
        let (reads, rules) = (&placement.reads, &placement.rules);
        // To evaluate it has a budget, and to ask this has none.
        if reads.everything || rules.tests() > MOST_TESTS {
            return true;
        }
        // Most placements of a large hub end here.
        if self.are_predicates_alike && rules.matches(new) == Some(false) {
            return false;
        }
        let is_selected = || {
            let listed = view.listed_for(rules.namespace(), rules.name());
            listed.contains(&new.name)
        };
        let passes = |cluster| rules.passes(cluster, &is_selected, now);
        let after = passes(new);
        passes(old) != after || (matches!(after, Some(Ok(_))) && reads_difference(reads, old, new))
    }
}

fn reads_difference(reads: &Reads, old: &Cluster, new: &Cluster) -> bool {
    let differs = |key: &String| old.labels.get(key) != new.labels.get(key);
    let labels = || old.labels.keys().chain(new.labels.keys());
    let other = |name: &String| old.claims.get(name) != new.claims.get(name);
    let claims = || old.claims.keys().chain(new.claims.keys());
    (reads.cpu && old.cpu != new.cpu)
        || (reads.memory && old.memory != new.memory)
        || (old.labels != new.labels && labels().any(|key| reads.label(key) && differs(key)))
        || (old.claims != new.claims && claims().any(|name| reads.claim(name) && other(name)))
}
