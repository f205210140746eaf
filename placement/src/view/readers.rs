//! Which placements read which labels, claims and amounts of clusters. A change of others concerns no placement, and costs no look at one.

use std::collections::{BTreeSet, HashMap, HashSet};

use berth_placement_core::Cluster;

use super::Key;
use crate::facts::Reads;

/// The placements by what they read.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    labels: HashMap<String, HashSet<Key>>,
    claims: HashMap<String, HashSet<Key>>,
    cpu: HashSet<Key>,
    memory: HashSet<Key>,
    everything: HashSet<Key>,
}

// === impl Readers ===

impl Readers {
    /// Adds a placement.
    pub(crate) fn add(&mut self, key: &Key, reads: &Reads) {
        for (of, names) in [
            (&mut self.labels, reads.label_keys()),
            (&mut self.claims, reads.claim_names()),
        ] {
            for name in names {
                of.entry(name.clone()).or_default().insert(key.clone());
            }
        }
        for (of, reads) in [
            (&mut self.cpu, reads.cpu),
            (&mut self.memory, reads.memory),
            (&mut self.everything, reads.everything),
        ] {
            if reads {
                of.insert(key.clone());
            }
        }
    }

    /// Removes a placement, which was added with the same `reads`.
    pub(crate) fn remove(&mut self, key: &Key, reads: &Reads) {
        for (of, names) in [
            (&mut self.labels, reads.label_keys()),
            (&mut self.claims, reads.claim_names()),
        ] {
            for name in names {
                if let Some(keys) = of.get_mut(name) {
                    keys.remove(key);
                    if keys.is_empty() {
                        of.remove(name);
                    }
                }
            }
        }
        for of in [&mut self.cpu, &mut self.memory, &mut self.everything] {
            of.remove(key);
        }
    }

    /// The placements that read labels, claims or amounts in which two states of a cluster differ.
    pub(crate) fn of(&self, old: &Cluster, new: &Cluster) -> BTreeSet<Key> {
        let mut keys: BTreeSet<Key> = self.everything.iter().cloned().collect();
        for (of, old, new) in [
            (&self.labels, &old.labels, &new.labels),
            (&self.claims, &old.claims, &new.claims),
        ] {
            if old == new {
                continue;
            }
            let differs = |name: &&String| old.get(*name) != new.get(*name);
            let names = old.keys().chain(new.keys()).filter(differs);
            let readers = names.filter_map(|name| of.get(name));
            keys.extend(readers.flatten().cloned());
        }
        for (of, differs) in [
            (&self.cpu, old.cpu != new.cpu),
            (&self.memory, old.memory != new.memory),
        ] {
            if differs {
                keys.extend(of.iter().cloned());
            }
        }
        keys
    }
}
