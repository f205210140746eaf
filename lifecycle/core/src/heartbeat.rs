//! A cluster's lease: created by the hub, renewed by the agent, and watched for missing renewals.
//!
//! Follows OCM's ManagedClusterLeaseController. The silence of an agent counts from the moment when its last renewal was
//! seen, on a monotonic clock: neither a jump of the hub's clock nor a wrong clock on the cluster makes an agent silent.
//! A new leader has seen no renewal yet. It takes the age of the lease from the agent's clock, but only where that clock is
//! known to be right (`silent_since`). The hub only sets `Unknown`, once; the agent reports that the cluster is available.

use std::time::{Duration, Instant};

use berth_api::cluster::CLUSTER_LEASE;
use berth_api::{conditions, labels};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::json;

use crate::cluster_plan::ClusterPlan;
use crate::facts::{Cluster, ClusterFacts, Lease, Now};
use crate::names::managers;
use crate::status;
use crate::{acceptance, clock};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Event, Target, Write};

#[cfg(test)]
mod tests;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "heartbeat";

/// The number of renewals in a row that may be missing.
const RENEWALS: u64 = 5;
/// Seconds between renewals, for clusters without spec.leaseDurationSeconds.
const DEFAULT_LEASE_DURATION: u64 = 60;

/// Plans the writes that are due.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let Some(cluster) = facts.cluster else {
        return;
    };
    // A cluster that was accepted once is watched, also after a denial. One that never was has no agent.
    if cluster
        .condition(conditions::cluster::HUB_ACCEPTED)
        .is_none()
    {
        return;
    }
    match facts.lease {
        // While leases are not watched, silence means nothing. A cluster without a lease still gets one.
        _ if !facts.leases_watched && (facts.lease.is_some() || cluster.deleting) => {}
        Some(lease) if is_expired(cluster, lease, now) => unknown(facts.name, cluster, now, plan),
        // An expiry that does not fit into an Instant is never reached.
        Some(lease) => {
            if let Some(expiry) = silent_since(cluster, lease).checked_add(grace(cluster)) {
                plan.look_again(expiry);
            }
        }
        None if cluster.deleting => unknown(facts.name, cluster, now, plan),
        None => {
            let namespace = facts.owned.namespace.as_ref();
            let there = namespace.is_some_and(|namespace| !namespace.deleting);
            // A refused cluster gets nothing: the namespace may be one of the hub's own.
            if there && acceptance::refusal(facts).is_none() {
                plan.writes.push(new_lease(facts.name, now));
            }
        }
    }
}

/// The assumed time of the renewal that a lease has when it is first seen: as long ago as the agent's clock says, but not in
/// the future, and not before the earliest Instant. Without a renewTime: now.
pub fn first_seen(renew_time: Option<Timestamp>, now: Now) -> Instant {
    let age = renew_time.map_or(Duration::ZERO, |renew_time| {
        // Negative for a time in the future.
        Duration::try_from(now.wall.duration_since(renew_time)).unwrap_or_default()
    });
    ago(now.instant, age)
}

/// The time since which the agent of this cluster has been silent.
///
/// Before a renewal was seen, only the agent's clock gives the age of the lease. It is used if the clock is known to be right
/// (the condition `ManagedClusterConditionClockSynced` is True, and the check is on). Otherwise the first sight of the lease
/// counts as a renewal, so that a change of the leader does not make clusters with wrong clocks `Unknown`. For a cluster that
/// is `Unknown` already, the agent's clock counts until a renewal is seen.
pub(crate) fn silent_since(cluster: &Cluster, lease: &Lease) -> Instant {
    let is_unknown =
        cluster.condition_status(conditions::cluster::AVAILABLE) == Some(conditions::UNKNOWN);
    match lease.first_seen {
        Some(seen) if !is_unknown && !clock::is_right(cluster) => seen.max(lease.renewed),
        _ => lease.renewed,
    }
}

/// Returns true if the agent of this cluster has been silent for longer than five times its lease duration.
pub fn is_expired(cluster: &Cluster, lease: &Lease, now: Now) -> bool {
    let silence = now
        .instant
        .saturating_duration_since(silent_since(cluster, lease));
    silence >= grace(cluster)
}

/// Upper bound on the silence of this cluster's agent, and on the difference between its clock and the hub's: five times
/// spec.leaseDurationSeconds.
///
/// A missing, zero or negative duration means 60 seconds. The duration has no upper bound, because the agent renews
/// at the same interval: with a bound, hub and agent would overwrite each other's condition.
pub fn grace(cluster: &Cluster) -> Duration {
    let seconds = cluster
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .filter(|seconds| *seconds > 0)
        .unwrap_or(DEFAULT_LEASE_DURATION);
    Duration::from_secs(seconds.saturating_mul(RENEWALS))
}

/// `age` before `instant`, or the earliest Instant.
fn ago(instant: Instant, mut age: Duration) -> Instant {
    loop {
        match instant.checked_sub(age) {
            Some(earlier) => return earlier,
            // Terminates: zero always works.
            None => age /= 2,
        }
    }
}

/// Sets Available to `Unknown`.
fn unknown(name: &str, cluster: &Cluster, now: Now, plan: &mut ClusterPlan) {
    let type_ = conditions::cluster::AVAILABLE;
    if cluster.condition_status(type_) == Some(conditions::UNKNOWN) {
        return;
    }
    let condition = conditions::new(
        type_,
        (
            conditions::UNKNOWN,
            conditions::cluster::LEASE_UPDATE_STOPPED,
        ),
        "Registration agent stopped updating its lease.",
        now.wall,
    );
    let target = status::cluster_target(name);
    // The agent writes this condition, too. The resourceVersion protects a newer report.
    let decided_from = Some(cluster.resource_version.as_str());
    plan.writes.push(Write {
        action: Action::ApplyStatus {
            manager: managers::HEARTBEAT,
            body: status::one_condition(&target, "ManagedCluster", decided_from, &condition),
        },
        target,
        reconciler: NAME,
        events: vec![Event {
            warning: true,
            reason: "AvailableUnknown",
            note: format!(
                "The {name} is successfully imported. However, the connection check from the managed cluster to the \
                 hub cluster has failed"
            ),
            namespace: Some(name.to_owned()),
        }],
    });
}

/// The Lease of a cluster.
pub fn lease(cluster: &str) -> Target {
    Target {
        resource: GroupVersionResource {
            group: "coordination.k8s.io".to_owned(),
            version: "v1".to_owned(),
            resource: "leases".to_owned(),
        },
        namespace: Some(cluster.to_owned()),
        name: CLUSTER_LEASE.to_owned(),
    }
}

/// Creates the lease for the agent to renew; agents do not create one. As in OCM, it has our label only, and no duration.
///
/// The hub does not see a lease without our label. Its agent may be renewing it, so the patch writes only the labels.
fn new_lease(cluster: &str, now: Now) -> Write {
    Write {
        target: lease(cluster),
        action: Action::CreateOrPatch {
            body: json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {
                    "name": CLUSTER_LEASE,
                    "namespace": cluster,
                    "labels": { labels::CLUSTER_NAME: cluster },
                },
                "spec": {
                    "holderIdentity": CLUSTER_LEASE,
                    "renewTime": MicroTime(now.wall),
                },
            }),
            // The watch leaves out objects with an add-on's label.
            patch: json!({
                "metadata": {
                    "labels": { labels::CLUSTER_NAME: cluster, labels::ADDON_NAME: null },
                },
            }),
        },
        reconciler: NAME,
        events: Vec::new(),
    }
}
