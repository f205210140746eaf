//! `ManagedClusterAddOn` (`addon.open-cluster-management.io/v1beta1`): an add-on on a cluster, as far as it is shown.
//!
//! Read as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::wire::null_as_default;

/// What the add-on is asked to be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1beta1",
    kind = "ManagedClusterAddOn",
    plural = "managedclusteraddons",
    namespaced,
    status = "ManagedClusterAddOnStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "An add-on on the cluster of its namespace."
)]
#[serde(default)]
pub struct ManagedClusterAddOnSpec {}

/// The state of the add-on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterAddOnStatus {
    /// The conditions that the add-on's manager and the cluster's agent report.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,

    /// The namespace of the add-on's agent on the cluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,
}
