//! ManagedClusterSets: their members, and the condition `ClusterSetEmpty`.
//!
//! Follows OCM's ManagedClusterSetController, except for a set with an invalid selector. In OCM one such set blocks the status
//! of all sets; here it affects that set only, and its condition names the mistake. The set then has no members, but
//! `ClusterSetEmpty` is `Unknown`: a user who waits for an empty set before deleting it, or for its first member, must not
//! act on an invalid selector.

#[cfg(test)]
mod tests;

use berth_api::conditions;
use berth_api::conditions::{FALSE, TRUE, UNKNOWN};
use berth_api::groups;
use serde_json::json;

use crate::facts::{ClusterSet, Now};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Plan, Target, Write};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "set_status";

/// Plans the status of a set with this number of members (0 if its selector is invalid).
pub fn decide(set: &ClusterSet, members: usize, now: Now) -> Plan {
    let mut plan = Plan::default();
    if set.deleting {
        return plan;
    }
    let (status, reason, message) = match &set.membership {
        Err(mistakes) => (
            UNKNOWN,
            conditions::cluster_set::INVALID_SELECTOR,
            mistakes.clone(),
        ),
        Ok(_) if members == 0 => (
            TRUE,
            conditions::cluster_set::NO_CLUSTER_MATCHED,
            "No ManagedCluster selected".to_owned(),
        ),
        Ok(_) => (
            FALSE,
            conditions::cluster_set::CLUSTERS_SELECTED,
            format!("{members} ManagedClusters selected"),
        ),
    };
    let condition = conditions::new(
        conditions::cluster_set::EMPTY,
        (status, reason),
        message,
        now.wall,
    );
    if let Some(conditions) = berth_api::conditions::with_condition(&set.conditions, condition) {
        plan.writes.push(Write {
            target: target(&set.name),
            action: Action::Patch {
                subresource: Some("status"),
                // The CRD declares a plain list, so the patch repeats the conditions of other writers.
                body: json!({
                    "metadata": {"uid": set.uid, "resourceVersion": set.resource_version},
                    "status": {"conditions": conditions},
                }),
            },
            reconciler: NAME,
            events: Vec::new(),
        });
    }
    plan
}

/// The set of this name.
pub(crate) fn target(name: &str) -> Target {
    Target {
        resource: GroupVersionResource {
            group: groups::CLUSTER.to_owned(),
            version: "v1beta2".to_owned(),
            resource: groups::MANAGED_CLUSTER_SETS.to_owned(),
        },
        namespace: None,
        name: name.to_owned(),
    }
}
