//! The parts of the hub's objects that placements read.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_api::cluster::Taint;
use berth_api::quantity::amount;
use berth_api::{AddOnPlacementScore, ManagedCluster, PlacementDecision, labels};
use jiff::Timestamp;

use crate::cel::CelObject;
use crate::prioritizers::Resource;

/// A managed cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// The cluster's name.
    pub name: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// `status.clusterClaims`. Of several claims with one name, the last counts.
    pub claims: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// The allocatable CPU; `None` unless allocatable and capacity are both known.
    pub cpu: Option<f64>,
    /// The allocatable memory; `None` unless allocatable and capacity are both known.
    pub memory: Option<f64>,
    /// The cluster is being deleted, so it is not selected.
    pub is_deleting: bool,
    /// The whole object, for CEL expressions. Without it, no expression selects the cluster.
    pub object: Option<Arc<CelObject>>,
}

/// The scores of an AddOnPlacementScore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// The scores by name.
    pub values: BTreeMap<String, i32>,
    /// Until when they are valid; `None` means for ever.
    pub valid_until: Option<Timestamp>,
}

/// A PlacementDecision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The namespace.
    pub namespace: String,
    /// The placement that its label names. A decision without the label counts, but belongs to no placement.
    pub placement: Option<String>,
    /// The clusters that it lists.
    pub clusters: Vec<String>,
}

// === impl Cluster ===

impl Cluster {
    /// The allocatable amount of a resource, if it is known.
    #[must_use]
    pub fn allocatable(&self, resource: Resource) -> Option<f64> {
        match resource {
            Resource::Cpu => self.cpu,
            Resource::Memory => self.memory,
        }
    }
}

/// Without the whole object.
impl From<&ManagedCluster> for Cluster {
    fn from(cluster: &ManagedCluster) -> Self {
        let status = cluster.status.as_ref();
        let allocatable = |resource: &str| {
            let status = status?;
            status.capacity.get(resource)?;
            amount(&status.allocatable.get(resource)?.0)
        };
        let claims = status.map_or(&[][..], |status| &status.cluster_claims);
        let claims = claims
            .iter()
            .map(|claim| (claim.name.clone(), claim.value.clone()));
        Self {
            name: cluster.metadata.name.clone().unwrap_or_default(),
            labels: cluster.metadata.labels.clone().unwrap_or_default(),
            claims: claims.collect(),
            taints: cluster.spec.taints.clone(),
            cpu: allocatable("cpu"),
            memory: allocatable("memory"),
            is_deleting: cluster.metadata.deletion_timestamp.is_some(),
            object: None,
        }
    }
}

// === impl Scores ===

impl Scores {
    /// Returns true if the scores are not valid any more.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| now > until)
    }
}

impl From<&AddOnPlacementScore> for Scores {
    fn from(object: &AddOnPlacementScore) -> Self {
        let Some(status) = &object.status else {
            return Self::default();
        };
        let values = status.scores.iter();
        let values = values.map(|score| (score.name.clone(), score.value));
        Self {
            values: values.collect(),
            valid_until: status.valid_until.as_ref().map(|until| until.0),
        }
    }
}

// === impl Decision ===

impl Decision {
    /// Returns whether the decision belongs to this placement.
    #[must_use]
    pub fn is_of(&self, namespace: &str, placement: &str) -> bool {
        self.namespace == namespace && self.placement.as_deref() == Some(placement)
    }
}

impl From<&PlacementDecision> for Decision {
    fn from(object: &PlacementDecision) -> Self {
        let placement = object.metadata.labels.as_ref();
        let placement = placement.and_then(|all| all.get(labels::PLACEMENT));
        let listed = object.status.iter().flat_map(|status| &status.decisions);
        Self {
            namespace: object.metadata.namespace.clone().unwrap_or_default(),
            placement: placement.cloned(),
            clusters: listed.map(|it| it.cluster_name.clone()).collect(),
        }
    }
}
