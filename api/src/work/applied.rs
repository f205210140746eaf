//! `AppliedManifestWork`: what an agent has applied for a ManifestWork. It is stored on the managed cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::wire::null_as_default;

/// The ManifestWork on its hub.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "work.open-cluster-management.io",
    version = "v1",
    kind = "AppliedManifestWork",
    status = "AppliedManifestWorkStatus",
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "The objects that an agent applied on this cluster for a ManifestWork of a hub. It owns these objects: if it is \
           deleted, they are deleted too. Its name is the hub's hash, a hyphen, and the name of the ManifestWork."
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["hubHash", "manifestWorkName"]))]
pub struct AppliedManifestWorkSpec {
    /// The ID of the agent that manages the AppliedManifestWork. Other agents leave it alone.
    #[serde(rename = "agentID", deserialize_with = "null_as_default")]
    pub agent_id: String,

    /// The hash of the hub's address, which identifies the hub.
    #[serde(deserialize_with = "null_as_default")]
    pub hub_hash: String,

    /// The name of the ManifestWork on the hub.
    #[serde(deserialize_with = "null_as_default")]
    pub manifest_work_name: String,
}

/// The objects on the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppliedManifestWorkStatus {
    /// The objects that were applied. An object that is no longer in the ManifestWork is deleted, and stays in this list until it is
    /// gone.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub applied_resources: Vec<AppliedManifestResourceMeta>,

    /// Since when the ManifestWork is missing on the hub, or the agent has another hub. After a grace period the AppliedManifestWork is
    /// deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Time>")]
    pub eviction_start_time: Option<Time>,
}

/// An object that was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "resource", "version"]))]
pub struct AppliedManifestResourceMeta {
    /// The API group of the object. Empty for the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The name of the object.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,

    /// The namespace of the object. Empty for an object without a namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,

    /// The resource of the object: the plural name of its kind, such as deployments.
    #[serde(deserialize_with = "null_as_default")]
    pub resource: String,

    /// The UID of the object. Another object of the same name is not deleted in its place.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub uid: String,

    /// The API version of the object.
    #[serde(deserialize_with = "null_as_default")]
    pub version: String,
}
