//! Which objects the gate reviews.

use berth_api::groups;

/// A webhook of the gate: a kind of objects, and what is done with them. Paths and names are OCM's, so that OCM's
/// registrations find this gate, and ours replace OCM's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Webhook {
    /// Fills in the defaults of ManagedClusters.
    MutateCluster,
    /// Decides writes of ManagedClusters.
    ValidateCluster,
    /// Decides writes of ManagedClusterSets. OCM has no such webhook.
    ValidateClusterSet,
    /// Decides writes of ManagedClusterSetBindings.
    ValidateBinding,
    /// Decides writes of agents' CertificateSigningRequests. OCM has no such webhook.
    ValidateRequest,
}

impl Webhook {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::MutateCluster,
        Self::ValidateCluster,
        Self::ValidateClusterSet,
        Self::ValidateBinding,
        Self::ValidateRequest,
    ];

    /// The API group of its objects.
    pub const fn group(self) -> &'static str {
        match self {
            Self::ValidateRequest => groups::CERTIFICATES,
            _ => groups::CLUSTER,
        }
    }

    /// The version of its objects.
    pub const fn version(self) -> &'static str {
        match self {
            Self::MutateCluster | Self::ValidateCluster | Self::ValidateRequest => "v1",
            Self::ValidateClusterSet | Self::ValidateBinding => "v1beta2",
        }
    }

    /// The kind of its objects.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::MutateCluster | Self::ValidateCluster => "ManagedCluster",
            Self::ValidateClusterSet => "ManagedClusterSet",
            Self::ValidateBinding => "ManagedClusterSetBinding",
            Self::ValidateRequest => "CertificateSigningRequest",
        }
    }

    /// The resource of its objects.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::MutateCluster | Self::ValidateCluster => "managedclusters",
            Self::ValidateClusterSet => "managedclustersets",
            Self::ValidateBinding => "managedclustersetbindings",
            Self::ValidateRequest => "certificatesigningrequests",
        }
    }

    /// Whether it may change objects.
    pub const fn mutates(self) -> bool {
        matches!(self, Self::MutateCluster)
    }

    /// The path of a webhook for such objects by the convention of controller-runtime: what is done, group, version and kind.
    pub(crate) fn conventional_path(self) -> String {
        let verb = if self.mutates() { "mutate" } else { "validate" };
        let (group, kind) = (self.group().replace('.', "-"), self.kind().to_lowercase());
        format!("/{verb}-{group}-{}-{kind}", self.version())
    }
}

/// Where it is served, and what it is registered as.
impl Webhook {
    /// The path it is served under.
    pub const fn path(self) -> &'static str {
        match self {
            Self::MutateCluster => "/mutate-cluster-open-cluster-management-io-v1-managedcluster",
            Self::ValidateCluster => {
                "/validate-cluster-open-cluster-management-io-v1-managedcluster"
            }
            Self::ValidateClusterSet => {
                "/validate-cluster-open-cluster-management-io-v1beta2-managedclusterset"
            }
            Self::ValidateBinding => {
                "/validate-cluster-open-cluster-management-io-v1beta2-managedclustersetbinding"
            }
            Self::ValidateRequest => "/validate-certificates-k8s-io-v1-certificatesigningrequest",
        }
    }

    /// The name of its registration, and of the webhook in it.
    pub const fn registration(self) -> &'static str {
        match self {
            Self::MutateCluster => {
                "managedclustermutators.admission.cluster.open-cluster-management.io"
            }
            Self::ValidateCluster => {
                "managedclustervalidators.admission.cluster.open-cluster-management.io"
            }
            Self::ValidateClusterSet => {
                "managedclustersetvalidators.admission.cluster.open-cluster-management.io"
            }
            Self::ValidateBinding => {
                "managedclustersetbindingvalidators.admission.cluster.open-cluster-management.io"
            }
            Self::ValidateRequest => {
                "certificatesigningrequestvalidators.admission.cluster.open-cluster-management.io"
            }
        }
    }

    /// The webhook served under a path.
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|webhook| webhook.path() == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_the_convention() {
        for webhook in Webhook::ALL {
            assert_eq!(webhook.path(), webhook.conventional_path());
        }
    }
}
