//! The ManagedClusters, each with a slot: a small number that sets of clusters are made of.

use std::collections::HashMap;

use berth_placement_core::Cluster;

/// The ManagedClusters.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    slots: Vec<Option<Cluster>>,
    by_name: HashMap<String, usize>,
    free: Vec<usize>,
}

/// How an object differs from the stored cluster of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Nothing,
    /// Only in what CEL expressions read, or in that this is known at all.
    Object,
    /// In more than that, or the cluster is new.
    Facts,
}

// === impl Clusters ===

impl Clusters {
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn at(&self, slot: usize) -> Option<&Cluster> {
        self.slots.get(slot)?.as_ref()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Cluster> {
        self.at(self.find(name)?)
    }

    /// How this object differs from the stored one.
    pub(crate) fn difference(&mut self, new: &mut Cluster) -> Difference {
        let slot = self.find(&new.name);
        let Some(old) = slot.and_then(|slot| self.slots[slot].as_mut()) else {
            return Difference::Facts;
        };
        // The objects are compared last: they are large.
        let objects = (old.object.take(), new.object.take());
        let has_same_facts = *old == *new;
        let has_same_object = !has_same_facts || objects.0 == objects.1;
        (old.object, new.object) = objects;
        match (has_same_facts, has_same_object) {
            (true, true) => Difference::Nothing,
            (true, false) => Difference::Object,
            (false, _) => Difference::Facts,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Cluster)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(slot, cluster)| Some((slot, cluster.as_ref()?)))
    }

    /// Adds or replaces a cluster. Returns its slot.
    pub(crate) fn insert(&mut self, cluster: Cluster) -> (usize, Option<Cluster>) {
        let slot = match self.by_name.get(&cluster.name) {
            Some(slot) => *slot,
            None => {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.slots.push(None);
                    self.slots.len() - 1
                });
                self.by_name.insert(cluster.name.clone(), slot);
                slot
            }
        };
        (slot, self.slots[slot].replace(cluster))
    }

    /// Drops the whole objects of all clusters.
    pub(crate) fn drop_objects(&mut self) {
        for cluster in self.slots.iter_mut().flatten() {
            cluster.object = None;
        }
    }

    /// Removes a cluster. The caller has removed its slot from all sets.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Cluster> {
        let slot = self.by_name.remove(name)?;
        self.free.push(slot);
        self.slots[slot].take()
    }
}
