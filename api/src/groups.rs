//! The API groups, resources and virtual subresources that the hub's permissions are written in.
//!
//! RBAC rules on a hub name exactly these strings, so they are spelled once, here.

/// The group of the stored types of this crate.
pub const CLUSTER: &str = "cluster.open-cluster-management.io";

/// The group in which roles grant what no stored object stands for: acceptance and client certificates.
///
/// Nothing is served under it, so it does not appear in discovery.
pub const REGISTER: &str = "register.open-cluster-management.io";

/// Kubernetes' group of CertificateSigningRequests.
pub const CERTIFICATES: &str = "certificates.k8s.io";

/// Kubernetes' group of roles and their bindings.
pub const RBAC: &str = "rbac.authorization.k8s.io";

/// Resource name of `ManagedCluster`.
pub const MANAGED_CLUSTERS: &str = "managedclusters";
/// Resource name of `ManagedClusterSet`.
pub const MANAGED_CLUSTER_SETS: &str = "managedclustersets";
/// Resource name of `ManagedClusterSetBinding`.
pub const MANAGED_CLUSTER_SET_BINDINGS: &str = "managedclustersetbindings";
/// Resource name of `ClusterClaim`, which lives on the managed clusters.
pub const CLUSTER_CLAIMS: &str = "clusterclaims";

/// Subresource of `managedclusters` in [`REGISTER`]: who may let a cluster in, or turn it out.
pub const ACCEPT: &str = "accept";
/// Subresource of `managedclusters` in [`REGISTER`]: who may renew an agent's client certificate.
pub const CLIENT_CERTIFICATES: &str = "clientcertificates";
/// Subresource of `managedclustersets` in [`CLUSTER`]: who may put clusters into a set, or take them out.
pub const JOIN: &str = "join";
/// Subresource of `managedclustersets` in [`CLUSTER`]: who may bind a set to a namespace.
pub const BIND: &str = "bind";
