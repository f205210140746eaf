//! Rollout strategies: in which steps a change reaches the clusters of a placement.
//!
//! Every kind that places a workload has the same strategies. Read and written as leniently as
//! [`ManagedCluster`](crate::cluster::ManagedCluster).

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// In which steps a change reaches the clusters, and how many of them may fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutStrategy {
    /// The settings of the type All.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<RolloutAll>,

    /// The settings of the type Progressive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progressive: Option<RolloutProgressive>,

    /// The settings of the type ProgressivePerGroup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progressive_per_group: Option<RolloutProgressivePerGroup>,

    /// All: every cluster at once. Progressive: a limited number of clusters at a time; the next one follows when one has succeeded.
    /// ProgressivePerGroup: one decision group at a time; the next one follows when all clusters of the group have succeeded. The last
    /// two stop when more clusters fail than maxFailures allows.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["All", "Progressive", "ProgressivePerGroup"]))]
    pub r#type: RolloutType,
}

/// The steps of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RolloutType {
    /// Every cluster at once.
    #[default]
    All,
    /// A limited number of clusters at a time.
    Progressive,
    /// One decision group at a time.
    ProgressivePerGroup,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(RolloutType: All, Progressive, ProgressivePerGroup);

/// The settings of a rollout to every cluster at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RolloutAll {
    /// When a cluster counts as succeeded or failed.
    #[serde(flatten)]
    pub config: RolloutConfig,
}

/// The settings of a rollout to a limited number of clusters at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutProgressive {
    /// When a cluster counts as succeeded or failed.
    #[serde(flatten)]
    pub config: RolloutConfig,

    /// The decision groups that come before all others. No cluster of theirs may fail.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub mandatory_decision_groups: Vec<MandatoryDecisionGroup>,

    /// The most clusters that are being changed at the same time: a number, or a percentage of the clusters. If absent or zero, all of
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::CountOrPercent>")]
    pub max_concurrency: Option<IntOrString>,
}

/// The settings of a rollout to one decision group at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutProgressivePerGroup {
    /// When a cluster counts as succeeded or failed.
    #[serde(flatten)]
    pub config: RolloutConfig,

    /// The decision groups that come before all others. No cluster of theirs may fail.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub mandatory_decision_groups: Vec<MandatoryDecisionGroup>,
}

/// When a cluster counts as succeeded or failed, and how many may fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutConfig {
    /// The number of clusters that may fail, or a percentage: of all clusters for Progressive, of the group for ProgressivePerGroup. If
    /// more clusters fail, the rollout stops. Clusters of mandatory groups may never fail. Has no effect for All.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::CountOrPercent>", extend("default" = 0))]
    pub max_failures: Option<IntOrString>,

    /// How long the rollout waits at a cluster that has succeeded before the next one follows, such as 90m or 1h30m. Has no effect for
    /// All.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "0"))]
    pub min_success_time: String,

    /// How long a cluster may take to succeed, as a number with the unit h, m or s. After that time it counts as failed. None: without
    /// a limit.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "None", "pattern" = "^(([0-9])+[h|m|s])|None$"))]
    pub progress_deadline: String,
}

/// A decision group, by its name or by its index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MandatoryDecisionGroup {
    /// The index of the group: the value of the label cluster.open-cluster-management.io/decision-group-index of its
    /// PlacementDecisions. Has no effect if groupName is not empty.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub group_index: i32,

    /// The name of the group: the value of the label cluster.open-cluster-management.io/decision-group-name of its
    /// PlacementDecisions.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub group_name: String,
}
