//! A ManagedClusterSet.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_api::ManagedClusterSet;
use berth_api::cluster_set::{ManagedClusterSelector, Membership};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// A ManagedClusterSet.
#[derive(Clone, Debug)]
pub struct ClusterSet {
    /// Its name.
    pub name: Arc<str>,
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub deleting: bool,
    /// The annotation `cluster.open-cluster-management.io/autoupdate` is `false`: the hub leaves its selector alone.
    pub keeps_selector: bool,
    /// spec.clusterSelector
    pub selector: ManagedClusterSelector,
    /// The parsed selector, or the mistakes in it.
    pub membership: Result<Membership, String>,
    /// Names in spec.managedNamespaces.
    pub managed_namespaces: Vec<String>,
    /// status.conditions
    pub conditions: Vec<Condition>,
}

// === impl ClusterSet ===

impl ClusterSet {
    /// Returns true if a cluster with these labels belongs to it. False while its selector is invalid.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.membership
            .as_ref()
            .is_ok_and(|membership| membership.matches(labels))
    }
}

impl From<ManagedClusterSet> for ClusterSet {
    fn from(object: ManagedClusterSet) -> Self {
        let metadata = object.metadata;
        let name: Arc<str> = metadata.name.unwrap_or_default().into();
        let annotations = metadata.annotations.unwrap_or_default();
        Self {
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            keeps_selector: annotations
                .get(berth_api::labels::AUTO_UPDATE_SET)
                .is_some_and(|value| value == "false"),
            membership: Membership::new(&name, &object.spec.cluster_selector),
            selector: object.spec.cluster_selector,
            managed_namespaces: object
                .spec
                .managed_namespaces
                .into_iter()
                .map(|namespace| namespace.name)
                .collect(),
            conditions: object.status.unwrap_or_default().conditions,
            name,
        }
    }
}
