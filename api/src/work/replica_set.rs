//! `ManifestWorkReplicaSet`: a ManifestWork for each cluster that a placement selects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ManifestWorkSpec;
use crate::rollout::RolloutStrategy;
use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// The ManifestWork, and the placements that select its clusters.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "work.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ManifestWorkReplicaSet",
    namespaced,
    status = "ManifestWorkReplicaSetStatus",
    shortname = "mwrs",
    printcolumn = r#"{"name":"Placement","type":"string","description":"Why the placements are valid or not","jsonPath":".status.conditions[?(@.type==\"PlacementVerified\")].reason"}"#,
    printcolumn = r#"{"name":"Found","type":"string","description":"The placements are valid","jsonPath":".status.conditions[?(@.type==\"PlacementVerified\")].status"}"#,
    printcolumn = r#"{"name":"ManifestWorks","type":"string","description":"Why the ManifestWorks are applied or not","jsonPath":".status.conditions[?(@.type==\"ManifestworkApplied\")].reason"}"#,
    printcolumn = r#"{"name":"Applied","type":"string","description":"The ManifestWorks are applied","jsonPath":".status.conditions[?(@.type==\"ManifestworkApplied\")].status"}"#,
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "Creates the same ManifestWork for every cluster that the Placements of its namespace select. The ManifestWorks follow \
           the decisions of the Placements, and are deleted with the ManifestWorkReplicaSet."
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["cascadeDeletionPolicy", "placementRefs"]))]
pub struct ManifestWorkReplicaSetSpec {
    /// Background: the ManifestWorkReplicaSet can be gone before its ManifestWorks. Foreground: it stays until they are gone.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Background", "Foreground"]))]
    pub cascade_deletion_policy: CascadeDeletionPolicy,

    /// The spec of the ManifestWorks.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub manifest_work_template: ManifestWorkSpec,

    /// Placements in the same namespace. Every cluster that one of them selects gets a ManifestWork.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub placement_refs: Vec<LocalPlacementReference>,
}

/// The order of deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CascadeDeletionPolicy {
    /// The ManifestWorkReplicaSet can be gone before its ManifestWorks.
    #[default]
    Background,
    /// The ManifestWorkReplicaSet stays until its ManifestWorks are gone.
    Foreground,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(CascadeDeletionPolicy: Background, Foreground);

/// A placement in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name"]))]
pub struct LocalPlacementReference {
    /// The name of the Placement.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub name: String,

    /// In which steps the ManifestWorks are created and changed.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    #[schemars(extend("default" = {"type": "All", "all": {"progressDeadline": "None"}}))]
    pub rollout_strategy: RolloutStrategy,
}

/// The observed state of the ManifestWorks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestWorkReplicaSetStatus {
    /// The state of the ManifestWorkReplicaSet: PlacementVerified if its placements select clusters, PlacementRolledOut if all
    /// selected clusters have succeeded, ManifestworkApplied if all ManifestWorks are available.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The counts for each placement.
    #[serde(deserialize_with = "null_as_default")]
    pub placement_summary: Vec<PlacementSummary>,

    /// The counts for all placements.
    #[serde(deserialize_with = "null_as_default")]
    pub summary: ManifestWorkReplicaSetSummary,
}

/// The counts for one placement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementSummary {
    /// The number of decision groups, and in parentheses how many of the selected clusters have ManifestWorks.
    #[serde(deserialize_with = "null_as_default")]
    pub available_decision_groups: String,

    /// The name of the Placement.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,

    /// The counts.
    #[serde(deserialize_with = "null_as_default")]
    pub summary: ManifestWorkReplicaSetSummary,
}

/// How many ManifestWorks are in which state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestWorkReplicaSetSummary {
    /// The number of ManifestWorks whose condition Applied is True.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "schema::Integer")]
    pub applied: i64,

    /// The number of ManifestWorks whose condition Available is True.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "schema::Integer")]
    pub available: i64,

    /// The number of ManifestWorks whose condition Degraded is True.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "schema::Integer")]
    pub degraded: i64,

    /// The number of ManifestWorks when the rollout is complete.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "schema::Integer")]
    pub desired_total: i64,

    /// The number of ManifestWorks whose condition Progressing is True.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "schema::Integer")]
    pub progressing: i64,

    /// The number of ManifestWorks.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "schema::Integer")]
    pub total: i64,

    /// The number of ManifestWorks that have the current template.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "schema::Integer")]
    pub updated: i64,
}
