//! Names and namespaces that keep a cluster from being accepted.

use berth_api::reserved::Reservation;

use crate::facts::ClusterFacts;

/// What an admin can do about a cluster whose name is reserved.
pub(super) const RENAME: &str =
    "delete this ManagedCluster, and register the cluster under another name";

/// Returns a message if a cluster of this name gets nothing on this hub.
///
/// A namespace with the cluster's label or role bindings belongs to the cluster, also if ManagedClusterSetBindings appear in
/// it later. An ordinary namespace of that name is adopted.
pub(crate) fn refusal(facts: &ClusterFacts<'_>) -> Option<String> {
    let name = facts.name;
    let owned = facts.owned;
    let adopted = owned.namespace.is_some()
        || owned.registration_binding.is_some()
        || owned.work_binding.is_some();
    if let Some(reason) = berth_api::names::dns1123_label(name).first() {
        return Some(format!(
            "Not accepted: {name:?} cannot be the name of a namespace: {reason}; {RENAME}"
        ));
    }
    if let Some(reservation) = facts.config.reservation(name) {
        let kept = match reservation {
            Reservation::AllAgents => false,
            Reservation::Namespace | Reservation::SharedRole => is_provisioned(facts),
            Reservation::Prefix(_) => adopted,
        };
        if !kept {
            return Some(format!(
                "Not accepted: the name {name:?} {reservation}; {RENAME}"
            ));
        }
    }
    if !adopted && let Some(first) = facts.bindings.iter().min() {
        let more = match facts.bindings.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return Some(format!(
            "Not accepted: namespace {name:?} is a workspace: it holds ManagedClusterSetBinding {first:?}{more}, which the \
             cluster's agent must not access; delete the bindings, or {RENAME}"
        ));
    }
    None
}

/// Returns true if the cluster has role bindings on the hub: then it was accepted before its name was reserved. The label on a
/// namespace does not prove that: any namespace may have it.
fn is_provisioned(facts: &ClusterFacts<'_>) -> bool {
    let owned = facts.owned;
    owned.cluster_role_binding.is_some()
        || owned.registration_binding.is_some()
        || owned.work_binding.is_some()
}

/// Returns true if the group of this cluster's agents is the group of all agents: the cluster must have no permissions.
pub(crate) fn is_all_agents(facts: &ClusterFacts<'_>) -> bool {
    facts.config.reservation(facts.name) == Some(Reservation::AllAgents)
}

/// Returns a message if an accepted cluster gets nothing, or nothing yet.
pub(crate) fn obstacle(facts: &ClusterFacts<'_>) -> Option<String> {
    refusal(facts).or_else(|| {
        let namespace = facts.owned.namespace.as_ref()?;
        namespace.deleting.then(|| {
            format!(
                "Namespace {:?} is being deleted; the cluster gets a new one when it is gone",
                facts.name
            )
        })
    })
}
