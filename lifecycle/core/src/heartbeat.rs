//! A cluster's lease: made, and watched for its agent's silence.
//!
//! Follows OCM's ManagedClusterLeaseController. The silence of an agent is measured from the moment its last renewal was
//! seen, on a monotonic clock: neither a jump of the hub's clock nor a wrong clock on the cluster makes an agent silent.
//! A new leader has seen no renewal yet. It takes the age of the lease from the agent's clock, but only where that clock is
//! known to be right ([`silent_since`]). The hub says only `Unknown`, and says it once; the agent says that a cluster works.

use std::time::{Duration, Instant};

use berth_api::{conditions, labels};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time};
use serde_json::json;

use crate::cluster_plan::ClusterPlan;
use crate::facts::{Cluster, ClusterFacts, Lease, Now};
use crate::names::{self, managers};
use crate::status;
use crate::{acceptance, clock};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Event, Target, Write};

#[cfg(test)]
mod tests;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "heartbeat";

/// How many renewals in a row may be missing.
const RENEWALS: u64 = 5;
/// Seconds between renewals, if the cluster does not say.
const DEFAULT_LEASE_DURATION: u64 = 60;

/// What is due.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let Some(cluster) = facts.cluster else {
        return;
    };
    // A cluster that was accepted once is watched, accepted or not; one that never was has no agent.
    if cluster
        .condition(conditions::cluster::HUB_ACCEPTED)
        .is_none()
    {
        return;
    }
    match facts.lease {
        // Nobody's silence means anything. A cluster that has no lease gets one all the same.
        _ if !facts.leases_watched && (facts.lease.is_some() || cluster.deleting) => {}
        Some(lease) if is_expired(cluster, lease, now) => unknown(facts.name, cluster, now, plan),
        // A time that the process cannot tell is never reached.
        Some(lease) => {
            if let Some(expiry) = silent_since(cluster, lease).checked_add(grace(cluster)) {
                plan.look_again(expiry);
            }
        }
        None if cluster.deleting => unknown(facts.name, cluster, now, plan),
        None => {
            let namespace = facts.owned.namespace.as_ref();
            let there = namespace.is_some_and(|namespace| !namespace.deleting);
            // A cluster that is refused gets nothing, least of all in a namespace of the hub's.
            if there && acceptance::refusal(facts).is_none() {
                plan.writes.push(new_lease(facts.name, now));
            }
        }
    }
}

/// When a renewal that was there at the first sight of the lease is taken to have been: as long ago as the agent's clock
/// says, but neither in the future nor longer ago than the process can tell. No time: now.
pub fn first_seen(renew_time: Option<Timestamp>, now: Now) -> Instant {
    let age = renew_time.map_or(Duration::ZERO, |renew_time| {
        // Negative, if in the future.
        Duration::try_from(now.wall.duration_since(renew_time)).unwrap_or_default()
    });
    ago(now.instant, age)
}

/// Since when the agent of this cluster has been silent.
///
/// Before the first renewal that was seen, the age of the lease is by the agent's clock. If that clock is known to be right
/// (its condition `ManagedClusterConditionClockSynced` is true, and its clock is checked), its word counts. If not, the first sight of the lease counts as a renewal, so that a change of the
/// leader does not make clusters `Unknown` whose clocks are wrong. A cluster that is `Unknown` already stays as silent as its
/// agent's clock says until a renewal is seen.
pub fn silent_since(cluster: &Cluster, lease: &Lease) -> Instant {
    let is_unknown =
        cluster.condition_status(conditions::cluster::AVAILABLE) == Some(conditions::UNKNOWN);
    match lease.first_seen {
        Some(seen) if !is_unknown && !clock::is_right(cluster) => seen.max(lease.renewed),
        _ => lease.renewed,
    }
}

/// Whether the agent of this cluster is silent for longer than it may be, as far as the lease tells.
pub fn is_expired(cluster: &Cluster, lease: &Lease, now: Now) -> bool {
    let silence = now
        .instant
        .saturating_duration_since(silent_since(cluster, lease));
    silence >= grace(cluster)
}

/// How long the agent of this cluster may be silent, and how far its clock and the hub's may be apart: five times
/// spec.leaseDurationSeconds.
///
/// A missing, zero or negative duration means 60 seconds. There is no upper bound, since the agent renews by the same number:
/// a hub with a lower bound would say `Unknown` as often as the agent says that the cluster works.
pub(crate) fn grace(cluster: &Cluster) -> Duration {
    let seconds = cluster
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .filter(|seconds| *seconds > 0)
        .unwrap_or(DEFAULT_LEASE_DURATION);
    Duration::from_secs(seconds.saturating_mul(RENEWALS))
}

/// This long before, or as long as the process can tell.
fn ago(instant: Instant, mut age: Duration) -> Instant {
    loop {
        match instant.checked_sub(age) {
            Some(earlier) => return earlier,
            // Ends at zero at the latest.
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
    let condition = Condition {
        type_: type_.to_owned(),
        status: conditions::UNKNOWN.to_owned(),
        reason: conditions::cluster::LEASE_UPDATE_STOPPED.to_owned(),
        message: "Registration agent stopped updating its lease.".to_owned(),
        last_transition_time: Time(now.wall),
        observed_generation: None,
    };
    let target = status::cluster_target(name);
    // The agent writes this condition, too: what it said in the meantime is newer than what this was decided from.
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

/// Where a cluster's lease is.
pub fn lease(cluster: &str) -> Target {
    Target {
        resource: GroupVersionResource {
            group: "coordination.k8s.io".to_owned(),
            version: "v1".to_owned(),
            resource: "leases".to_owned(),
        },
        namespace: Some(cluster.to_owned()),
        name: names::CLUSTER_LEASE.to_owned(),
    }
}

/// The lease that the agent will renew; agents do not make one. As OCM's, it has our label only, and no duration.
///
/// The hub does not see a lease without our label. An agent may renew such a lease, so that nothing but the labels
/// is written to it.
fn new_lease(cluster: &str, now: Now) -> Write {
    Write {
        target: lease(cluster),
        action: Action::CreateOrPatch {
            body: json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {
                    "name": names::CLUSTER_LEASE,
                    "namespace": cluster,
                    "labels": { labels::CLUSTER_NAME: cluster },
                },
                "spec": {
                    "holderIdentity": names::CLUSTER_LEASE,
                    "renewTime": MicroTime(now.wall),
                },
            }),
            // What has an add-on's label is not seen, either.
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
