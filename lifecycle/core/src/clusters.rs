//! Calls all deciders of one cluster, in their order, and says whose turn comes first.

use crate::cluster_plan::{ClusterChanges, ClusterPlan};
use crate::facts::{ClusterFacts, Now};
use crate::{
    acceptance, addons, clock, heartbeat, managed_namespaces, readable, removal, status, taints,
};

/// Clusters of different turns do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Accepted clusters, and all that still have permissions to lose.
    Prompt,
    /// Accepted clusters whose ManagedCluster is large: each write takes the API server long.
    Large,
    /// Clusters that are not accepted. A bootstrap token can create any number of them.
    Waiting,
}

/// Returns the turn of a cluster.
pub fn turn(facts: &ClusterFacts<'_>) -> Turn {
    match facts.cluster {
        Some(cluster) if cluster.accepted && !cluster.deleting => match cluster.is_large {
            true => Turn::Large,
            false => Turn::Prompt,
        },
        Some(cluster) if !cluster.accepted && !facts.owned.has_permissions() => Turn::Waiting,
        _ => Turn::Prompt,
    }
}

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::Config;
    use crate::facts::{Cluster, Owned, OwnedObjects};
    use crate::testing::facts_of;

    #[test]
    fn who_has_permissions_to_lose_or_to_get_does_not_wait_for_others() {
        let bound = OwnedObjects {
            work_binding: Some(Owned::default()),
            ..OwnedObjects::default()
        };
        let unbound = OwnedObjects {
            namespace: Some(Owned::default()),
            cluster_role: Some(Owned::default()),
            ..OwnedObjects::default()
        };
        let cluster = |accepted, is_large, deleting| {
            Some(Cluster {
                accepted,
                is_large,
                deleting,
                ..Cluster::default()
            })
        };
        let (config, addons) = (Config::default(), BTreeMap::new());
        for (sentence, cluster, owned, expected) in [
            ("gone", None, &bound, Turn::Prompt),
            (
                "accepted",
                cluster(true, false, false),
                &unbound,
                Turn::Prompt,
            ),
            ("large", cluster(true, true, false), &bound, Turn::Large),
            (
                "large, leaves",
                cluster(true, true, true),
                &bound,
                Turn::Prompt,
            ),
            ("new", cluster(false, false, false), &unbound, Turn::Waiting),
            (
                "new, large",
                cluster(false, true, false),
                &unbound,
                Turn::Waiting,
            ),
            (
                "new, leaves",
                cluster(false, false, true),
                &unbound,
                Turn::Waiting,
            ),
            (
                "denied, large",
                cluster(false, true, false),
                &bound,
                Turn::Prompt,
            ),
        ] {
            let facts = ClusterFacts {
                cluster: cluster.as_ref(),
                ..facts_of(&config, "c1", owned, &addons)
            };
            assert_eq!(turn(&facts), expected, "{sentence}");
        }
    }
}
