//! Auto-approval (gate `ManagedClusterAutoApproval`): which clusters the hub accepts without a person.
//!
//! OCM accepts every cluster, and approves every CSR of a listed user. Here a listed user is trusted with new clusters only,
//! since many clusters register with one bootstrap token, and with nothing that its request could have chosen.
//!
//! # Guarantees
//! - After a person denied a cluster, or a CSR of its agent, the hub never accepts the cluster automatically, whether it was
//!   accepted before or not. Only the deletion of the ManagedCluster ends that. An agent can change annotations and
//!   conditions of its own ManagedCluster, but not its ClusterRole: the RBAC objects that a denied cluster keeps prove the
//!   denial.
//! - The hub takes over no existing namespace: it creates the cluster's namespace, or the namespace already has the
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

/// Why a cluster is left to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// One of [`reasons`].
    pub reason: &'static str,
    /// For a person.
    pub words: String,
}

/// Why neither the cluster nor a CSR of its agents is let in without a person.
pub fn obstacle(facts: &ClusterFacts<'_>) -> Option<Obstacle> {
    let cluster = facts.cluster?;
    let found = |reason, words: String| Some(Obstacle { reason, words });
    if was_denied(facts, cluster) {
        let words = "a person denied the cluster, or a request of its agent, before; who deletes the ManagedCluster \
                     makes the hub forget it";
        return found(reasons::CLUSTER_DENIED, words.to_owned());
    }
    if let Some(set) = other_set(facts, cluster) {
        let words = format!(
            "the labels of the ManagedCluster put it into set {set:?}; only clusters of the set {:?} are let in without \
             a person",
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
            "there is a namespace {:?} without the label {}={}; who adds the label gives the namespace to the cluster",
            facts.name,
            labels::CLUSTER_NAME,
            facts.name
        );
        return found(reasons::NAMESPACE_TAKEN, words);
    }
    None
}

/// Whether the hub must be asked for the cluster's namespace ([`ClusterFacts::namespace_taken`]) before the cluster can be
/// let in: namespaces without the label are not watched.
pub fn asks_for_namespace(facts: &ClusterFacts<'_>) -> bool {
    is_candidate(facts)
        && facts.owned.namespace.is_none()
        && obstacle(&ClusterFacts {
            namespace_taken: None,
            ..*facts
        })
        .is_none()
}

/// Whether the cluster may be accepted now. The namespace is made first, so that none is taken over that somebody else
/// makes meanwhile: `plan` has that write if it is due.
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

/// Notes a person's denial on the ManagedCluster: the denied request is soon gone, and a person may accept the cluster
/// again, which does not make a bootstrap token any more trustworthy.
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

/// Whether a good request of a listed user asks to let in a cluster about which nothing was decided.
fn is_candidate(facts: &ClusterFacts<'_>) -> bool {
    facts.config.gates.auto_approval
        && facts.trusted_request
        && facts.cluster.is_some_and(|cluster| {
            !cluster.accepted && !cluster.deleting && cluster.unreadable.is_empty()
        })
}

/// Whether a person denied the cluster, or one of its requests.
///
/// Of a cluster that is not accepted, everything that acceptance leaves behind tells it. The agent may have removed what it
/// can write; the RBAC objects stay, and they are there before it gets any right to write.
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

/// The set that the cluster's labels put it into, other than `default` and those that every cluster is in.
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
