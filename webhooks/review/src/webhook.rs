//! The webhooks of the gate, and their kinds of objects.

use berth_api::groups;

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
}

impl Webhook {
    /// All webhooks.
    pub const ALL: [Self; 8] = [
        Self::MutateCluster,
        Self::ValidateCluster,
        Self::ValidateClusterSet,
        Self::ValidateBinding,
        Self::ValidateRequest,
        Self::ValidatePlacement,
        Self::ValidateWork,
        Self::ValidateReplicaSet,
    ];

    /// Returns the API group of its objects.
    pub const fn group(self) -> &'static str {
        match self {
            Self::ValidateRequest => groups::CERTIFICATES,
            Self::ValidateWork | Self::ValidateReplicaSet => groups::WORK,
            _ => groups::CLUSTER,
        }
    }

    /// Returns the version of its objects.
    pub const fn version(self) -> &'static str {
        match self {
            Self::MutateCluster
            | Self::ValidateCluster
            | Self::ValidateRequest
            | Self::ValidateWork => "v1",
            Self::ValidateReplicaSet => "v1alpha1",
            Self::ValidateClusterSet | Self::ValidateBinding => "v1beta2",
            Self::ValidatePlacement => "v1beta1",
        }
    }

    /// Returns the kind of its objects.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::MutateCluster | Self::ValidateCluster => "ManagedCluster",
            Self::ValidateClusterSet => "ManagedClusterSet",
            Self::ValidateBinding => "ManagedClusterSetBinding",
            Self::ValidateRequest => "CertificateSigningRequest",
            Self::ValidatePlacement => "Placement",
            Self::ValidateWork => "ManifestWork",
            Self::ValidateReplicaSet => "ManifestWorkReplicaSet",
        }
    }

    /// Returns the resource of its objects.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::MutateCluster | Self::ValidateCluster => "managedclusters",
            Self::ValidateClusterSet => "managedclustersets",
            Self::ValidateBinding => "managedclustersetbindings",
            Self::ValidateRequest => "certificatesigningrequests",
            Self::ValidatePlacement => "placements",
            Self::ValidateWork => groups::MANIFEST_WORKS,
            Self::ValidateReplicaSet => groups::MANIFEST_WORK_REPLICA_SETS,
        }
    }

    /// Returns true if it can change objects.
    pub const fn mutates(self) -> bool {
        matches!(self, Self::MutateCluster)
    }

    /// Returns the path of the webhook by the convention of controller-runtime: action, group, version and kind.
    pub fn conventional_path(self) -> String {
        let verb = if self.mutates() { "mutate" } else { "validate" };
        let (group, kind) = (self.group().replace('.', "-"), self.kind().to_lowercase());
        format!("/{verb}-{group}-{}-{kind}", self.version())
    }
}
