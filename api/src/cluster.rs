//! `ManagedCluster`: a cluster that asks to be managed by this hub.
//!
//! Reading is lenient, because the hub may hold objects that were written with older or newer CRDs: unknown fields are ignored, a
//! missing `spec` is accepted, `null` means the default, and unknown enum values are kept. Empty fields are not written.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::wire::{null_as_default, text_of};

/// The name of the Lease in a cluster's namespace on the hub. The hub creates the Lease, and the cluster's agent renews it. If the agent
/// does not, the hub sets the condition `ManagedClusterConditionAvailable` to Unknown. OCM's hub and agents use the same name.
pub const CLUSTER_LEASE: &str = "managed-cluster-lease";

/// The decisions of hub admins about the cluster, and the requests of its agent.
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
    // Allows an object without a spec. kube refuses a plain `serde(...)` here, because it could conflict with kube's own.
    attr = "cfg_attr(all(), serde(default))",
    doc = "A cluster that is managed by this hub, or asks to be. The cluster's agent or an admin creates it. It has no \
           effect until a hub admin accepts it (spec.hubAcceptsClient). Its name is the cluster's name on the hub, and \
           the name of the cluster's namespace."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSpec {
    /// Accepts the cluster. While it is true, the cluster has a namespace of its name on the hub, and its agent has
    /// permissions there. A change in either direction needs permission to update the subresource
    /// managedclusters/accept in the group register.open-cluster-management.io.
    #[serde(deserialize_with = "null_as_default")]
    pub hub_accepts_client: bool,

    /// The interval in seconds at which the cluster's agent renews its lease on the hub. If the agent does not renew
    /// it for five times as long, the cluster is unreachable. Zero means 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 60))]
    pub lease_duration_seconds: Option<i32>,

    /// The addresses of the cluster's API server for the hub. Empty if the hub cannot reach it.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub managed_cluster_client_configs: Vec<ClientConfig>,

    /// Taints, which prevent placements without a matching toleration from selecting the cluster. The hub sets
    /// cluster.open-cluster-management.io/unavailable and cluster.open-cluster-management.io/unreachable.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub taints: Vec<Taint>,
}

/// An address of the cluster's API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    /// CA certificates (PEM, base64-encoded) that verify the API server's certificate. If absent, the system's CA
    /// certificates are used.
    // Not decoded here: a bundle that is not base64 must not make the whole cluster unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: Option<String>,

    /// The https URL of the API server.
    pub url: String,
}

/// A taint on the cluster, and its effect on placements that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// The effect on placements that do not tolerate the taint. NoSelect: they do not select the cluster, and remove it
    /// if it was selected. PreferNoSelect: they select it only if they find no other cluster. NoSelectIfNew: they do
    /// not select it, but keep it if it was selected.
    #[schemars(with = "String", extend("enum" = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]))]
    pub effect: TaintEffect,

    /// The name of the taint, such as maintenance or example.com/maintenance.
    #[schemars(length(max = 316), extend("pattern" = schema::QUALIFIED_NAME))]
    pub key: String,

    /// When the taint was added. The hub sets this field; leave it out when you add a taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Time>")]
    pub time_added: Option<Time>,

    /// A value that tolerations can match.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 1024))]
    pub value: String,
}

/// The effect of a taint on placements that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaintEffect {
    /// They do not select the cluster, and remove it if it was selected.
    NoSelect,
    /// They select the cluster only if they find no other.
    PreferNoSelect,
    /// They do not select the cluster, but keep it if it was selected.
    NoSelectIfNew,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(TaintEffect: NoSelect, PreferNoSelect, NoSelectIfNew);

/// The observed state of the cluster, most of it reported by its agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterStatus {
    /// The part of the capacity that workloads can use.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "BTreeMap<String, schema::Quantity>")]
    pub allocatable: BTreeMap<String, Quantity>,

    /// The total resources of all nodes.
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

    /// The state of the cluster: accepted, joined, available, and others.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The namespaces on the cluster that its sets manage.
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

/// A fact that the managed cluster reports about itself.
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

    /// The value of the ClusterClaim.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,
}

/// A namespace on the managed cluster that a set manages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSetManagedNamespaceConfig {
    /// The set that manages the namespace.
    pub cluster_set: String,

    /// The state of the namespace, as the agent reports it.
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
    /// The Kubernetes version.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub kubernetes: String,
}
