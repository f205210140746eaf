//! `status.managedNamespaces`: the namespaces that the sets of a cluster ask its agent to manage.
//!
//! Follows OCM's ManagedNamespaceController, except that an item that stays keeps its conditions. They are the agent's report,
//! and OCM drops them with every change.
//!
//! The whole list is patched, not applied. The agent writes conditions into the items, and OCM's hub controller may have
//! written items before, so both own parts of items. An item that we stopped applying would stay because of those owners,
//! and with it the namespace on the cluster. The patch carries a resourceVersion, so it removes nothing unseen.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use berth_api::cluster::ClusterSetManagedNamespaceConfig;
use serde_json::{Value, json};

use crate::cluster_plan::ClusterPlan;
use crate::facts::{Cluster, ClusterFacts, ClusterSet, Now};
use crate::status;
use berth_api::plan::{Action, Event, Write};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "managed_namespaces";

/// Plans the writes that are due.
pub fn decide(facts: &ClusterFacts<'_>, _now: Now, plan: &mut ClusterPlan) {
    plan.writes.extend(due(facts));
}

/// The items of a set with an invalid selector stay: it is unknown whether the cluster belongs to it.
fn due(facts: &ClusterFacts<'_>) -> Option<Write> {
    let cluster = facts.cluster.filter(|cluster| !cluster.deleting)?;
    let wanted = wanted(cluster, facts.sets, facts.undecided_sets)?;
    let total = wanted.len();
    Some(Write {
        target: status::cluster_target(facts.name),
        action: Action::Patch {
            subresource: Some("status"),
            body: json!({
                "metadata": {"uid": cluster.uid, "resourceVersion": cluster.resource_version},
                "status": {"managedNamespaces": if total == 0 { Value::Null } else { json!(wanted) }},
            }),
        },
        reconciler: NAME,
        events: vec![Event {
            warning: false,
            reason: "ManagedNamespacesUpdated",
            note: format!(
                "Updated managed namespaces for cluster {:?} (total: {total})",
                facts.name
            ),
            namespace: None,
        }],
    })
}

/// The wanted list, sorted. None if the stored list has the same items in any order.
fn wanted(
    cluster: &Cluster,
    sets: &[&ClusterSet],
    undecided: &[&str],
) -> Option<Vec<ClusterSetManagedNamespaceConfig>> {
    let stored = &cluster.managed_namespaces;
    let mut items: BTreeMap<(&str, &str), Option<&ClusterSetManagedNamespaceConfig>> = sets
        .iter()
        .filter(|set| !set.deleting)
        .flat_map(|set| {
            let names = set.managed_namespaces.iter();
            names.map(|name| ((&*set.name, name.as_str()), None))
        })
        .collect();
    for item in stored {
        let key = (item.cluster_set.as_str(), item.name.as_str());
        if items.contains_key(&key) || undecided.contains(&&*item.cluster_set) {
            items.insert(key, Some(item));
        }
    }
    if items.len() == stored.len() && items.values().all(Option::is_some) {
        return None;
    }
    let items = items.into_iter().map(|((set, name), stored)| {
        stored
            .cloned()
            .unwrap_or_else(|| ClusterSetManagedNamespaceConfig {
                cluster_set: set.to_owned(),
                conditions: Vec::new(),
                name: name.to_owned(),
            })
    });
    Some(items.collect())
}
