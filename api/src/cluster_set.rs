//! `ManagedClusterSet`: a group of managed clusters that permissions are granted on together.
//!
//! Read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster).

mod membership;

pub use membership::Membership;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::wire::{null_as_default, text_of};

/// The clusters of the set, and the namespaces that it manages on them.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSet",
    status = "ManagedClusterSetStatus",
    shortname = "mclset",
    shortname = "mclsets",
    printcolumn = r#"{"name":"Empty","type":"string","jsonPath":".status.conditions[?(@.type==\"ClusterSetEmpty\")].status"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "A group of managed clusters. By default a cluster is a member through its label \
           cluster.open-cluster-management.io/clusterset, so it is a member of only one such set. Setting or changing \
           that label needs permission to create the subresource managedclustersets/join of the old and of the new set. A \
           ManagedClusterSetBinding lets a namespace place workloads on the set."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSetSpec {
    /// Selects the clusters of the set.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_selector: ManagedClusterSelector,

    /// Namespaces to manage on all clusters of the set.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub managed_namespaces: Vec<ManagedNamespaceConfig>,
}

/// Selects the clusters of a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["selectorType"]))]
pub struct ManagedClusterSelector {
    /// The labels of the clusters, for the type LabelSelector. An empty selector selects all clusters; without a selector, no
    /// cluster is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::LabelSelector>")]
    pub label_selector: Option<LabelSelector>,

    /// ExclusiveClusterSetLabel: the clusters whose label cluster.open-cluster-management.io/clusterset is the name
    /// of the set. LabelSelector: the clusters that labelSelector selects.
    #[schemars(with = "String", extend("enum" = ["ExclusiveClusterSetLabel", "LabelSelector"]))]
    pub selector_type: SelectorType,
}

/// The way in which the clusters of a set are selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SelectorType {
    /// By the cluster set label, which names one set.
    #[default]
    ExclusiveClusterSetLabel,
    /// By a label selector, over any labels.
    LabelSelector,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(SelectorType: ExclusiveClusterSetLabel, LabelSelector);

/// A namespace to manage on all clusters of the set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedNamespaceConfig {
    /// The name of the namespace.
    #[schemars(length(max = 63), extend("pattern" = schema::DNS_LABEL))]
    pub name: String,
}

/// The observed state of the set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSetStatus {
    /// The state of the set, such as whether it is empty.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Vec<schema::Condition>")]
    pub conditions: Vec<Condition>,
}
