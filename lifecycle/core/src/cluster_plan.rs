//! What is due for one cluster.

use std::collections::BTreeMap;
use std::time::Instant;

use berth_api::cluster::Taint;
use berth_api::plan::{Event, Write};

/// What is due for one cluster: a [`Plan`](berth_api::plan::Plan), and changes to the ManagedCluster that several deciders make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterPlan {
    /// Changes to the ManagedCluster itself; they become one patch.
    pub changes: ClusterChanges,
    /// All others. They are sent at the same time, in no order.
    pub writes: Vec<Write>,
    /// When to decide again, though nothing may have changed. The earliest that was asked for.
    pub again: Option<Instant>,
}

/// Changes to metadata and spec of a ManagedCluster. Deciders add to them; the engine makes one merge patch with the
/// resourceVersion of all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterChanges {
    /// Finalizers to have.
    pub add_finalizers: Vec<&'static str>,
    /// Finalizers to be without.
    pub remove_finalizers: Vec<&'static str>,
    /// Labels: to have, or to be without.
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to have.
    pub annotations: BTreeMap<String, String>,
    /// All taints, as they ought to be.
    pub taints: Option<Vec<Taint>>,
    /// spec.hubAcceptsClient becomes true.
    pub accept: bool,
    /// Told when the patch has been written.
    pub events: Vec<Event>,
}

// === impl ClusterPlan ===

impl ClusterPlan {
    /// Nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.changes == ClusterChanges::default()
    }

    /// Asks to decide again at this time, if not earlier.
    pub fn look_again(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |earlier| earlier.min(at)));
    }
}
