//! `ClusterClaim`: a fact that a managed cluster reports about itself to the hub. It is stored on the managed cluster.
//!
//! Read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::null_as_default;

/// The value of the claim.
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
    doc = "A fact that a managed cluster reports about itself to the hub, such as its identity (id.k8s.io) or its platform \
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
