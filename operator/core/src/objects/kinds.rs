//! The kinds of the objects that an operator writes.

use berth_api::GroupVersionResource;
use serde_json::Value;

/// A kind of objects that an operator writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// CustomResourceDefinition.
    Definition,
    /// Namespace.
    Namespace,
    /// ServiceAccount.
    Account,
    /// ClusterRole.
    ClusterRole,
    /// ClusterRoleBinding.
    ClusterRoleBinding,
    /// Role.
    Role,
    /// RoleBinding.
    RoleBinding,
    /// Secret. Its content is the work of others, and is not read.
    Secret,
    /// Service.
    Service,
    /// PodDisruptionBudget.
    DisruptionBudget,
    /// NetworkPolicy.
    NetworkPolicy,
    /// Deployment.
    Deployment,
    /// MutatingWebhookConfiguration.
    MutatingWebhooks,
    /// ValidatingWebhookConfiguration.
    ValidatingWebhooks,
}

/// What the API calls a kind.
struct Names {
    group: &'static str,
    resource: &'static str,
    kind: &'static str,
}

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

// === impl Kind ===

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Definition,
        Self::Namespace,
        Self::Account,
        Self::ClusterRole,
        Self::ClusterRoleBinding,
        Self::Role,
        Self::RoleBinding,
        Self::Secret,
        Self::Service,
        Self::DisruptionBudget,
        Self::NetworkPolicy,
        Self::Deployment,
        Self::MutatingWebhooks,
        Self::ValidatingWebhooks,
    ];

    const fn names(self) -> Names {
        let (group, resource, kind) = match self {
            Self::Definition => (
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                "CustomResourceDefinition",
            ),
            Self::Namespace => ("", "namespaces", "Namespace"),
            Self::Account => ("", "serviceaccounts", "ServiceAccount"),
            Self::ClusterRole => (RBAC, "clusterroles", "ClusterRole"),
            Self::ClusterRoleBinding => (RBAC, "clusterrolebindings", "ClusterRoleBinding"),
            Self::Role => (RBAC, "roles", "Role"),
            Self::RoleBinding => (RBAC, "rolebindings", "RoleBinding"),
            Self::Secret => ("", "secrets", "Secret"),
            Self::Service => ("", "services", "Service"),
            Self::DisruptionBudget => ("policy", "poddisruptionbudgets", "PodDisruptionBudget"),
            Self::NetworkPolicy => ("networking.k8s.io", "networkpolicies", "NetworkPolicy"),
            Self::Deployment => ("apps", "deployments", "Deployment"),
            Self::MutatingWebhooks => (
                ADMISSION,
                "mutatingwebhookconfigurations",
                "MutatingWebhookConfiguration",
            ),
            Self::ValidatingWebhooks => (
                ADMISSION,
                "validatingwebhookconfigurations",
                "ValidatingWebhookConfiguration",
            ),
        };
        Names {
            group,
            resource,
            kind,
        }
    }

    /// The kind of an object; `None` for one that operators do not write.
    #[must_use]
    pub fn of(object: &Value) -> Option<Self> {
        let kind = object["kind"].as_str()?;
        Self::ALL.into_iter().find(|it| it.names().kind == kind)
    }

    /// Its resource. All of them are `v1`.
    #[must_use]
    pub fn resource(self) -> GroupVersionResource {
        let Names {
            group, resource, ..
        } = self.names();
        GroupVersionResource::new(group, "v1", resource)
    }

    /// Its name in logs and metrics: that of its resource.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.names().resource
    }

    /// Its name in messages.
    #[must_use]
    pub fn kind(self) -> &'static str {
        self.names().kind
    }

    /// Returns whether an object of this kind that is not wanted any more is deleted. Namespaces, CRDs and Secrets contain what others wrote.
    #[must_use]
    pub fn is_pruned(self) -> bool {
        !matches!(self, Self::Definition | Self::Namespace | Self::Secret)
    }

    /// Returns whether its objects have the API server call a server.
    #[must_use]
    pub fn is_guard(self) -> bool {
        matches!(self, Self::MutatingWebhooks | Self::ValidatingWebhooks)
    }

    /// Returns whether its objects give roles.
    pub(crate) fn is_binding(self) -> bool {
        matches!(self, Self::ClusterRoleBinding | Self::RoleBinding)
    }

    /// Returns whether its objects have no namespace.
    #[must_use]
    pub fn is_cluster_scoped(self) -> bool {
        matches!(
            self,
            Self::Definition
                | Self::Namespace
                | Self::ClusterRole
                | Self::ClusterRoleBinding
                | Self::MutatingWebhooks
                | Self::ValidatingWebhooks
        )
    }
}
