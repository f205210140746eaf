//! What placements and sets read of ManagedClusters. Of a cluster with very many labels or claims, only those are kept.

use berth_api::cluster_set::ManagedClusterSetSpec;
use berth_api::labels;
use berth_api::placement::{PlacementSpec, TopologyKeyType};
use berth_reconcile::LabelKeys;

use crate::facts::{Reads, keys_of};
use crate::whole::WholeClusters;

/// What is kept of ManagedClusters. Clones share it: the rows of the table of kinds read and extend it, and the world asks whether
/// ManagedClusters are to be listed again.
#[derive(Clone, Debug)]
pub(crate) struct Needs {
    pub(crate) whole: WholeClusters,
    pub(crate) labels: LabelKeys,
    pub(crate) claims: LabelKeys,
}

// === impl Needs ===

impl Needs {
    /// Notes what the selector of a set reads.
    pub(crate) fn note_set(&self, spec: &ManagedClusterSetSpec) {
        let selector = &spec.cluster_selector.label_selector;
        let keys: Vec<_> = selector.iter().flat_map(keys_of).collect();
        self.labels.note(keys.iter().map(String::as_str));
    }

    /// Notes what the constraints of a placement read.
    pub(crate) fn note_spread(&self, spec: &PlacementSpec) {
        for constraint in &spec.spread_policy.spread_constraints {
            let keys = match constraint.topology_key_type {
                TopologyKeyType::Label => &self.labels,
                _ => &self.claims,
            };
            keys.note([constraint.topology_key.as_str()]);
        }
    }

    /// Notes what the selectors of a placement read.
    pub(crate) fn note_reads(&self, reads: &Reads) {
        self.labels.note(reads.label_keys().map(String::as_str));
        self.claims.note(reads.claim_names().map(String::as_str));
    }

    /// Returns true, once, if ManagedClusters are to be listed again for something that was noted.
    pub(crate) fn takes_in(&self) -> bool {
        // Both are asked.
        self.labels.takes_in() | self.claims.takes_in()
    }
}

impl Default for Needs {
    fn default() -> Self {
        let labels = LabelKeys::default();
        labels.need([labels::CLUSTER_SET]);
        Self {
            whole: WholeClusters::default(),
            labels,
            claims: LabelKeys::default(),
        }
    }
}
