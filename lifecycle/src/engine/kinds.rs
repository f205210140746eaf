//! The kinds that are watched.

use kube::core::ApiResource;

use berth_api::GroupVersionResource;
use berth_api::groups;
use berth_api::groups::RBAC;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Cluster,
    Set,
    Binding,
    Addon,
    Namespace,
    ClusterRole,
    ClusterRoleBinding,
    RoleBinding,
    Lease,
    Csr,
}

impl Kind {
    pub(crate) const ALL: [Self; 10] = [
        Self::Cluster,
        Self::Set,
        Self::Binding,
        Self::Addon,
        Self::Namespace,
        Self::ClusterRole,
        Self::ClusterRoleBinding,
        Self::RoleBinding,
        Self::Lease,
        Self::Csr,
    ];

    /// Group, versions (the preferred one first), kind and resource.
    fn parts(
        self,
    ) -> (
        &'static str,
        &'static [&'static str],
        &'static str,
        &'static str,
    ) {
        match self {
            Self::Cluster => (
                groups::CLUSTER,
                &["v1"],
                "ManagedCluster",
                groups::MANAGED_CLUSTERS,
            ),
            Self::Set => (
                groups::CLUSTER,
                &["v1beta2"],
                "ManagedClusterSet",
                groups::MANAGED_CLUSTER_SETS,
            ),
            Self::Binding => (
                groups::CLUSTER,
                &["v1beta2"],
                "ManagedClusterSetBinding",
                groups::MANAGED_CLUSTER_SET_BINDINGS,
            ),
            // Hubs of older OCM serve the second one only.
            Self::Addon => (
                "addon.open-cluster-management.io",
                &["v1beta1", "v1alpha1"],
                "ManagedClusterAddOn",
                "managedclusteraddons",
            ),
            Self::Namespace => ("", &["v1"], "Namespace", "namespaces"),
            Self::ClusterRole => (RBAC, &["v1"], "ClusterRole", "clusterroles"),
            Self::ClusterRoleBinding => {
                (RBAC, &["v1"], "ClusterRoleBinding", "clusterrolebindings")
            }
            Self::RoleBinding => (RBAC, &["v1"], "RoleBinding", "rolebindings"),
            Self::Lease => ("coordination.k8s.io", &["v1"], "Lease", "leases"),
            Self::Csr => (
                "certificates.k8s.io",
                &["v1"],
                "CertificateSigningRequest",
                "certificatesigningrequests",
            ),
        }
    }

    /// The versions to watch it in, the preferred one first.
    pub(crate) fn resources(self) -> Vec<ApiResource> {
        let (group, versions, kind, plural) = self.parts();
        let resource = |version: &&str| ApiResource {
            group: group.to_owned(),
            version: (*version).to_owned(),
            api_version: if group.is_empty() {
                (*version).to_owned()
            } else {
                format!("{group}/{version}")
            },
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        };
        versions.iter().map(resource).collect()
    }

    /// The kind of this resource, in whichever version.
    pub(crate) fn of(resource: &GroupVersionResource) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| {
            let (group, _, _, plural) = kind.parts();
            (group, plural) == (&*resource.group, &*resource.resource)
        })
    }

    /// Which objects matter.
    pub(crate) fn label_selector(self) -> Option<&'static str> {
        match self {
            Self::Cluster | Self::Set | Self::Binding | Self::Addon => None,
            _ => Some(
                "open-cluster-management.io/cluster-name,!open-cluster-management.io/addon-name",
            ),
        }
    }

    /// A hub may be without it, and all others are worked on all the same.
    pub(crate) fn is_optional(self) -> bool {
        self == Self::Addon
    }

    /// Its name in metrics and logs: the resource's.
    pub(crate) fn name(self) -> &'static str {
        self.parts().3
    }
}
