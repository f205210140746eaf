//! `ManagedClusterSetBinding`: lets one namespace place workloads on one set.
//!
//! Read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::wire::null_as_default;

/// The set that is bound.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSetBinding",
    namespaced,
    status = "ManagedClusterSetBindingStatus",
    shortname = "mclsetbinding",
    shortname = "mclsetbindings",
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "Lets the workloads of its namespace be placed on the clusters of one ManagedClusterSet. Creating one \
           needs permission to create the subresource managedclustersets/bind of that set, and to create bindings in the \
           namespace."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSetBindingSpec {
    /// The name of the ManagedClusterSet. It equals the name of the binding, so it cannot change.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub cluster_set: String,
}

/// The observed state of the binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSetBindingStatus {
    /// The state of the binding, such as whether the set exists.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Vec<schema::Condition>")]
    pub conditions: Vec<Condition>,
}
