//! Names of the objects that the hub keeps for its clusters. They are exactly OCM's.

use berth_api::agents;
use berth_api::names::is_dns1123_label;

/// Start of the names of the cluster-scoped RBAC objects of a cluster, and of its role bindings.
const MANAGED_CLUSTER: &str = "open-cluster-management:managedcluster:";

/// The ClusterRole that all agents have for registering.
pub const REGISTRATION_ROLE: &str = "open-cluster-management:managedcluster:registration";
/// The ClusterRole that all agents have for working.
pub const WORK_ROLE: &str = "open-cluster-management:managedcluster:work";

/// The manifest of both.
pub const AGENT_ROLES_MANIFEST: &str = "manifests/server/agent-roles.yaml";

/// The Lease in a cluster's namespace that its agent renews.
pub const CLUSTER_LEASE: &str = "managed-cluster-lease";

/// Field managers, one for each that applies: a shared one would take away what its siblings applied.
pub mod managers {
    /// Namespace, RBAC and lease of a cluster, and the condition that tells of its acceptance.
    pub const ACCEPTANCE: &str = "berth-acceptance";
    /// The ClusterRoles that all agents share.
    pub const CLUSTER_ROLES: &str = "berth-cluster-roles";
    /// `ManagedClusterConditionAvailable`, when it is unknown, and the lease.
    pub const HEARTBEAT: &str = "berth-heartbeat";
    /// `ManagedClusterConditionClockSynced`
    pub const CLOCK: &str = "berth-clock";
    /// `Available` of a ManagedClusterAddOn, when its cluster's is unknown.
    pub const ADDONS: &str = "berth-addons";
    /// `ManagedClusterReadable`
    pub const READABLE: &str = "berth-readable";
    /// `Deleting`
    pub const REMOVAL: &str = "berth-removal";
    /// `status.managedNamespaces`
    pub const MANAGED_NAMESPACES: &str = "berth-managed-namespaces";
    /// Whatever is patched, not applied.
    pub const PATCHES: &str = "berth";
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
pub fn agent_group(cluster: &str) -> String {
    format!("{}{cluster}", agents::PREFIX)
}
