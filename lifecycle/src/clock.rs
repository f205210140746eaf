//! Whether a managed cluster's clock and the hub's agree.
//!
//! Follows OCM's ClockSyncController. The clocks are compared by what both said when a renewal of the lease was seen, so
//! that neither time that passes nor a jump of the hub's clock between two renewals changes the outcome. A renewal that was
//! there at the first sight of the lease says nothing: nobody knows how old it was.

use berth_api::conditions::{self, cluster as types};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::facts::{Cluster, ClusterFacts, Lease, Now};
use crate::heartbeat;
use crate::names::managers;
use crate::plan::{Action, Event, Plan, Write};
use crate::status;

#[cfg(test)]
mod tests;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "clock";

/// What is due.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut Plan) {
    let (Some(cluster), Some(lease)) = (facts.cluster, facts.lease) else {
        return;
    };
    let Some(synced) = is_synced(cluster, lease) else {
        return;
    };
    let (status, reason, message) = if synced {
        (
            conditions::TRUE,
            types::CLOCK_IN_SYNC,
            "The clock of the managed cluster is synced with the hub.",
        )
    } else {
        (
            conditions::FALSE,
            types::CLOCK_OUT_OF_SYNC,
            "The clock of hub and agent is out of sync. This may cause the Unknown status and affect agent functionalities.",
        )
    };
    if cluster.condition_status(types::CLOCK_SYNCED) == Some(status) {
        return;
    }
    let condition = Condition {
        type_: types::CLOCK_SYNCED.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(now.wall),
        observed_generation: None,
    };
    let name = facts.name;
    let target = status::cluster_target(name);
    plan.writes.push(Write {
        action: Action::ApplyStatus {
            manager: managers::CLOCK,
            body: status::one_condition(&target, "ManagedCluster", None, &condition),
        },
        target,
        reconciler: NAME,
        events: vec![Event {
            warning: false,
            reason: "ManagedClusterClockSyncedConditionUpdated",
            note: format!("update managed cluster {name:?} clock synced condition to {status}."),
            namespace: None,
        }],
    });
}

/// Whether the clocks are less than the grace of a lease apart, or nobody is to ask. None: it cannot be told.
fn is_synced(cluster: &Cluster, lease: &Lease) -> Option<bool> {
    let (hub, agent) = (lease.observed_wall?, lease.renew_time?);
    let apart = hub.duration_since(agent).unsigned_abs();
    Some(cluster.skip_clock_check || apart < heartbeat::grace(cluster))
}
