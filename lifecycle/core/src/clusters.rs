//! Calls all deciders of one cluster, in their order.

use crate::cluster_plan::{ClusterChanges, ClusterPlan};
use crate::facts::{ClusterFacts, Now};
use crate::{
    acceptance, addons, clock, heartbeat, managed_namespaces, readable, removal, status, taints,
};

/// Plans all writes that are due for the cluster.
pub fn decide(facts: &ClusterFacts<'_>, now: Now) -> ClusterPlan {
    let mut plan = ClusterPlan::default();
    removal::decide(facts, now, &mut plan);
    if facts.cluster.is_some_and(|cluster| !cluster.deleting) {
        acceptance::decide(facts, now, &mut plan);
        taints::decide(facts, now, &mut plan);
        managed_namespaces::decide(facts, now, &mut plan);
        addons::decide(facts, now, &mut plan);
        clock::decide(facts, now, &mut plan);
    }
    if facts.cluster.is_some() {
        heartbeat::decide(facts, now, &mut plan);
        readable::decide(facts, now, &mut plan);
    }
    if facts.full {
        // The API server would refuse each write that makes the object larger.
        plan.writes
            .retain(|write| write.target != status::cluster_target(facts.name));
        plan.changes = ClusterChanges {
            remove_finalizers: std::mem::take(&mut plan.changes.remove_finalizers),
            ..ClusterChanges::default()
        };
    }
    plan
}
