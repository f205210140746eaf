//! Applies changes of the hub's objects to the view.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_api::cluster_set::Membership;
use berth_placement_core::{Cluster, Scores};
use jiff::Timestamp;

use super::balance::difference;
use super::clusters::Difference;
use super::members::Members;
use super::{Key, Set, View};
use crate::facts::{DecisionFacts, PlacementFacts};
use crate::kinds::{Fact, Kind};

/// How an object became known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    /// It is the response to a write of this controller, which needs no further evaluation.
    pub(crate) is_own: bool,
    /// Its kind is being listed.
    pub(crate) is_listing: bool,
    pub(crate) now: Timestamp,
}

impl View {
    /// Applies an object.
    pub(crate) fn apply(
        &mut self,
        (namespace, name): (&str, &str),
        fact: Fact,
        Circumstances {
            is_own,
            is_listing,
            now,
        }: Circumstances,
    ) {
        match fact {
            Fact::Placement(placement) => {
                self.placement_changed(namespace, name, *placement, is_own)
            }
            Fact::Decision(decision) => {
                self.decision_changed(namespace, name, Some(decision), is_own)
            }
            Fact::Cluster(cluster) => self.cluster_changed(cluster, is_listing, now),
            Fact::Set(membership) => self.set_changed(name, membership),
            Fact::Binding => self.bind(namespace, name),
            Fact::Scores(scores) => self.scores_changed(namespace, name, Some(scores)),
            // They are kept beside the view: no evaluation reads them.
            Fact::Slice(_) => {}
        }
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, kind: Kind, namespace: &str, name: &str, now: Timestamp) {
        match kind {
            Kind::Placement => {
                let key = Key::new(namespace, name);
                if let Some(names) = self.placements.get_mut(namespace) {
                    if let Some(old) = names.remove(name) {
                        self.readers.remove(&key, &old.reads);
                    }
                    if names.is_empty() {
                        self.placements.remove(namespace);
                    }
                }
                self.cel.remove(&key);
                self.kept.take(&key);
            }
            Kind::Decision => self.decision_changed(namespace, name, None, false),
            Kind::Cluster => self.cluster_gone(name, now),
            Kind::Set => {
                if self.sets.remove(name).is_some() {
                    self.wake_all_bound(name);
                }
            }
            Kind::Binding => self.unbind(namespace, name),
            Kind::Scores => self.scores_changed(namespace, name, None),
            Kind::Slice => {}
        }
    }

    fn placement_changed(
        &mut self,
        namespace: &str,
        name: &str,
        mut placement: PlacementFacts,
        is_own: bool,
    ) {
        let key = Key::new(namespace, name);
        if placement.rules.uses_cel() && !placement.is_left_alone() {
            self.cel.insert(key.clone());
        } else {
            self.cel.remove(&key);
        }
        let names = self.placements.entry(namespace.to_owned()).or_default();
        let (name, reads) = (key.name.clone(), placement.reads.clone());
        let same = names.get(&name).filter(|old| placement.has_spec_of(old));
        let is_same = same.is_some();
        if let Some(old) = same {
            // What CEL expressions made of clusters is known by the rules.
            placement.rules = old.rules.clone();
        }
        let old = names.insert(name, placement);
        if !is_same {
            if let Some(old) = old {
                self.readers.remove(&key, &old.reads);
            }
            self.readers.add(&key, &reads);
            self.kept.take(&key);
        }
        if !is_own {
            self.wakes.push(key);
        }
    }

    /// Sets or removes a PlacementDecision. It concerns the placements whose label it has or had, and those that would give one of
    /// their PlacementDecisions its name.
    fn decision_changed(
        &mut self,
        namespace: &str,
        name: &str,
        new: Option<DecisionFacts>,
        is_own: bool,
    ) {
        let all = self.decisions.entry(namespace.to_owned()).or_default();
        let of = |it: &DecisionFacts| it.listed.placement.clone();
        let placement = new.as_ref().and_then(of);
        let old = match new {
            Some(new) => all.by_name.insert(name.to_owned(), new),
            None => all.by_name.remove(name),
        };
        let former = old.as_ref().and_then(of);
        let is_counted = |placement: &Option<String>| {
            let key = placement.as_ref().map(|it| Key::new(namespace, it));
            key.is_none_or(|key| !self.pending.contains_key(&key))
        };
        let listed =
            |it: Option<&DecisionFacts>| it.map_or_else(Vec::new, |it| it.clusters().to_vec());
        let (listed_before, listed_now) = (listed(old.as_ref()), listed(all.by_name.get(name)));
        let is_same_placement =
            former == placement || old.is_none() || !all.by_name.contains_key(name);
        let (gone, come) = if is_same_placement {
            difference(&listed_before, &listed_now)
        } else {
            (listed_before.iter().collect(), listed_now.iter().collect())
        };
        for it in gone.iter().chain(&come) {
            if let Some(slot) = self.clusters.find(it) {
                self.journal.note(slot);
            }
        }
        if is_counted(&former) {
            self.balance.remove(gone);
        }
        if is_counted(&placement) {
            self.balance.add(come);
        }
        for it in [&former, &placement].into_iter().flatten() {
            let own = all.of.entry(it.clone()).or_default();
            if Some(it) == placement.as_ref() {
                own.names.insert(name.to_owned());
            } else {
                own.names.remove(name);
            }
            let listed = own.names.iter().filter_map(|name| all.by_name.get(name));
            own.clusters = listed.flat_map(|it| it.clusters().to_vec()).collect();
            if own.names.is_empty() {
                all.of.remove(it);
            }
        }
        if all.by_name.is_empty() {
            self.decisions.remove(namespace);
        }
        if is_own {
            return;
        }
        let by_name = name.rsplit_once("-decision-").map(|(it, _)| it.to_owned());
        let concerned: BTreeSet<_> = [former, placement, by_name].into_iter().flatten().collect();
        let exists = |it: &String| {
            let names = self.placements.get(namespace);
            names.is_some_and(|names| names.contains_key(it.as_str()))
        };
        let keys = concerned.iter().filter(|it| exists(it));
        let keys: Vec<_> = keys.map(|it| Key::new(namespace, it)).collect();
        self.wakes.extend(keys);
    }

    fn cluster_changed(&mut self, mut cluster: Cluster, is_listing: bool, now: Timestamp) {
        if !self.needs_objects() {
            cluster.object = None;
        }
        self.clusters.bound(&mut cluster);
        match self.clusters.difference(&cluster) {
            Difference::Nothing => return,
            Difference::Object => return self.object_changed(cluster, is_listing),
            Difference::Facts => {}
        }
        let name = cluster.name.clone();
        let new = Arc::new(cluster);
        let old = self.clusters.get(&name);
        let stays =
            old.is_some_and(|old| (old.is_deleting, &old.labels) == (new.is_deleting, &new.labels));
        let was_in = if stays {
            BTreeSet::new()
        } else {
            self.sets_with(&name)
        };
        let (slot, old) = self.clusters.insert(new.clone());
        let is_in = if stays {
            BTreeSet::new()
        } else {
            for set in self.sets.values_mut() {
                set.members.set(slot, set.has(&new));
            }
            self.sets_with(&name)
        };
        if let Some(old) = &old
            && was_in == is_in
            && (old.is_deleting, &old.taints) == (new.is_deleting, &new.taints)
        {
            return self.wake_for_difference(slot, old, &new, now);
        }
        self.journal.note(slot);
        let (was_in, is_in) = if stays {
            let sets = self.sets_with(&name);
            (sets.clone(), sets)
        } else {
            (was_in, is_in)
        };
        self.wake_for_cluster((old.as_deref(), Some(&new)), (&was_in, &is_in), now);
        if old.is_none_or(|old| old.is_deleting != new.is_deleting) {
            self.wake_users_of_broken_sets();
        }
    }

    /// Sets the whole object of a cluster of which nothing else changed. When the objects of all clusters are being listed, for the first
    /// placement that reads them, it wakes no placement: the end of the list does.
    fn object_changed(&mut self, cluster: Cluster, is_listing: bool) {
        let (slot, old) = self.clusters.insert(Arc::new(cluster));
        let was_known = old.is_some_and(|old| old.object.is_some());
        if was_known || !is_listing {
            self.wake_readers_of_object(slot);
        }
    }

    fn cluster_gone(&mut self, name: &str, now: Timestamp) {
        let was_in = self.sets_with(name);
        if let Some(slot) = self.clusters.find(name) {
            self.journal.note(slot);
            for set in self.sets.values_mut() {
                set.members.set(slot, false);
            }
        }
        let old = self.clusters.remove(name);
        self.wake_for_cluster((old.as_deref(), None), (&was_in, &BTreeSet::new()), now);
        self.wake_users_of_broken_sets();
    }

    /// The names of the sets that a cluster belongs to.
    fn sets_with(&self, cluster: &str) -> BTreeSet<String> {
        let Some(slot) = self.clusters.find(cluster) else {
            return BTreeSet::new();
        };
        let sets = self.sets.iter().filter(|(_, set)| set.members.has(slot));
        sets.map(|(name, _)| name.clone()).collect()
    }

    fn set_changed(&mut self, name: &str, membership: Result<Membership, String>) {
        let old = self.sets.get(name);
        if old.is_some_and(|old| *old.membership == membership) {
            return;
        }
        self.set_versions += 1;
        let mut set = Set {
            version: self.set_versions,
            membership: Arc::new(membership),
            members: Members::default(),
        };
        if let Ok(membership) = &*set.membership {
            let is_member = membership.for_many();
            for (slot, cluster) in self.clusters.iter() {
                set.members
                    .set(slot, !cluster.is_deleting && is_member(&cluster.labels));
            }
        }
        let is_new = old.is_none();
        let is_same = old.is_some_and(|old| {
            old.members == set.members && old.membership.is_ok() && set.membership.is_ok()
        });
        self.sets.insert(name.to_owned(), set);
        if is_new {
            self.wake_all_bound(name);
        } else if !is_same {
            self.wake_users(name);
        }
    }

    fn bind(&mut self, namespace: &str, name: &str) {
        let bindings = self.bindings.entry(namespace.to_owned()).or_default();
        if bindings.insert(name.to_owned()) {
            let namespaces = self.bound.entry(name.to_owned()).or_default();
            namespaces.insert(namespace.to_owned());
            self.wake_all_in(namespace);
        }
    }

    fn unbind(&mut self, namespace: &str, name: &str) {
        if let Some(bindings) = self.bindings.get_mut(namespace) {
            bindings.remove(name);
            if bindings.is_empty() {
                self.bindings.remove(namespace);
            }
        }
        if let Some(namespaces) = self.bound.get_mut(name) {
            namespaces.remove(namespace);
            if namespaces.is_empty() {
                self.bound.remove(name);
            }
        }
        self.wake_all_in(namespace);
    }

    fn scores_changed(&mut self, cluster: &str, name: &str, scores: Option<Scores>) {
        let known = self.scores.get(cluster).and_then(|all| all.get(name));
        let is_same = known == scores.as_ref();
        if !is_same {
            let all = Arc::make_mut(&mut self.scores);
            let of_cluster = Arc::make_mut(all.entry(cluster.to_owned()).or_default());
            match scores {
                Some(scores) => of_cluster.insert(name.to_owned(), scores),
                None => of_cluster.remove(name),
            };
            if of_cluster.is_empty() {
                all.remove(cluster);
            }
            if let Some(slot) = self.clusters.find(cluster) {
                self.journal.note(slot);
            }
            self.wake_readers(cluster, name);
        }
    }
}

// === impl Set ===

impl Set {
    fn has(&self, cluster: &Cluster) -> bool {
        let membership = (*self.membership).as_ref();
        !cluster.is_deleting && membership.is_ok_and(|it| it.matches(&cluster.labels))
    }
}
