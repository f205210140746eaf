//! `ManagedCluster`: a cluster that asked to be managed by this hub.
//!
//! Reading is lenient, as the hub may hold objects written under older or newer CRDs: unknown fields and a missing
//! `spec` are taken, `null` is the default, and values outside a closed list are kept as they are. Fields that are
//! empty are not written.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::wire::null_as_default;

/// What the hub's admins decide about the cluster, and what its agent asks for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1",
    kind = "ManagedCluster",
    status = "ManagedClusterStatus",
    shortname = "mcl",
    shortname = "mcls",
    printcolumn = r#"{"name":"Hub Accepted","type":"boolean","jsonPath":".spec.hubAcceptsClient"}"#,
    printcolumn = r#"{"name":"Managed Cluster URLs","type":"string","jsonPath":".spec.managedClusterClientConfigs[*].url"}"#,
    printcolumn = r#"{"name":"Joined","type":"string","jsonPath":".status.conditions[?(@.type==\"ManagedClusterJoined\")].status"}"#,
    printcolumn = r#"{"name":"Available","type":"string","jsonPath":".status.conditions[?(@.type==\"ManagedClusterConditionAvailable\")].status"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read. kube refuses a plain `serde(...)` here, since others would break its own.
    attr = "cfg_attr(all(), serde(default))",
    doc = "A cluster that asks to be managed by this hub, or is. It is made by the cluster's agent or by an admin, and \
           counts once a hub admin has accepted it (spec.hubAcceptsClient). Its name is the cluster's name on the hub \
           and that of the namespace which belongs to the cluster."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSpec {
    /// Whether the cluster is let in. While it is true, the cluster has a namespace of its name on the hub, and its
    /// agent may work there. To change it, in either direction, takes the permission to update the subresource
    /// managedclusters/accept in the group register.open-cluster-management.io.
    #[serde(deserialize_with = "null_as_default")]
    pub hub_accepts_client: bool,

    /// How often the cluster's agent renews its lease on the hub, in seconds. An agent that is silent for five times
    /// as long is taken to be unreachable. Zero means 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 60))]
    pub lease_duration_seconds: Option<i32>,

    /// Where the cluster's API server can be reached from the hub. It is empty if there is no such way.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub managed_cluster_client_configs: Vec<ClientConfig>,

    /// Marks that keep placements without a fitting toleration from choosing the cluster. The hub itself sets
    /// cluster.open-cluster-management.io/unavailable and cluster.open-cluster-management.io/unreachable.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub taints: Vec<Taint>,
}

/// One way to reach the cluster's API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    /// PEM certificates, base64-encoded, that the API server's certificate is checked with. The system's are used if
    /// it is not set.
    // Not decoded here: a bundle that is not base64 must not make the whole cluster unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: Option<String>,

    /// The https URL of the API server.
    pub url: String,
}

/// One mark on the cluster, and what it does to placements that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// What the taint does to placements that do not tolerate it. NoSelect: they do not choose the cluster, and drop it
    /// if they had chosen it. PreferNoSelect: they choose it only if they find no other. NoSelectIfNew: they do not
    /// choose it, but keep it if they had chosen it.
    #[schemars(with = "String", extend("enum" = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]))]
    pub effect: TaintEffect,

    /// The name of the taint, such as maintenance or example.com/maintenance.
    #[schemars(length(max = 316), extend("pattern" = schema::QUALIFIED_NAME))]
    pub key: String,

    /// When the taint was added. The hub sets it; whoever adds a taint leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Time>")]
    pub time_added: Option<Time>,

    /// A value that tolerations can ask for.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 1024))]
    pub value: String,
}

/// What a taint does to placements that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaintEffect {
    /// They do not choose the cluster, and drop it if they had chosen it.
    NoSelect,
    /// They choose the cluster only if they find no other.
    PreferNoSelect,
    /// They do not choose the cluster, but keep it if they had chosen it.
    NoSelectIfNew,
    /// A value that the CRD of this version does not allow, as it was read.
    #[serde(untagged)]
    Other(String),
}

/// What is known about the cluster, most of it from its agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterStatus {
    /// What of the capacity is left for workloads.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "BTreeMap<String, schema::Quantity>")]
    pub allocatable: BTreeMap<String, Quantity>,

    /// The resources of all nodes together.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "BTreeMap<String, schema::Quantity>")]
    pub capacity: BTreeMap<String, Quantity>,

    /// The ClusterClaims of the managed cluster, as its agent reports them.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cluster_claims: Vec<ManagedClusterClaim>,

    /// Whether the cluster is accepted, has joined, is available, and so on.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The namespaces on the cluster that its sets want managed.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["clusterSet", "name"]))]
    pub managed_namespaces: Vec<ClusterSetManagedNamespaceConfig>,

    /// The versions of the managed cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ManagedClusterVersion>,
}

/// One fact that the managed cluster tells about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterClaim {
    /// The name of the ClusterClaim on the managed cluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Its value.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,
}

/// A namespace on the managed cluster that a set wants managed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSetManagedNamespaceConfig {
    /// The set that asks for the namespace.
    pub cluster_set: String,

    /// Whether the namespace is there, as the agent reports it.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The name of the namespace.
    #[schemars(length(max = 63), extend("pattern" = schema::DNS_LABEL))]
    pub name: String,
}

/// The versions of the managed cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterVersion {
    /// The version of Kubernetes.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub kubernetes: String,
}
