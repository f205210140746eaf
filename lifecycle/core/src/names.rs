//! Names of the objects that the hub keeps for its clusters. They equal OCM's.

use berth_api::agents;
use berth_api::names::is_dns1123_label;

/// Prefix of the names of a cluster's RBAC objects.
const MANAGED_CLUSTER: &str = "open-cluster-management:managedcluster:";

/// The ClusterRole that all agents have for registering.
pub const REGISTRATION_ROLE: &str = "open-cluster-management:managedcluster:registration";
/// The ClusterRole that all agents have for working.
pub const WORK_ROLE: &str = "open-cluster-management:managedcluster:work";

/// The manifest of these two ClusterRoles.
pub const AGENT_ROLES_MANIFEST: &str = "manifests/server/agent-roles.yaml";

/// Field managers of server-side apply, one for each reconciler: an apply removes the fields that the same manager owns and does
/// not repeat.
pub mod managers {
    /// Namespace and RBAC of a cluster, and the condition `HubAcceptedManagedCluster`.
    pub const ACCEPTANCE: &str = "berth-acceptance";
    /// The ClusterRoles that all agents share.
    pub(crate) const CLUSTER_ROLES: &str = "berth-cluster-roles";
    /// `ManagedClusterConditionAvailable`, when it is unknown, and the lease.
    pub(crate) const HEARTBEAT: &str = "berth-heartbeat";
    /// `ManagedClusterConditionClockSynced`
    pub(crate) const CLOCK: &str = "berth-clock";
    /// `Available` of a ManagedClusterAddOn, when its cluster's is unknown.
    pub(crate) const ADDONS: &str = "berth-addons";
    /// `ManagedClusterReadable`
    pub const READABLE: &str = "berth-readable";
    /// `Deleting`
    pub(crate) const REMOVAL: &str = "berth-removal";
    /// For patches.
    pub const PATCHES: &str = "berth";
    /// OCM's controller: the name of its executable.
    pub(crate) const OCM: &str = "registration";
}

/// ClusterRole and ClusterRoleBinding of a cluster.
pub fn cluster_role(cluster: &str) -> String {
    format!("{MANAGED_CLUSTER}{cluster}")
}

/// The cluster whose ClusterRole or ClusterRoleBinding has this name.
pub fn cluster_of_role(name: &str) -> Option<&str> {
    name.strip_prefix(MANAGED_CLUSTER)
        .filter(|cluster| is_dns1123_label(cluster))
}

/// The RoleBinding in a cluster's namespace by which its agent registers.
pub fn registration_binding(cluster: &str) -> String {
    format!("{MANAGED_CLUSTER}{cluster}:registration")
}

/// The RoleBinding in a cluster's namespace by which its agent works.
pub fn work_binding(cluster: &str) -> String {
    format!("{MANAGED_CLUSTER}{cluster}:work")
}

/// The group of the agents of a cluster.
pub(crate) fn agent_group(cluster: &str) -> String {
    format!("{}{cluster}", agents::PREFIX)
}
