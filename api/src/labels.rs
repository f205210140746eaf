//! Labels, annotations, finalizers and taint keys that the hub, its agents and its users exchange.
//!
//! They are OCM's, to the letter: agents and scripts in the field read and write them. Those that OCM does not know say so.

// Labels.

/// On a ManagedCluster: the name of the exclusive set it is a member of.
pub const CLUSTER_SET: &str = "cluster.open-cluster-management.io/clusterset";
/// The key that once meant [`CLUSTER_SET`]. It has no effect any more; who writes it is warned.
pub const RETIRED_CLUSTER_SET: &str = "open-cluster-management.io/clusterset";
/// On everything the hub keeps for a cluster (namespace, RBAC, lease, CSR): that cluster's name.
pub const CLUSTER_NAME: &str = "open-cluster-management.io/cluster-name";
/// On what belongs to an add-on of a cluster: the add-on's name.
pub const ADDON_NAME: &str = "open-cluster-management.io/addon-name";
/// On a ManagedCluster, followed by an add-on's name: `available`, `unhealthy` or `unreachable`.
pub const ADDON_FEATURE_PREFIX: &str = "feature.open-cluster-management.io/addon-";
/// On a ClusterClaim: it stays on the managed cluster and is not reported to the hub.
pub const SPOKE_ONLY: &str = "open-cluster-management.io/spoke-only";

// Names of the two sets every hub has.

/// The set that clusters without a set label are put into.
pub const DEFAULT_SET: &str = "default";
/// The label-selector set that holds every cluster.
pub const GLOBAL_SET: &str = "global";

// Annotations.

/// On a ManagedCluster: when (RFC 3339) it was accepted without a person's doing. Set once, so a later denial sticks.
pub const AUTO_ACCEPTED_ON: &str = "open-cluster-management.io/automatically-accepted-on";
/// On a ManagedCluster, of Berth's own: when (RFC 3339) a person denied the cluster (`berth deny`), or the hub saw that a
/// person had denied the cluster or a request of its agent. It is then never let in without a person again.
pub const DENIED_ON: &str = "open-cluster-management.io/denied-on";
/// On a ManagedCluster, value `true`: while the cluster is not accepted, its agent has no right to work either, though
/// ManifestWorks are left. Not one of OCM's.
pub const DENY_NOW: &str = "open-cluster-management.io/deny-now";
/// On an object in a cluster's namespace: when a deleted cluster's objects go, low numbers (0 to 100) go first.
pub const CLEANUP_PRIORITY: &str = "open-cluster-management.io/cleanup-priority";
/// On a ManagedCluster, value `true`: its clock is not compared with the hub's.
pub const SKIP_CLOCK_SYNC_CHECK: &str =
    "registration.open-cluster-management.io/skip-clock-sync-check";
/// On the default or global set, value `false`: the hub no longer resets its selector.
pub const AUTO_UPDATE_SET: &str = "cluster.open-cluster-management.io/autoupdate";
/// Start of the keys of those annotations of a ManagedCluster that its agent owns.
pub const AGENT_PREFIX: &str = "agent.open-cluster-management.io";
/// On a CSR that was handed in over gRPC: who asked for it.
pub const CSR_USER: &str = "open-cluster-management.io/csr-user";

// Finalizers.

/// On a ManagedCluster: the hub still has to take back the cluster's permissions.
pub const API_RESOURCE_CLEANUP: &str = "cluster.open-cluster-management.io/api-resource-cleanup";
/// On a ManagedCluster: the hub still has to delete what is in the cluster's namespace.
pub const RESOURCE_CLEANUP: &str = "cluster.open-cluster-management.io/resource-cleanup";
/// On the work agent's RoleBinding: ManifestWorks are left that the agent must take down.
pub const MANIFEST_WORK_CLEANUP: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";

// Taint keys. Both have the effect `NoSelect` and no value.

/// The cluster's agent reports that the cluster does not work.
pub const TAINT_UNAVAILABLE: &str = "cluster.open-cluster-management.io/unavailable";
/// The cluster's agent does not report at all.
pub const TAINT_UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";
