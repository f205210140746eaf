//! Labels, annotations, finalizers and taint keys that the hub, its agents and its users exchange.
//!
//! They equal OCM's exactly, because existing agents and scripts read and write them. Those that OCM does not have say so.

// Labels.

/// On a ManagedCluster: the name of the exclusive set it is a member of.
pub const CLUSTER_SET: &str = "cluster.open-cluster-management.io/clusterset";
/// The former key of [`CLUSTER_SET`]. It has no effect; the gate warns when it is written.
pub const RETIRED_CLUSTER_SET: &str = "open-cluster-management.io/clusterset";
/// On objects that the hub holds for a cluster (namespace, RBAC, lease, CSR): the name of the cluster.
pub const CLUSTER_NAME: &str = "open-cluster-management.io/cluster-name";
/// On objects of a cluster's add-on: the name of the add-on.
pub const ADDON_NAME: &str = "open-cluster-management.io/addon-name";
/// On an object of an add-on in the namespace of a hosting cluster: the namespace of the ManagedClusterAddOn.
pub const ADDON_NAMESPACE: &str = "open-cluster-management.io/addon-namespace";
/// On the objects with which the agents of an add-on get tokens: the name of the add-on.
pub const TOKEN_ADDON: &str = "addon.open-cluster-management.io/name";
/// On the objects with which the agents of an add-on get tokens: `true`.
pub const TOKEN_INFRASTRUCTURE: &str = "addon.open-cluster-management.io/token-infrastructure";
/// On a ManagedCluster, followed by an add-on's name: `available`, `unhealthy` or `unreachable`.
pub const ADDON_FEATURE_PREFIX: &str = "feature.open-cluster-management.io/addon-";
/// On a PlacementDecision: the name of the Placement, in the same namespace.
pub const PLACEMENT: &str = "cluster.open-cluster-management.io/placement";
/// On a PlacementDecision: the position of its group in the Placement's status, from 0.
pub const DECISION_GROUP_INDEX: &str = "cluster.open-cluster-management.io/decision-group-index";
/// On a PlacementDecision: the name of its group. Empty for clusters without a group.
pub const DECISION_GROUP_NAME: &str = "cluster.open-cluster-management.io/decision-group-name";
/// On a ManifestWork: its ManifestWorkReplicaSet, as namespace, dot and name.
pub const REPLICA_SET: &str = "work.open-cluster-management.io/manifestworkreplicaset";
/// On a ManifestWork of a ManifestWorkReplicaSet: the name of the Placement that selects its cluster.
pub const REPLICA_SET_PLACEMENT: &str = "work.open-cluster-management.io/placementname";

// Names of the two sets that every hub has.

/// The set of clusters that have no set label.
pub const DEFAULT_SET: &str = "default";
/// The set that selects every cluster by a label selector.
pub const GLOBAL_SET: &str = "global";

// Annotations.

/// On a ManagedCluster: when (RFC 3339) it was accepted automatically. Set once, so that a later denial stays in effect.
pub const AUTO_ACCEPTED_ON: &str = "open-cluster-management.io/automatically-accepted-on";
/// On a ManagedCluster: when (RFC 3339) an admin denied the cluster (`berth deny`), or when the hub observed that an admin had
/// denied the cluster or a CSR of its agent. Such a cluster is never accepted automatically again. Not in OCM.
pub const DENIED_ON: &str = "open-cluster-management.io/denied-on";
/// On a ManagedCluster, value `true`: while the cluster is not accepted, its agent has no permissions on ManifestWorks either, even if
/// some are left. Not in OCM.
pub const DENY_NOW: &str = "open-cluster-management.io/deny-now";
/// On an object in a cluster's namespace: the order of deletion when the cluster is deleted, from 0 (first) to 100.
pub const CLEANUP_PRIORITY: &str = "open-cluster-management.io/cleanup-priority";
/// On a ManagedCluster, value `true`: the hub does not check the cluster's clock.
pub const SKIP_CLOCK_SYNC_CHECK: &str =
    "registration.open-cluster-management.io/skip-clock-sync-check";
/// On the default or global set, value `false`: the hub does not reset the selector of the set.
pub const AUTO_UPDATE_SET: &str = "cluster.open-cluster-management.io/autoupdate";
/// On a Placement, value `true`: the hub leaves the Placement and its PlacementDecisions alone.
pub const SCHEDULING_DISABLE: &str =
    "cluster.open-cluster-management.io/experimental-scheduling-disable";
/// On a ManifestWorkReplicaSet: its rollouts are paused, unless the value is `false`. Another value than `true` is the reason. Not in OCM.
pub const ROLLOUT_PAUSED: &str = "berth.open-cluster-management.io/rollout-paused";
/// On a ManifestWorkReplicaSet, value `required`: no step of a Progressive or `ProgressivePerGroup` rollout begins before it is approved by
/// [`ROLLOUT_APPROVED`]. Not in OCM.
pub const ROLLOUT_APPROVAL: &str = "berth.open-cluster-management.io/rollout-approval";
/// On a ManifestWorkReplicaSet: which template how many clusters of each placement may have. Not in OCM.
pub const ROLLOUT_APPROVED: &str = "berth.open-cluster-management.io/rollout-approved";
/// On a ManagedCluster: the registries from which it gets images instead of others, as JSON.
pub const IMAGE_REGISTRIES: &str = "open-cluster-management.io/image-registries";
/// Prefix of the annotations of add-ons. A new ManagedClusterAddOn gets those of its ManagedCluster.
pub const ADDON_PREFIX: &str = "addon.open-cluster-management.io";
/// On a ClusterManagementAddOn: who creates and configures its ManagedClusterAddOns. `addon-manager`, as without the annotation: the hub.
pub const ADDON_LIFECYCLE: &str = "addon.open-cluster-management.io/lifecycle";
/// On a ManagedClusterAddOn: the cluster on which the add-on's agent runs, if it is another one.
pub const ADDON_HOSTING_CLUSTER: &str = "addon.open-cluster-management.io/hosting-cluster-name";
/// On a ManagedClusterAddOn that the hub created for placements: the uid of its ClusterManagementAddOn, `/`, and its cluster. Only such a
/// ManagedClusterAddOn is deleted when the placements do not select its cluster any more. Not in OCM.
pub const ADDON_INSTALLED_FOR: &str = "berth.open-cluster-management.io/installed-for";
/// On a ManagedClusterAddOn of v1beta1: its `spec.installNamespace` in v1alpha1.
pub const ADDON_INSTALL_NAMESPACE: &str =
    "addon.open-cluster-management.io/v1alpha1-install-namespace";
/// On an AppliedManifestWork: an admin of the managed cluster holds back what the hub changes (`changes`), or all writes (`all`). Not in
/// OCM.
pub const HOLD: &str = "berth.open-cluster-management.io/hold";
/// On an object that the work agent applies on the server with ignored fields: the hash of its manifest.
pub const CONFIG_SPEC_HASH: &str = "open-cluster-management.io/config-spec-hash";
/// Prefix of the annotations of a ManagedCluster that its agent owns.
pub(crate) const AGENT_PREFIX: &str = "agent.open-cluster-management.io";

// Finalizers.

/// On a ManagedCluster: the hub still has to remove the cluster's permissions.
pub const API_RESOURCE_CLEANUP: &str = "cluster.open-cluster-management.io/api-resource-cleanup";
/// On a ManagedCluster: the hub still has to delete the objects in the cluster's namespace.
pub const RESOURCE_CLEANUP: &str = "cluster.open-cluster-management.io/resource-cleanup";
/// On a ManifestWork: the agent still has to delete its objects. On the work agent's RoleBinding: such ManifestWorks are left.
pub const MANIFEST_WORK_CLEANUP: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";
/// On an AppliedManifestWork: the agent still has to delete its objects.
pub const APPLIED_MANIFEST_WORK_CLEANUP: &str =
    "cluster.open-cluster-management.io/applied-manifest-work-cleanup";
/// On a ManifestWorkReplicaSet: the hub still has to delete its ManifestWorks.
pub const REPLICA_SET_CLEANUP: &str = "work.open-cluster-management.io/manifest-work-cleanup";

// Taint keys.

/// An admin keeps placements away from the cluster: with the effect `NoSelectIfNew` it is cordoned (`berth cordon`), with `NoSelect` it is
/// drained (`berth drain`). Not in OCM.
pub const TAINT_UNSCHEDULABLE: &str = "berth.open-cluster-management.io/unschedulable";

// Those that the hub adds, with the effect `NoSelect` and no value.

/// The cluster's agent reports that the cluster is not available.
pub const TAINT_UNAVAILABLE: &str = "cluster.open-cluster-management.io/unavailable";
/// The cluster's agent does not report.
pub const TAINT_UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";

/// Returns whether the hub itself adds taints with this key.
#[must_use]
pub fn is_taint_of_hub(key: &str) -> bool {
    matches!(key, TAINT_UNAVAILABLE | TAINT_UNREACHABLE)
}
