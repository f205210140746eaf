//! An index of names that each belong to one cluster, in both directions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct ByCluster {
    cluster_of: HashMap<Arc<str>, Arc<str>>,
    names_of: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
}

// === impl ByCluster ===

impl ByCluster {
    /// The name belongs to this cluster now, and to no other. Returns true if that is new.
    pub(super) fn insert(&mut self, name: &Arc<str>, cluster: &str) -> bool {
        if self.cluster_of.get(name).is_some_and(|of| **of == *cluster) {
            return false;
        }
        self.remove(name);
        let cluster: Arc<str> = cluster.into();
        self.cluster_of.insert(name.clone(), cluster.clone());
        self.names_of
            .entry(cluster)
            .or_default()
            .insert(name.clone());
        true
    }

    /// The name belongs to no cluster any more.
    pub(super) fn remove(&mut self, name: &str) {
        let Some(cluster) = self.cluster_of.remove(name) else {
            return;
        };
        if let Some(names) = self.names_of.get_mut(&cluster) {
            names.remove(name);
            if names.is_empty() {
                self.names_of.remove(&cluster);
            }
        }
    }

    /// The names that belong to a cluster, in their order.
    pub(super) fn of(&self, cluster: &str) -> impl Iterator<Item = &Arc<str>> {
        self.names_of.get(cluster).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_the_last_cluster_it_was_given_to() {
        let mut index = ByCluster::default();
        let [a, b]: [Arc<str>; 2] = ["a".into(), "b".into()];
        let of = |index: &ByCluster, cluster| index.of(cluster).cloned().collect::<Vec<_>>();
        assert!(index.insert(&b, "c1") && index.insert(&a, "c1"));
        assert!(!index.insert(&a, "c1"), "nothing new");
        assert_eq!(of(&index, "c1"), [a.clone(), b.clone()]);
        assert!(index.insert(&a, "c2"));
        assert_eq!(
            (of(&index, "c1"), of(&index, "c2")),
            (vec![b.clone()], vec![a.clone()])
        );
        assert_eq!(index.cluster_of.len(), 2);
        for name in ["a", "b", "unknown"] {
            index.remove(name);
        }
        assert!(
            index.cluster_of.is_empty() && index.names_of.is_empty(),
            "{index:?}"
        );
    }
}
