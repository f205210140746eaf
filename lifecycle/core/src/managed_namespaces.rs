//! The namespaces that the sets of a cluster want managed on it.
//!
//! Follows OCM's ManagedNamespaceController, except that an item which stays keeps its conditions: they are the agent's
//! report, which OCM throws away with every change.
//!
//! The list is patched whole, not applied. Its keys are `clusterSet` and `name`, and the agent writes conditions into
//! items, as OCM's hub controller wrote items before us; whoever wrote into an item owns a part of it. An item that we no
//! longer applied would then stay for ever, and with it the namespace on the cluster. With its resourceVersion a patch
//! takes nothing away that it has not seen.

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

/// What is due.
pub fn decide(facts: &ClusterFacts<'_>, _now: Now, plan: &mut ClusterPlan) {
    plan.writes.extend(due(facts));
}

/// What is managed for a set of which nobody can tell whether the cluster belongs to it stays.
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

/// The list as it ought to be, sorted. None, if it has these items already: their order means nothing.
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
