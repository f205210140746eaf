//! A ManagedClusterSetBinding.

use berth_api::ManagedClusterSetBinding;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// A ManagedClusterSetBinding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Binding {
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub deleting: bool,
    /// spec.clusterSet
    pub cluster_set: String,
    /// status.conditions
    pub conditions: Vec<Condition>,
}

impl From<ManagedClusterSetBinding> for Binding {
    fn from(object: ManagedClusterSetBinding) -> Self {
        let metadata = object.metadata;
        Self {
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            cluster_set: object.spec.cluster_set,
            conditions: object.status.unwrap_or_default().conditions,
        }
    }
}
