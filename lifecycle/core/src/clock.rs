//! The condition `ManagedClusterConditionClockSynced`: the clocks of a managed cluster and of the hub agree.
//!
//! Follows OCM's ClockSyncController. It compares two times of one renewal: the time in the lease, and the hub's time
//! when it saw the renewal. So neither passing time nor a jump of the hub's clock between two renewals changes the outcome.
//! The renewal that the lease has at first sight is not compared, since its age is unknown.

use berth_api::conditions;

use crate::cluster_plan::ClusterPlan;
use crate::facts::{Cluster, ClusterFacts, Lease, Now};
use crate::heartbeat;
use crate::names::managers;
use crate::status::{self, Owner, Wanted};
use berth_api::plan::Event;

#[cfg(test)]
mod tests;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "clock";

const OWNER: Owner = Owner {
    manager: managers::CLOCK,
    reconciler: NAME,
};

/// Plans the writes that are due.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let (Some(cluster), Some(lease)) = (facts.cluster, facts.lease) else {
        return;
    };
    let Some(synced) = new_verdict(cluster, lease) else {
        return;
    };
    let (status, reason, message) = if synced {
        (
            conditions::TRUE,
            conditions::cluster::CLOCK_IN_SYNC,
            "The clock of the managed cluster is synced with the hub.",
        )
    } else {
        (
            conditions::FALSE,
            conditions::cluster::CLOCK_OUT_OF_SYNC,
            "The clock of hub and agent is out of sync. This may cause the Unknown status and affect agent functionalities.",
        )
    };
    let wanted = Wanted {
        type_: conditions::cluster::CLOCK_SYNCED,
        status,
        reason,
        message: message.to_owned(),
    };
    let event = Event {
        warning: false,
        reason: "ManagedClusterClockSyncedConditionUpdated",
        note: format!(
            "update managed cluster {:?} clock synced condition to {status}.",
            facts.name
        ),
        namespace: None,
    };
    status::set(facts, wanted, &OWNER, vec![event], now, plan);
}

/// Returns true if the clocks of cluster and hub are known to agree, and the check is not turned off.
pub(crate) fn is_right(cluster: &Cluster) -> bool {
    !cluster.skip_clock_check
        && cluster.condition_status(conditions::cluster::CLOCK_SYNCED) == Some(conditions::TRUE)
}

/// Returns true or false if the clocks agree or not, and the cluster's condition does not report that yet.
pub fn new_verdict(cluster: &Cluster, lease: &Lease) -> Option<bool> {
    let synced = is_synced(cluster, lease)?;
    let status = if synced {
        conditions::TRUE
    } else {
        conditions::FALSE
    };
    (cluster.condition_status(conditions::cluster::CLOCK_SYNCED) != Some(status)).then_some(synced)
}

/// Returns true if the clocks differ by less than the grace of a lease, or the check is turned off. None before a renewal was
/// seen.
fn is_synced(cluster: &Cluster, lease: &Lease) -> Option<bool> {
    let (hub, agent) = (lease.observed_wall?, lease.renew_time?);
    let apart = hub.duration_since(agent).unsigned_abs();
    Some(cluster.skip_clock_check || apart < heartbeat::grace(cluster))
}
