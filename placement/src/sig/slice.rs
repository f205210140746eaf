//! What the controller keeps of a slice.

use std::collections::{BTreeMap, HashSet};

use berth_api::inventory::{
    DECISION_INDEX, MANAGER, OPEN_CLUSTER_MANAGEMENT, PLACEMENT_KEY, PlacementDecision,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::facts::{Doubt, Owner};

/// A PlacementDecision of SIG-Multicluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct SliceFacts {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) is_deleting: bool,
    /// The labels that the controller writes.
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) owners: Vec<OwnerReference>,
    /// The clusters that it lists, each once: those with a reference to a ClusterProfile in its own namespace.
    pub(crate) clusters: Vec<String>,
    /// The content has the form in which the controller writes it: all references, and the name of the scheduler.
    pub(crate) is_exact: bool,
    /// Clusters that a write with an unknown outcome may still remove. A later state of the object has none.
    pub(crate) doubt: Option<Doubt>,
}

// === impl SliceFacts ===

impl SliceFacts {
    /// The placement that the labels name. `None` if another scheduler wrote the object: users and schedulers choose placement keys
    /// freely.
    pub(crate) fn placement(&self) -> Option<&str> {
        let manager = self.labels.get(MANAGER)?;
        let placement = self.labels.get(PLACEMENT_KEY)?;
        (manager == OPEN_CLUSTER_MANAGEMENT).then_some(placement)
    }

    /// The position among the slices, by the label.
    pub(super) fn index(&self) -> Option<usize> {
        self.labels.get(DECISION_INDEX)?.parse().ok()
    }

    /// The reference to the object that controls it.
    pub(crate) fn controller(&self) -> Option<&OwnerReference> {
        let mut owners = self.owners.iter();
        owners.find(|owner| owner.controller == Some(true))
    }

    /// Returns whether the slice belongs to the placement: the placement controls it, or its labels name the placement and no object
    /// controls it.
    pub(crate) fn belongs_to(&self, owner: Owner<'_>) -> bool {
        match self.controller() {
            Some(controller) => controller.uid == owner.uid,
            None => self.placement() == Some(owner.name),
        }
    }

    /// The number in the name, if the placement may use the slice.
    pub(super) fn number(&self, owner: Owner<'_>) -> Option<u64> {
        let (_, number) = self.name.rsplit_once("-decision-")?;
        let number = number.parse().ok().filter(|it| *it > 0)?;
        (self.name == owner.decision(number) && !self.is_deleting).then_some(number)
    }

    /// Returns whether the slice has these labels, besides any others.
    pub(super) fn is_labelled(&self, labels: &BTreeMap<&str, String>) -> bool {
        let mut labels = labels.iter();
        labels.all(|(key, value)| self.labels.get(*key) == Some(value))
    }

    pub(super) fn lists(&self, cluster: &str) -> bool {
        self.clusters.iter().any(|it| it == cluster)
    }

    /// Returns whether it lists the cluster, and no earlier write can remove it any more.
    pub(super) fn surely_lists(&self, cluster: &str, now: Timestamp) -> bool {
        let doubt = self.doubt.as_ref().filter(|it| now < it.until);
        self.lists(cluster) && doubt.is_none_or(|it| !it.clusters.contains(cluster))
    }
}

impl From<PlacementDecision> for SliceFacts {
    fn from(object: PlacementDecision) -> Self {
        let metadata = object.metadata;
        let namespace = metadata.namespace.unwrap_or_default();
        let mut is_exact = object.scheduler_name == OPEN_CLUSTER_MANAGEMENT;
        let mut listed = HashSet::new();
        let mut clusters = Vec::new();
        for decision in object.decisions {
            let profile = decision.cluster_profile_ref;
            let is_here = profile.namespace.is_empty() || profile.namespace == namespace;
            let is_news = is_here && listed.insert(profile.name.clone());
            is_exact &= is_news && !profile.namespace.is_empty() && decision.reason.is_empty();
            if is_news {
                clusters.push(profile.name);
            }
        }
        Self {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            labels: metadata.labels.unwrap_or_default(),
            owners: metadata.owner_references.unwrap_or_default(),
            clusters,
            is_exact,
            doubt: None,
        }
    }
}
