//! Condition types and reasons found in the status of this crate's kinds.
//!
//! Each kind has a module of its own; a reason stands under the condition type that it explains. The names are OCM's:
//! `kubectl wait`, dashboards and agents rely on them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Go's zero time. Kubernetes takes it for no time at all.
pub const NO_TIME: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// Since when the condition has this status. None, if it has another one, or if its time is missing.
pub fn since(condition: Option<&Condition>, status: &str) -> Option<Time> {
    condition
        .filter(|old| old.status == status && old.last_transition_time.0 != NO_TIME)
        .map(|old| old.last_transition_time.clone())
}

/// `conditions` with this one in it: at the place of the one of its type, whose time it keeps if the status is the same.
///
/// None, if it is there already.
pub fn with_condition(conditions: &[Condition], condition: Condition) -> Option<Vec<Condition>> {
    let mut conditions = conditions.to_vec();
    let Some(old) = conditions
        .iter_mut()
        .find(|old| old.type_ == condition.type_)
    else {
        conditions.push(condition);
        return Some(conditions);
    };
    if (&old.status, &old.reason, &old.message)
        == (&condition.status, &condition.reason, &condition.message)
    {
        return None;
    }
    let since = since(Some(old), &condition.status);
    *old = condition;
    if let Some(since) = since {
        old.last_transition_time = since;
    }
    Some(conditions)
}

/// `status` of a condition that holds.
pub const TRUE: &str = "True";
/// `status` of a condition that does not hold.
pub const FALSE: &str = "False";
/// `status` of a condition of which nobody can tell.
pub const UNKNOWN: &str = "Unknown";

/// Conditions of a ManagedCluster.
pub mod cluster {
    /// A hub admin let the cluster in, and what it needs on the hub is there.
    pub const HUB_ACCEPTED: &str = "HubAcceptedManagedCluster";
    /// Reason of [`HUB_ACCEPTED`]: true.
    pub const HUB_CLUSTER_ADMIN_ACCEPTED: &str = "HubClusterAdminAccepted";
    /// Reason of [`HUB_ACCEPTED`]: false, acceptance was taken back.
    pub const HUB_CLUSTER_ADMIN_DENIED: &str = "HubClusterAdminDenied";
    /// Reason of [`HUB_ACCEPTED`]: false, something the cluster needs could not be set up.
    pub const ERROR: &str = "Error";

    /// The agent has reached the hub with credentials of its own. Written by the agent.
    pub const JOINED: &str = "ManagedClusterJoined";

    /// The managed cluster works. True and False are written by the agent, Unknown by the hub.
    pub const AVAILABLE: &str = "ManagedClusterConditionAvailable";
    /// Reason of [`AVAILABLE`]: unknown, the agent no longer renews its lease.
    pub const LEASE_UPDATE_STOPPED: &str = "ManagedClusterLeaseUpdateStopped";

    /// The managed cluster's clock and the hub's agree.
    pub const CLOCK_SYNCED: &str = "ManagedClusterConditionClockSynced";
    /// Reason of [`CLOCK_SYNCED`]: true.
    pub const CLOCK_IN_SYNC: &str = "ManagedClusterClockSynced";
    /// Reason of [`CLOCK_SYNCED`]: false.
    pub const CLOCK_OUT_OF_SYNC: &str = "ManagedClusterClockOutOfSync";

    /// How far the clean-up of a deleted cluster is.
    pub const DELETING: &str = "Deleting";
    /// Reason of [`DELETING`]: false, objects are left in the cluster's namespace.
    pub const RESOURCE_REMAINING: &str = "ResourceRemaining";

    /// Reason of [`DELETING`]: true, nothing is left.
    pub const NO_RESOURCE: &str = "NoResource";
    /// Reason of [`DELETING`]: false, the clean-up failed and is tried again.
    pub const DELETING_ERROR: &str = "DeletingError";

    /// All fields of the ManagedCluster can be read. Written only for a cluster of which a field could not. Not one of OCM's.
    pub const READABLE: &str = "ManagedClusterReadable";
    /// Reason of [`READABLE`]: true.
    pub const ALL_FIELDS_READABLE: &str = "AllFieldsReadable";
    /// Reason of [`READABLE`]: false. The message names the fields.
    pub const UNREADABLE_FIELDS: &str = "UnreadableFields";

    /// The hub installed the agent on the cluster by itself.
    pub const IMPORT_SUCCEEDED: &str = "ManagedClusterImportSucceeded";
    /// The agent's client certificate is renewed. Written by the agent.
    pub const CERTIFICATE_ROTATED: &str = "ClusterCertificateRotated";
}

/// Conditions of a ManagedClusterSet.
pub mod cluster_set {
    /// No cluster belongs to the set.
    pub const EMPTY: &str = "ClusterSetEmpty";
    /// Reason of [`EMPTY`]: true.
    pub const NO_CLUSTER_MATCHED: &str = "NoClusterMatched";
    /// Reason of [`EMPTY`]: false.
    pub const CLUSTERS_SELECTED: &str = "ClustersSelected";
    /// Reason of [`EMPTY`]: unknown, the selector selects nothing that can be told. Not one of OCM's.
    pub const INVALID_SELECTOR: &str = "InvalidClusterSelector";
}

/// Conditions of a ManagedClusterSetBinding.
pub mod cluster_set_binding {
    /// The binding is in force.
    pub const BOUND: &str = "Bound";
    /// Reason of [`BOUND`]: true.
    pub const CLUSTER_SET_BOUND: &str = "ClusterSetBound";
    /// Reason of [`BOUND`]: false, the set does not exist.
    pub const CLUSTER_SET_NOT_FOUND: &str = "ClusterSetNotFound";
    /// Reason of [`BOUND`]: false, the namespace is that of an accepted ManagedCluster. Not one of OCM's.
    pub const NAMESPACE_BELONGS_TO_CLUSTER: &str = "NamespaceBelongsToCluster";
}
