//! The conditions under which a write concerns the gate.

use crate::options::Options;
use crate::template::Template;

/// A condition of a policy and of a webhook's registration. It is written for Kubernetes 1.28, which has no optional fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Writes of ManagedClusters that are decided.
    Cluster,
    /// Writes of ManagedClusters that are filled in.
    ClusterDefaults,
    /// Writes of ManagedClusterSets.
    ClusterSet,
    /// Writes of ManagedClusterSetBindings.
    Binding,
    /// Writes of CertificateSigningRequests.
    Request,
    /// Writes of ManagedClusters about which policies cannot say everything, for the webhook beside them.
    Rest,
}

// === impl Guard ===

impl Guard {
    /// All conditions.
    pub const ALL: [Self; 6] = [
        Self::Cluster,
        Self::ClusterDefaults,
        Self::ClusterSet,
        Self::Binding,
        Self::Request,
        Self::Rest,
    ];

    /// Its name among the match conditions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cluster => "created-or-guarded-field-changed",
            Self::ClusterDefaults => "created-or-set-missing-or-taints-changed",
            Self::ClusterSet => "created-or-cluster-selector-changed",
            Self::Binding => "created-or-cluster-set-changed",
            Self::Request => "filed-by-an-agent-or-for-an-addon",
            Self::Rest => "accepted-or-ca-bundle-introduced",
        }
    }

    /// Its expression.
    pub fn expression(self, options: &Options) -> String {
        self.fill(&Template::new(options))
    }

    pub(crate) fn fill(self, template: &Template) -> String {
        template.at(match self {
            Self::Cluster => "guards/cluster",
            Self::ClusterDefaults => "guards/clusterDefaults",
            Self::ClusterSet => "guards/clusterSet",
            Self::Binding => "guards/binding",
            Self::Request => "guards/request",
            Self::Rest => "guards/rest",
        })
    }
}
