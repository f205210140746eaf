//! Add-ons of a cluster: their condition follows an unknown cluster, and the cluster's labels show them.
//!
//! Follows two controllers of OCM: ManagedClusterAddonHealthCheckController (the agent writes an add-on's condition, so the
//! condition is Unknown while the agent is silent) and AddOnFeatureDiscoveryController (placements select by the labels).

use std::ops::Bound;

use berth_api::{conditions, labels, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::cluster_plan::ClusterPlan;
use crate::facts::{Addon, Cluster, ClusterFacts, Now};
use crate::names::managers;
use crate::status;
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Event, Target, Write};

#[cfg(test)]
mod tests;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "addons";

/// The condition of a ManagedClusterAddOn that reports its health.
pub const AVAILABLE: &str = "Available";

/// The longest name of an add-on that can be part of a label: `addon-` and the name have 63 bytes together.
const LONGEST_NAME: usize = 63 - "addon-".len();

/// Plans the writes that are due.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let Some(cluster) = facts.cluster else {
        return;
    };
    // Without the condition, the cluster is not accepted, or its agent has not registered yet.
    let Some(available) = cluster.condition(conditions::cluster::AVAILABLE) else {
        return;
    };
    if available.status == conditions::UNKNOWN {
        for (name, addon) in facts.addons {
            if !addon.deleting && !says_the_same(addon, available) {
                plan.writes
                    .push(unknown(facts.name, name, addon, available, now));
            }
        }
    }
    if !cluster.deleting {
        show(cluster, facts, plan);
    }
}

fn says_the_same(addon: &Addon, of_cluster: &Condition) -> bool {
    addon.available.as_ref().is_some_and(|own| {
        (&own.status, &own.reason, &own.message)
            == (&of_cluster.status, &of_cluster.reason, &of_cluster.message)
    })
}

/// Copies the cluster's condition to the add-on.
fn unknown(cluster: &str, name: &str, addon: &Addon, of_cluster: &Condition, now: Now) -> Write {
    let before = addon.available.as_ref();
    let since = conditions::since(before, &of_cluster.status).unwrap_or(Time(now.wall));
    let condition = Condition {
        type_: AVAILABLE.to_owned(),
        last_transition_time: since,
        observed_generation: None,
        ..of_cluster.clone()
    };
    let target = Target {
        resource: GroupVersionResource {
            group: "addon.open-cluster-management.io".to_owned(),
            version: addon.version.to_string(),
            resource: "managedclusteraddons".to_owned(),
        },
        namespace: Some(cluster.to_owned()),
        name: name.to_owned(),
    };
    // The agent writes this condition, too, when it is back.
    let decided_from = Some(addon.resource_version.as_str());
    Write {
        action: Action::ApplyStatus {
            manager: managers::ADDONS,
            body: status::one_condition(&target, "ManagedClusterAddOn", decided_from, &condition),
        },
        target,
        reconciler: NAME,
        events: vec![Event {
            warning: false,
            reason: "ManagedClusterAddOnStatusUpdated",
            note: format!("update addon {name:?} status to unknown on managed cluster {cluster:?}"),
            namespace: Some(cluster.to_owned()),
        }],
    }
}

/// Updates the cluster's labels: one for each add-on, and none for add-ons that are gone.
fn show(cluster: &Cluster, facts: &ClusterFacts<'_>, plan: &mut ClusterPlan) {
    let prefix = labels::ADDON_FEATURE_PREFIX;
    // Both are sorted by the add-ons' names: one pass over both finds the differences, and allocates keys only for these.
    let mut shown = cluster
        .labels
        .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
        .map_while(|(key, value)| Some((key, key.strip_prefix(prefix)?, value.as_str())))
        .peekable();
    let mut labels = Vec::new();
    for (name, addon) in facts.addons {
        if addon.deleting || !fits_a_label(name) {
            continue;
        }
        while let Some((key, ..)) = shown.next_if(|(_, shown, _)| *shown < &**name) {
            labels.push((key.clone(), None));
        }
        let value = feature(addon);
        let current = shown.next_if(|(_, shown, _)| *shown == &**name);
        if current.is_none_or(|(.., current)| current != value) {
            labels.push((format!("{prefix}{name}"), Some(value.to_owned())));
        }
    }
    labels.extend(shown.map(|(key, ..)| (key.clone(), None)));
    plan.changes.labels.extend(labels);
}

/// Returns true for a valid label. An invalid one would make the API server refuse the whole patch.
fn fits_a_label(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && names::label_value(name).is_empty()
}

/// The label's value.
fn feature(addon: &Addon) -> &'static str {
    match addon.available.as_ref().map(|own| own.status.as_str()) {
        Some(conditions::TRUE) => "available",
        Some(conditions::FALSE) => "unhealthy",
        _ => "unreachable",
    }
}
