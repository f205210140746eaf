//! `ClusterClaim`: one fact that a managed cluster tells the hub about itself. It is stored on the managed cluster.
//!
//! Read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::null_as_default;

/// Names of claims that the agent reports before all others, whatever their number.
pub const RESERVED_NAMES: [&str; 4] = [
    "id.k8s.io",
    "kubeversion.open-cluster-management.io",
    "platform.open-cluster-management.io",
    "product.open-cluster-management.io",
];

/// What is claimed.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ClusterClaim",
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "One fact that a managed cluster tells the hub about itself, such as its identity (id.k8s.io) or its platform \
           (platform.open-cluster-management.io). The agent copies it into the status of the ManagedCluster on the hub."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterClaimSpec {
    /// The value of the claim.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,
}
