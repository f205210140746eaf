//! `ClusterProfile`: a cluster, as its manager describes it to others.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;
use crate::wire::null_as_default;

/// The name of the cluster, and of its manager.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "multicluster.x-k8s.io",
    version = "v1alpha1",
    kind = "ClusterProfile",
    namespaced,
    status = "ClusterProfileStatus",
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "A cluster of a fleet, as its cluster manager describes it to tools that do not know the manager."
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterManager"]))]
pub struct ClusterProfileSpec {
    /// The name of the cluster for users.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "Option<String>")]
    pub display_name: String,

    /// The cluster manager that owns the ClusterProfile. It cannot change.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_manager: ClusterManager,
}

/// A system that manages clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    extend("required" = ["name"]),
    extend("x-kubernetes-validations" = [{
        "message": "ClusterManager is immutable",
        "rule": "self == oldSelf",
    }])
)]
pub struct ClusterManager {
    /// The name of the cluster manager. ClusterProfiles of Open Cluster Management have `open-cluster-management`.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// What is known about the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfileStatus {
    /// Ways to access the cluster, by name.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub access_providers: Vec<AccessProvider>,

    /// The state of the cluster, such as whether its control plane works.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The former name of `accessProviders`. If both name a provider, the one in `accessProviders` counts.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub credential_providers: Vec<AccessProvider>,

    /// Facts about the cluster, by name. Those of Open Cluster Management are the claims of the ManagedCluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub properties: Vec<Property>,

    /// The versions of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ClusterVersion>,
}

/// A way to access the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"]))]
pub struct AccessProvider {
    /// The API server of the cluster, as in a kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,

    /// The name of the provider, by which a consumer finds its credential plug-in.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// An API server, as in a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
#[schemars(extend("required" = ["server"]))]
pub struct Cluster {
    /// The path of a file with CA certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,

    /// CA certificates (PEM, base64-encoded) that verify the server's certificate. They count instead of `certificate-authority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "byte"))]
    pub certificate_authority_data: Option<String>,

    /// Clients ask the server not to compress responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_compression: Option<bool>,

    /// Further information, such as what a credential plug-in needs.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<NamedExtension>,

    /// Clients do not verify the server's certificate. This makes connections insecure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,

    /// The URL of the proxy for all requests: http, https or socks5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,

    /// The URL of the API server.
    #[serde(deserialize_with = "null_as_default")]
    pub server: String,

    /// The name that the server's certificate must have, if not the host of the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
}

/// Further information with a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["extension", "name"]))]
pub struct NamedExtension {
    /// The information, in a form that its name defines.
    #[schemars(schema_with = "schema::any_object")]
    pub extension: Value,

    /// The name of the information.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// A fact about the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "value"]))]
pub struct Property {
    /// When the property was last observed on the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Time>")]
    pub last_observed_time: Option<Time>,

    /// The name of the property.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// The value. Its form depends on the property.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,
}

/// The versions of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusterVersion {
    /// The version of Kubernetes.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "Option<String>")]
    pub kubernetes: String,
}
