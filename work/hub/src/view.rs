//! The last observed state of the hub, and the replica sets that a change of it concerns.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use berth_rollout::RolloutGroup;
use berth_work_replicas::{
    Decision, Digest, Facts, FailedChange, Finished, Placed, ReplicaSet, Work, decide,
};
use jiff::Timestamp;

use super::kinds::{DecisionFact, Fact, Kind, PlacementFact};

/// An object, by namespace and name.
pub(super) type Place = (String, String);

/// What a reconcile works on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    /// A ManifestWorkReplicaSet.
    Set(Place),
    /// A ManifestWork that is done.
    Finished(Place),
}

/// The last observed state of the hub.
#[derive(Debug, Default)]
pub(super) struct View {
    sets: BTreeMap<Place, ReplicaSet>,
    /// The ManifestWorks of each replica set, which may not exist.
    works: HashMap<Place, BTreeMap<Place, Work>>,
    set_of: HashMap<Place, Place>,
    /// The clusters in whose namespaces another ManifestWork has the name of the replica set.
    taken: HashMap<Place, BTreeSet<String>>,
    placements: HashMap<Place, PlacementFact>,
    /// The PlacementDecisions of each Placement, by their names.
    decisions: HashMap<Place, BTreeMap<String, DecisionFact>>,
    placement_of: HashMap<Place, Place>,
    finished: HashMap<Place, Finished>,
}

pub(super) fn place(namespace: &str, name: &str) -> Place {
    (namespace.to_owned(), name.to_owned())
}

// === impl View ===

impl View {
    /// Applies an object, and returns the keys that the change concerns.
    pub(super) fn apply(&mut self, at: Place, fact: Fact) -> Vec<Key> {
        match fact {
            Fact::Set(set) => {
                self.sets.insert(at.clone(), *set);
                vec![Key::Set(at)]
            }
            Fact::Work { of_set, finished } => {
                let mut keys = self.work_changed(&at, of_set.map(|it| *it));
                if let Some(finished) = finished {
                    self.finished.insert(at.clone(), finished);
                    keys.push(Key::Finished(at));
                } else {
                    self.finished.remove(&at);
                }
                keys
            }
            Fact::Placement(placement) => {
                let old = self.placements.insert(at.clone(), placement);
                if old == Some(placement) {
                    return Vec::new();
                }
                self.readers(&at)
            }
            Fact::Decision(decision) => self.decision_changed(&at, Some(decision)),
        }
    }

    /// Removes an object, and returns the keys that the change concerns.
    pub(super) fn remove(&mut self, kind: Kind, at: &Place) -> Vec<Key> {
        match kind {
            Kind::Set => {
                self.sets.remove(at);
                self.taken.remove(at);
                Vec::new()
            }
            Kind::Work => {
                self.finished.remove(at);
                self.work_changed(at, None)
            }
            Kind::Placement => {
                self.placements.remove(at);
                self.readers(at)
            }
            Kind::Decision => self.decision_changed(at, None),
        }
    }

    /// All keys.
    pub(super) fn all(&self) -> Vec<Key> {
        let sets = self.sets.keys().cloned().map(Key::Set);
        let finished = self.finished.keys().cloned().map(Key::Finished);
        sets.chain(finished).collect()
    }

    /// A ManifestWork that is done.
    pub(super) fn finished(&self, at: &Place) -> Option<&Finished> {
        self.finished.get(at)
    }

    /// Decides what is due for a replica set, and hands the decision on.
    pub(super) fn decide<T>(
        &self,
        at: &Place,
        failures: &[FailedChange],
        now: Timestamp,
        then: impl FnOnce(&ReplicaSet, Decision<'_>) -> T,
    ) -> Option<T> {
        let set = self.sets.get(at)?;
        let placed = set.placements.iter().filter_map(|it| {
            let placement = place(&at.0, &it.name);
            let fact = self.placements.get(&placement)?;
            // While the placement controller evaluates a placement, its PlacementDecisions exist and are not complete, until the
            // status agrees. Nobody writes the status of one that is paused: its PlacementDecisions count as they are.
            let is_decided = fact.is_paused && self.decisions.contains_key(&placement);
            let placed = Placed {
                groups: self.groups(&placement),
                selected: if is_decided { 0 } else { fact.selected },
                is_new: !fact.is_evaluated && !is_decided,
            };
            Some((it.name.clone(), placed))
        });
        let (no_works, none_taken) = (BTreeMap::new(), BTreeSet::new());
        let facts = Facts {
            set,
            placed: &placed.collect(),
            works: self.works.get(at).unwrap_or(&no_works),
            taken: self.taken.get(at).unwrap_or(&none_taken),
            failures,
        };
        Some(then(set, decide(&facts, now)))
    }

    /// Notes that another ManifestWork in the namespace of a cluster has the name of the replica set.
    pub(super) fn take(&mut self, at: &Place, cluster: &str) {
        let taken = self.taken.entry(at.clone()).or_default();
        taken.insert(cluster.to_owned());
    }

    /// Notes that the spec of a ManifestWork, as it is stored now, was written from this template.
    pub(super) fn written(&mut self, at: &Place, work: &Place, template: Digest) {
        let works = self.works.get_mut(at);
        if let Some(work) = works.and_then(|all| all.get_mut(work)) {
            work.written_from = (work.digest != template).then_some(template);
        }
    }

    fn work_changed(&mut self, at: &Place, work: Option<Work>) -> Vec<Key> {
        let set = work.as_ref().and_then(|it| {
            let (namespace, name) = it.set()?;
            Some(place(namespace, name))
        });
        let old = match &set {
            Some(set) => self.set_of.insert(at.clone(), set.clone()),
            None => self.set_of.remove(at),
        };
        let known = old.as_ref().and_then(|old| {
            let works = self.works.get_mut(old)?;
            let known = works.remove(at);
            if works.is_empty() {
                self.works.remove(old);
            }
            known
        });
        if let (Some(set), Some(mut work)) = (&set, work) {
            let same = known.filter(|it| it.uid == work.uid && it.digest == work.digest);
            work.written_from = same.and_then(|it| it.written_from);
            let works = self.works.entry(set.clone()).or_default();
            works.insert(at.clone(), work);
        }
        let concerned: BTreeSet<_> = old.into_iter().chain(set).collect();
        concerned.into_iter().map(Key::Set).collect()
    }

    fn decision_changed(&mut self, at: &Place, decision: Option<DecisionFact>) -> Vec<Key> {
        let placement = decision.as_ref().map(|it| place(&at.0, &it.placement));
        let old = match &placement {
            Some(placement) => self.placement_of.insert(at.clone(), placement.clone()),
            None => self.placement_of.remove(at),
        };
        let known = old.as_ref().and_then(|old| {
            let decisions = self.decisions.get_mut(old)?;
            let known = decisions.remove(&at.1);
            if decisions.is_empty() {
                self.decisions.remove(old);
            }
            known
        });
        let is_same = known.is_some() && known == decision;
        if let (Some(placement), Some(decision)) = (&placement, decision) {
            let decisions = self.decisions.entry(placement.clone()).or_default();
            decisions.insert(at.1.clone(), decision);
        }
        if is_same {
            return Vec::new();
        }
        let concerned: BTreeSet<_> = old.into_iter().chain(placement).collect();
        concerned.iter().flat_map(|it| self.readers(it)).collect()
    }

    /// The replica sets that name a placement.
    fn readers(&self, placement: &Place) -> Vec<Key> {
        let from = (placement.0.clone(), String::new());
        let sets = self.sets.range(from..);
        let sets = sets.take_while(|((namespace, _), _)| *namespace == placement.0);
        let readers = sets.filter(|(_, set)| {
            let mut placements = set.placements.iter();
            placements.any(|it| it.name == placement.1)
        });
        readers.map(|(at, _)| Key::Set(at.clone())).collect()
    }

    /// The clusters of a placement, by group.
    fn groups(&self, placement: &Place) -> Vec<RolloutGroup> {
        let mut groups: BTreeMap<(i32, &str), BTreeSet<String>> = BTreeMap::new();
        for decision in self
            .decisions
            .get(placement)
            .into_iter()
            .flat_map(BTreeMap::values)
        {
            let group = (decision.group_index, &*decision.group_name);
            let clusters = groups.entry(group).or_default();
            clusters.extend(decision.clusters.iter().cloned());
        }
        let groups = groups
            .into_iter()
            .map(|((index, name), clusters)| RolloutGroup {
                index,
                name: name.to_owned(),
                clusters,
            });
        groups.collect()
    }
}
