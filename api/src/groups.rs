//! API groups, resources and virtual subresources in the hub's RBAC rules, each defined once.

/// The group of clusters, their sets and placements.
pub const CLUSTER: &str = "cluster.open-cluster-management.io";

/// The group of the work API.
pub const WORK: &str = "work.open-cluster-management.io";

/// The group of add-ons.
pub const ADDON: &str = "addon.open-cluster-management.io";

/// The group of permissions without a stored object: acceptance and client certificates.
///
/// The API server serves nothing in this group, so it does not appear in discovery.
pub const REGISTER: &str = "register.open-cluster-management.io";

/// Kubernetes' group of CertificateSigningRequests.
pub const CERTIFICATES: &str = "certificates.k8s.io";

/// Kubernetes' group of Events.
pub const EVENTS: &str = "events.k8s.io";

/// Kubernetes' group of roles and their bindings.
pub const RBAC: &str = "rbac.authorization.k8s.io";

/// Resource name of `ManagedCluster`.
pub const MANAGED_CLUSTERS: &str = "managedclusters";
/// Resource name of `ManagedClusterSet`.
pub const MANAGED_CLUSTER_SETS: &str = "managedclustersets";
/// Resource name of `ManagedClusterSetBinding`.
pub const MANAGED_CLUSTER_SET_BINDINGS: &str = "managedclustersetbindings";
/// Resource name of `Placement`.
pub const PLACEMENTS: &str = "placements";
/// Resource name of `PlacementDecision`.
pub const PLACEMENT_DECISIONS: &str = "placementdecisions";
/// Resource name of `ClusterManagementAddOn`.
pub const CLUSTER_MANAGEMENT_ADDONS: &str = "clustermanagementaddons";
/// Resource name of `ManagedClusterAddOn`.
pub const MANAGED_CLUSTER_ADDONS: &str = "managedclusteraddons";
/// Resource name of `AddOnDeploymentConfig`.
pub const ADDON_DEPLOYMENT_CONFIGS: &str = "addondeploymentconfigs";
/// Resource name of `AddOnTemplate`.
pub const ADDON_TEMPLATES: &str = "addontemplates";
/// Resource name of `AddOnPlacementScore`.
pub const ADDON_PLACEMENT_SCORES: &str = "addonplacementscores";
/// Resource name of `ManifestWork`.
pub const MANIFEST_WORKS: &str = "manifestworks";
/// Resource name of `ManifestWorkReplicaSet`.
pub const MANIFEST_WORK_REPLICA_SETS: &str = "manifestworkreplicasets";
/// Resource name of `AppliedManifestWork`.
pub const APPLIED_MANIFEST_WORKS: &str = "appliedmanifestworks";

/// Subresource of `managedclusters` in [`REGISTER`]: permission to renew an agent's client certificate.
pub const CLIENT_CERTIFICATES: &str = "clientcertificates";
