//! Applies changes of the hub's objects to the view.

use std::collections::BTreeSet;

use berth_api::cluster_set::Membership;
use berth_placement_core::{Cluster, Scores};
use jiff::Timestamp;

use super::members::Members;
use super::{Key, Set, View};
use crate::facts::{DecisionFacts, PlacementFacts};
use crate::kinds::{Fact, Kind};

impl View {
    /// Applies an object. `is_own`: it is the response to a write of this controller, which needs no further evaluation.
    pub(crate) fn apply(
        &mut self,
        (namespace, name): (&str, &str),
        fact: Fact,
        is_own: bool,
        now: Timestamp,
    ) {
        match fact {
            Fact::Placement(placement) => {
                self.placement_changed(namespace, name, *placement, is_own)
            }
            Fact::Decision(decision) => {
                self.decision_changed(namespace, name, Some(decision), is_own)
            }
            Fact::Cluster(cluster) => self.cluster_changed(cluster, now),
            Fact::Set(membership) => self.set_changed(name, membership),
            Fact::Binding => self.bind(namespace, name),
            Fact::Scores(scores) => self.scores_changed(namespace, name, Some(scores)),
        }
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, kind: Kind, namespace: &str, name: &str, now: Timestamp) {
        match kind {
            Kind::Placement => {
                if let Some(names) = self.placements.get_mut(namespace) {
                    names.remove(name);
                    if names.is_empty() {
                        self.placements.remove(namespace);
                    }
                }
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
        }
    }

    fn placement_changed(
        &mut self,
        namespace: &str,
        name: &str,
        placement: PlacementFacts,
        is_own: bool,
    ) {
        let names = self.placements.entry(namespace.to_owned()).or_default();
        names.insert(name.into(), placement);
        if !is_own {
            self.wakes.push(Key::new(namespace, name));
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
        if let Some(old) = &old
            && is_counted(&former)
        {
            self.balance.remove(old.clusters());
        }
        if let Some(new) = all.by_name.get(name)
            && is_counted(&placement)
        {
            self.balance.add(new.clusters());
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

    fn cluster_changed(&mut self, cluster: Cluster, now: Timestamp) {
        let name = cluster.name.clone();
        if self.clusters.get(&name) == Some(&cluster) {
            return;
        }
        let was_in = self.sets_with(&name);
        let (slot, old) = self.clusters.insert(cluster);
        let Some(new) = self.clusters.at(slot).cloned() else {
            return;
        };
        for set in self.sets.values_mut() {
            set.members.set(slot, set.has(&new));
        }
        let is_in = self.sets_with(&name);
        self.wake_for_cluster((old.as_ref(), Some(&new)), (&was_in, &is_in), now);
        if old.is_none_or(|old| old.is_deleting != new.is_deleting) {
            self.wake_users_of_broken_sets();
        }
    }

    fn cluster_gone(&mut self, name: &str, now: Timestamp) {
        let was_in = self.sets_with(name);
        if let Some(slot) = self.clusters.find(name) {
            for set in self.sets.values_mut() {
                set.members.set(slot, false);
            }
        }
        let old = self.clusters.remove(name);
        self.wake_for_cluster((old.as_ref(), None), (&was_in, &BTreeSet::new()), now);
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
        if old.is_some_and(|old| old.membership == membership) {
            return;
        }
        let mut set = Set {
            membership,
            members: Members::default(),
        };
        for (slot, cluster) in self.clusters.iter() {
            set.members.set(slot, set.has(cluster));
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
        let of_cluster = self.scores.entry(cluster.to_owned()).or_default();
        let is_same = of_cluster.get(name) == scores.as_ref();
        match scores {
            Some(scores) => of_cluster.insert(name.to_owned(), scores),
            None => of_cluster.remove(name),
        };
        if of_cluster.is_empty() {
            self.scores.remove(cluster);
        }
        if !is_same {
            self.wake_readers(cluster, name);
        }
    }
}

// === impl Set ===

impl Set {
    fn has(&self, cluster: &Cluster) -> bool {
        let membership = self.membership.as_ref();
        !cluster.is_deleting && membership.is_ok_and(|it| it.matches(&cluster.labels))
    }
}
