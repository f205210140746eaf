//! Auto-approval (gate `ManagedClusterAutoApproval`): the clusters that the hub accepts without an admin.
//!
//! OCM accepts every cluster, and approves every CSR of a listed user. Here a listed user is trusted with new clusters only,
//! because many clusters register with one bootstrap token; and the request may not choose anything for the cluster.
//!
//! # Guarantees
//! - After an admin denied a cluster, or a CSR of its agent, the hub never accepts the cluster automatically, whether it was
//!   accepted before or not. Only the deletion of the ManagedCluster ends that. An agent can change annotations and
//!   conditions of its own ManagedCluster, but not its ClusterRole: the RBAC objects that a denied cluster keeps prove the
//!   denial.
//! - The hub does not take over an existing namespace: it creates the cluster's namespace, or the namespace already has the
//!   cluster's label.
//! - The requester writes the cluster's labels. So it may not choose a set by them, neither by the label of a set nor by a
//!   label that a set's selector looks at.

use std::collections::BTreeMap;

use berth_api::{conditions, labels};

use crate::acceptance;
use crate::cluster_plan::ClusterPlan;
use crate::csrs::reasons;
use crate::facts::{Cluster, ClusterFacts, Now};
use crate::roles;
use berth_api::plan::{Action, Write};

#[cfg(test)]
mod tests;

/// The reason why a cluster is left to an admin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// One of [`reasons`].
    pub reason: &'static str,
    /// Text for users.
    pub words: String,
}

/// Returns the reason why neither the cluster nor a CSR of its agents is approved without an admin.
pub fn obstacle(facts: &ClusterFacts<'_>) -> Option<Obstacle> {
    let cluster = facts.cluster?;
    let found = |reason, words: String| Some(Obstacle { reason, words });
    if was_denied(facts, cluster) {
        let words = "an admin denied the cluster, or a request of its agent, before; to clear that, delete the ManagedCluster";
        return found(reasons::CLUSTER_DENIED, words.to_owned());
    }
    if let Some(set) = other_set(facts, cluster) {
        let words = format!(
            "the labels of the ManagedCluster put it into set {set:?}; only clusters of the set {:?} are accepted without an \
             admin",
            labels::DEFAULT_SET
        );
        return found(reasons::OTHER_SET, words);
    }
    if cluster.accepted {
        return None;
    }
    if let Some(words) = acceptance::obstacle(facts) {
        return found(reasons::CLUSTER_REFUSED, words);
    }
    if facts.owned.namespace.is_none() && facts.namespace_taken == Some(true) {
        let words = format!(
            "the namespace {:?} exists without the label {}={}; to give the namespace to the cluster, add the label",
            facts.name,
            labels::CLUSTER_NAME,
            facts.name
        );
        return found(reasons::NAMESPACE_TAKEN, words);
    }
    None
}

/// Returns true if the hub must be asked for the cluster's namespace ([`ClusterFacts::namespace_taken`]) before the cluster can
/// be accepted: namespaces without the label are not watched.
pub fn asks_for_namespace(facts: &ClusterFacts<'_>) -> bool {
    is_candidate(facts)
        && facts.owned.namespace.is_none()
        && obstacle(&ClusterFacts {
            namespace_taken: None,
            ..*facts
        })
        .is_none()
}

/// Returns true if the cluster may be accepted now. The namespace is created first, so that a namespace that another user
/// creates meanwhile is not taken over: `plan` gets that write if it is due.
pub(crate) fn may_accept(facts: &ClusterFacts<'_>, plan: &mut ClusterPlan) -> bool {
    if !is_candidate(facts) || obstacle(facts).is_some() {
        return false;
    }
    if facts.owned.namespace.is_some() {
        return true;
    }
    if facts.namespace_taken == Some(false) {
        let body = roles::namespace(facts.config, facts.name);
        plan.writes.push(Write {
            target: roles::target(&body),
            action: Action::Create { body },
            reconciler: acceptance::NAME,
            events: Vec::new(),
        });
    }
    false
}

/// Records an admin's denial on the ManagedCluster. The API server soon deletes the denied request. And if an admin accepts
/// the cluster again, the bootstrap token still does not become trustworthy.
pub(crate) fn remember(
    facts: &ClusterFacts<'_>,
    cluster: &Cluster,
    now: Now,
    plan: &mut ClusterPlan,
) {
    if facts.config.gates.auto_approval && !cluster.denied && was_denied(facts, cluster) {
        plan.changes
            .annotations
            .insert(labels::DENIED_ON.to_owned(), acceptance::written(now));
    }
}

/// Returns true if a listed user sent a valid request for the cluster, and it is not accepted yet.
fn is_candidate(facts: &ClusterFacts<'_>) -> bool {
    facts.config.gates.auto_approval
        && facts.trusted_request
        && facts.cluster.is_some_and(|cluster| {
            !cluster.accepted && !cluster.deleting && cluster.unreadable.is_empty()
        })
}

/// Returns true if an admin denied the cluster, or one of its requests.
///
/// For a cluster that is not accepted, each trace of an earlier acceptance proves a denial. The agent may have removed the
/// traces that it can write. The RBAC objects stay, and they exist before the agent gets any permission to write.
fn was_denied(facts: &ClusterFacts<'_>, cluster: &Cluster) -> bool {
    let owned = facts.owned;
    let was_accepted = || {
        cluster.auto_accepted_on.is_some()
            || cluster
                .condition(conditions::cluster::HUB_ACCEPTED)
                .is_some()
            || cluster.has_finalizer(labels::API_RESOURCE_CLEANUP)
            || owned.cluster_role.is_some()
            || owned.cluster_role_binding.is_some()
            || owned.registration_binding.is_some()
            || owned.work_binding.is_some()
    };
    cluster.denied
        || cluster.denied_now
        || facts.refused_request
        || (!cluster.accepted && was_accepted())
}

/// A set that the cluster's labels put it into, except `default` and the sets of every cluster.
fn other_set<'a>(facts: &ClusterFacts<'a>, cluster: &'a Cluster) -> Option<&'a str> {
    let label = cluster.labels.get(labels::CLUSTER_SET).map(String::as_str);
    if let Some(set) = label.filter(|set| !set.is_empty() && *set != labels::DEFAULT_SET) {
        return Some(set);
    }
    let none = BTreeMap::new();
    let default = BTreeMap::from([(
        labels::CLUSTER_SET.to_owned(),
        labels::DEFAULT_SET.to_owned(),
    )]);
    facts
        .sets
        .iter()
        .filter(|set| set.selects(&cluster.labels) && !set.selects(&none) && !set.selects(&default))
        .map(|set| &*set.name)
        .min()
}
