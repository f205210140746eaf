//! The webhooks of the gate, and their kinds of objects.

use crate::groups;

/// A webhook of the gate: a kind of objects, and the action on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Webhook {
    /// Sets the defaults of ManagedClusters.
    MutateCluster,
    /// Decides writes of ManagedClusters.
    ValidateCluster,
    /// Decides writes of ManagedClusterSets. OCM has no such webhook.
    ValidateClusterSet,
    /// Decides writes of ManagedClusterSetBindings.
    ValidateBinding,
    /// Decides writes of agents' CertificateSigningRequests. OCM has no such webhook.
    ValidateRequest,
    /// Decides writes of Placements. OCM has no such webhook.
    ValidatePlacement,
    /// Decides writes of ManifestWorks.
    ValidateWork,
    /// Decides writes of ManifestWorkReplicaSets. OCM has the path, and registers nothing for it.
    ValidateReplicaSet,
    /// Checks AddOnTemplates. OCM has no such webhook, nor the next ones.
    ValidateTemplate,
    /// Checks AddOnDeploymentConfigs.
    ValidateDeploymentConfig,
    /// Checks ClusterManagementAddOns.
    ValidateManagementAddOn,
    /// Checks ManagedClusterAddOns.
    ValidateClusterAddOn,
}

/// What a webhook is called for, and where.
struct Identity {
    path: &'static str,
    mutates: bool,
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
    is_namespaced: bool,
}

/// The version of the add-on API in which the API server stores the objects, and which every hub serves.
const ADDONS: &str = "v1alpha1";

// === impl Webhook ===

impl Webhook {
    /// All webhooks.
    pub const ALL: [Self; 12] = [
        Self::MutateCluster,
        Self::ValidateCluster,
        Self::ValidateClusterSet,
        Self::ValidateBinding,
        Self::ValidateRequest,
        Self::ValidatePlacement,
        Self::ValidateWork,
        Self::ValidateReplicaSet,
        Self::ValidateTemplate,
        Self::ValidateDeploymentConfig,
        Self::ValidateManagementAddOn,
        Self::ValidateClusterAddOn,
    ];

    /// The only place that has the identity of a webhook: routes, registrations, reviews and messages use it.
    const fn identity(self) -> &'static Identity {
        match self {
            Self::MutateCluster => &Identity {
                path: "/mutate-cluster-open-cluster-management-io-v1-managedcluster",
                mutates: true,
                group: groups::CLUSTER,
                version: "v1",
                kind: "ManagedCluster",
                resource: groups::MANAGED_CLUSTERS,
                is_namespaced: false,
            },
            Self::ValidateCluster => &Identity {
                path: "/validate-cluster-open-cluster-management-io-v1-managedcluster",
                mutates: false,
                group: groups::CLUSTER,
                version: "v1",
                kind: "ManagedCluster",
                resource: groups::MANAGED_CLUSTERS,
                is_namespaced: false,
            },
            Self::ValidateClusterSet => &Identity {
                path: "/validate-cluster-open-cluster-management-io-v1beta2-managedclusterset",
                mutates: false,
                group: groups::CLUSTER,
                version: "v1beta2",
                kind: "ManagedClusterSet",
                resource: groups::MANAGED_CLUSTER_SETS,
                is_namespaced: false,
            },
            Self::ValidateBinding => &Identity {
                path: "/validate-cluster-open-cluster-management-io-v1beta2-managedclustersetbinding",
                mutates: false,
                group: groups::CLUSTER,
                version: "v1beta2",
                kind: "ManagedClusterSetBinding",
                resource: groups::MANAGED_CLUSTER_SET_BINDINGS,
                is_namespaced: true,
            },
            Self::ValidateRequest => &Identity {
                path: "/validate-certificates-k8s-io-v1-certificatesigningrequest",
                mutates: false,
                group: groups::CERTIFICATES,
                version: "v1",
                kind: "CertificateSigningRequest",
                resource: "certificatesigningrequests",
                is_namespaced: false,
            },
            Self::ValidatePlacement => &Identity {
                path: "/validate-cluster-open-cluster-management-io-v1beta1-placement",
                mutates: false,
                group: groups::CLUSTER,
                version: "v1beta1",
                kind: "Placement",
                resource: groups::PLACEMENTS,
                is_namespaced: true,
            },
            Self::ValidateWork => &Identity {
                path: "/validate-work-open-cluster-management-io-v1-manifestwork",
                mutates: false,
                group: groups::WORK,
                version: "v1",
                kind: "ManifestWork",
                resource: groups::MANIFEST_WORKS,
                is_namespaced: true,
            },
            Self::ValidateReplicaSet => &Identity {
                path: "/validate-work-open-cluster-management-io-v1alpha1-manifestworkreplicaset",
                mutates: false,
                group: groups::WORK,
                version: "v1alpha1",
                kind: "ManifestWorkReplicaSet",
                resource: groups::MANIFEST_WORK_REPLICA_SETS,
                is_namespaced: true,
            },
            Self::ValidateTemplate => &Identity {
                path: "/validate-addon-open-cluster-management-io-v1alpha1-addontemplate",
                mutates: false,
                group: groups::ADDON,
                version: ADDONS,
                kind: "AddOnTemplate",
                resource: groups::ADDON_TEMPLATES,
                is_namespaced: false,
            },
            Self::ValidateDeploymentConfig => &Identity {
                path: "/validate-addon-open-cluster-management-io-v1alpha1-addondeploymentconfig",
                mutates: false,
                group: groups::ADDON,
                version: ADDONS,
                kind: "AddOnDeploymentConfig",
                resource: groups::ADDON_DEPLOYMENT_CONFIGS,
                is_namespaced: true,
            },
            Self::ValidateManagementAddOn => &Identity {
                path: "/validate-addon-open-cluster-management-io-v1alpha1-clustermanagementaddon",
                mutates: false,
                group: groups::ADDON,
                version: ADDONS,
                kind: "ClusterManagementAddOn",
                resource: groups::CLUSTER_MANAGEMENT_ADDONS,
                is_namespaced: false,
            },
            Self::ValidateClusterAddOn => &Identity {
                path: "/validate-addon-open-cluster-management-io-v1alpha1-managedclusteraddon",
                mutates: false,
                group: groups::ADDON,
                version: ADDONS,
                kind: "ManagedClusterAddOn",
                resource: groups::MANAGED_CLUSTER_ADDONS,
                is_namespaced: true,
            },
        }
    }

    /// Returns its URL path: action, group, version and kind, by the convention of controller-runtime.
    pub const fn path(self) -> &'static str {
        self.identity().path
    }

    /// Returns true if it can change objects.
    pub const fn mutates(self) -> bool {
        self.identity().mutates
    }

    /// Returns the API group of its objects.
    pub const fn group(self) -> &'static str {
        self.identity().group
    }

    /// Returns the version of its objects.
    pub const fn version(self) -> &'static str {
        self.identity().version
    }

    /// Returns the kind of its objects.
    pub const fn kind(self) -> &'static str {
        self.identity().kind
    }

    /// Returns the resource of its objects.
    pub const fn resource(self) -> &'static str {
        self.identity().resource
    }

    /// Returns true if its objects have a namespace.
    pub const fn is_namespaced(self) -> bool {
        self.identity().is_namespaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_the_convention_of_controller_runtime() {
        for webhook in Webhook::ALL {
            let verb = if webhook.mutates() {
                "mutate"
            } else {
                "validate"
            };
            let group = webhook.group().replace('.', "-");
            let kind = webhook.kind().to_lowercase();
            let path = format!("/{verb}-{group}-{}-{kind}", webhook.version());
            assert_eq!(webhook.path(), path);
        }
    }
}
