//! The ManagedClusters, each with a slot: a small number that sets of clusters are made of.

use std::collections::HashMap;
use std::sync::Arc;

use berth_placement_core::Cluster;

/// Upper bound on the bytes of all whole objects, as they are estimated. Those beyond it are left out.
const LARGEST: usize = 256 << 20;

/// The ManagedClusters.
#[derive(Debug)]
pub(crate) struct Clusters {
    /// Shared with threads that evaluate CEL expressions.
    slots: Vec<Option<Arc<Cluster>>>,
    by_name: HashMap<String, usize>,
    free: Vec<usize>,
    /// The number of taints of all clusters.
    taints: usize,
    /// The whole objects that are kept, and those that are left out, in bytes.
    kept: usize,
    left_out: usize,
    pub(super) limit: usize,
}

impl Default for Clusters {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            by_name: HashMap::new(),
            free: Vec::new(),
            taints: 0,
            kept: 0,
            left_out: 0,
            limit: LARGEST,
        }
    }
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
        self.slots.get(slot)?.as_deref()
    }

    /// A cluster, as it is now.
    pub(crate) fn shared(&self, slot: usize) -> Option<&Arc<Cluster>> {
        self.slots.get(slot)?.as_ref()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Cluster> {
        self.at(self.find(name)?)
    }

    /// Leaves the whole object of a cluster out if all of them would exceed the limit with it.
    pub(crate) fn bound(&self, cluster: &mut Cluster) {
        let Some(object) = &cluster.object else {
            return;
        };
        let (old, _) = self.get(&cluster.name).map_or((0, 0), bytes);
        if self.kept - old + object.bytes() > self.limit {
            cluster.object = Some(Arc::new(object.left_out(self.limit)));
        }
    }

    /// Returns whether whole objects are left out that fit by now.
    pub(crate) fn has_room(&self) -> bool {
        self.left_out > 0 && self.kept + self.left_out <= self.limit
    }

    /// How this object differs from the stored one.
    pub(crate) fn difference(&self, new: &Cluster) -> Difference {
        let old = self.get(&new.name).filter(|old| old.has_facts_of(new));
        // The objects are compared last: they are large.
        match old {
            Some(old) if old.object == new.object => Difference::Nothing,
            Some(_) => Difference::Object,
            None => Difference::Facts,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Cluster)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(slot, cluster)| Some((slot, cluster.as_deref()?)))
    }

    /// Adds or replaces a cluster. Returns its slot.
    pub(crate) fn insert(&mut self, cluster: Arc<Cluster>) -> (usize, Option<Arc<Cluster>>) {
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
        let (kept, left_out) = bytes(&cluster);
        self.taints += cluster.taints.len();
        let old = self.slots[slot].replace(cluster);
        self.forget(old.as_deref());
        self.kept += kept;
        self.left_out += left_out;
        (slot, old)
    }

    /// The number of clusters, and of their taints.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.by_name.len(), self.taints)
    }

    /// Takes a former cluster off the counts.
    fn forget(&mut self, old: Option<&Cluster>) {
        self.taints -= old.map_or(0, |it| it.taints.len());
        let (kept, left_out) = old.map_or((0, 0), bytes);
        self.kept -= kept;
        self.left_out -= left_out;
    }

    /// Drops the whole objects of all clusters.
    pub(crate) fn drop_objects(&mut self) {
        for cluster in self.slots.iter_mut().flatten() {
            Arc::make_mut(cluster).object = None;
        }
        (self.kept, self.left_out) = (0, 0);
    }

    /// Removes a cluster. The caller has removed its slot from all sets.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<Cluster>> {
        let slot = self.by_name.remove(name)?;
        self.free.push(slot);
        let old = self.slots[slot].take();
        self.forget(old.as_deref());
        old
    }
}

/// The bytes of the whole object of a cluster: if it is kept, and if it is left out.
fn bytes(cluster: &Cluster) -> (usize, usize) {
    match &cluster.object {
        None => (0, 0),
        Some(object) if object.limit().is_some() => (0, object.bytes()),
        Some(object) => (object.bytes(), 0),
    }
}
