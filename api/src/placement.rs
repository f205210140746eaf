//! `Placement`: which clusters of the sets that are bound to its namespace a workload goes to.
//!
//! Read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster). An absent selector is empty here, and an
//! empty selector matches every cluster, as in OCM's clients.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    Condition, LabelSelector, LabelSelectorRequirement, Time,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::TaintEffect;
use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// Which clusters are selected, how many, in which order of preference, and in which groups.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "Placement",
    namespaced,
    status = "PlacementStatus",
    printcolumn = r#"{"name":"Succeeded","type":"string","jsonPath":".status.conditions[?(@.type==\"PlacementSatisfied\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"PlacementSatisfied\")].reason"}"#,
    printcolumn = r#"{"name":"SelectedClusters","type":"integer","jsonPath":".status.numberOfSelectedClusters"}"#,
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "Selects clusters of the ManagedClusterSets that are bound to its namespace. The selected clusters are listed in \
           PlacementDecisions with the label cluster.open-cluster-management.io/placement, whose value is the name of the \
           Placement. Other controllers place workloads on the clusters that are listed there, and remove them from \
           clusters that are not listed any more."
)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementSpec {
    /// The names of sets to select from. Only sets that are bound to the namespace count. If empty, all of those count.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cluster_sets: Vec<String>,

    /// How the selected clusters are divided into groups, for a rollout group by group.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub decision_strategy: DecisionStrategy,

    /// The number of clusters to select. If absent, every cluster that meets the requirements is selected. If more clusters meet
    /// them, those with the highest scores are selected, and of equal scores the first by name. If fewer clusters meet them, all of
    /// those are selected, and the condition PlacementSatisfied is False.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_clusters: Option<i32>,

    /// Requirements on clusters. A cluster must meet one of them. If empty, every cluster of the sets does.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub predicates: Vec<ClusterPredicate>,

    /// How clusters are scored. The score of a cluster is the sum of the scores that prioritizers give it, each multiplied by the
    /// prioritizer's weight.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub prioritizer_policy: PrioritizerPolicy,

    /// The shortest time between two updates of the scores in decisions, if the selected clusters stay the same: a number with
    /// the unit h, m or s.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = "^[0-9]+[hms]$", "default" = "1m"))]
    pub score_rate_limit: String,

    /// The order of clusters in the decisions. ClusterName: by name. Score: the highest score first, and equal scores by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["ClusterName", "Score"], "default" = "ClusterName"))]
    pub sort_by: Option<SortBy>,

    /// How the selected clusters are spread over regions, providers and other topologies.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub spread_policy: SpreadPolicy,

    /// Taints that the placement tolerates. A cluster with another taint is not selected.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tolerations: Vec<Toleration>,
}

/// The order of clusters in decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortBy {
    /// By name.
    ClusterName,
    /// The highest score first, and equal scores by name.
    Score,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(SortBy: ClusterName, Score);

/// How the selected clusters are divided into groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionStrategy {
    /// The groups and their size.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub group_strategy: GroupStrategy,
}

/// The groups and their size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupStrategy {
    /// The most clusters in a group: a number, or a percentage of all selected clusters (rounded up).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::IntOrPercent", extend("default" = "100%"))]
    pub clusters_per_decision_group: Option<IntOrString>,

    /// Groups with a name. A cluster belongs to the first group that selects it. If a group has more clusters than
    /// clustersPerDecisionGroup, it becomes several groups of the same name. Clusters without a group come last, in groups without
    /// a name.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub decision_groups: Vec<DecisionGroup>,
}

/// A group of selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["groupClusterSelector", "groupName"]))]
pub struct DecisionGroup {
    /// Selects the clusters of the group among the selected clusters of the placement.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub group_cluster_selector: GroupClusterSelector,

    /// The name of the group: the value of the label cluster.open-cluster-management.io/decision-group-name of its PlacementDecisions.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = "^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$"))]
    pub group_name: String,
}

/// Selects clusters that match both selectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupClusterSelector {
    /// Selects clusters by their claims (status.clusterClaims).
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub claim_selector: ClusterClaimSelector,

    /// Selects clusters by their labels.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    #[schemars(with = "schema::LabelSelector")]
    pub label_selector: LabelSelector,
}

/// A requirement on clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterPredicate {
    /// Selects the clusters that meet the requirement. A selected cluster that does not match any more is removed from the decisions.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub required_cluster_selector: ClusterSelector,
}

/// Selects clusters that match all of its selectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSelector {
    /// Selects clusters by CEL expressions.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub cel_selector: ClusterCelSelector,

    /// Selects clusters by their claims (status.clusterClaims).
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub claim_selector: ClusterClaimSelector,

    /// Selects clusters by their labels.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    #[schemars(with = "schema::LabelSelector")]
    pub label_selector: LabelSelector,
}

/// Selects clusters by CEL expressions on the ManagedCluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterCelSelector {
    /// CEL expressions, all of which must be true. The variable managedCluster is the cluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cel_expressions: Vec<String>,
}

/// Selects clusters by their claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterClaimSelector {
    /// Requirements on claims, all of which must hold.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Vec<schema::ClaimRequirement>")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// How clusters are scored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PrioritizerPolicy {
    /// Prioritizers and their weights.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub configurations: Vec<PrioritizerConfig>,

    /// Additive: Balance and Steady have the weight 1 unless configurations give them another one. Exact: only the prioritizers of
    /// configurations count.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String")]
    pub mode: PrioritizerMode,
}

/// Which prioritizers count besides those that are configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PrioritizerMode {
    /// Balance and Steady, with the weight 1.
    #[default]
    Additive,
    /// No other.
    Exact,
    /// Another value, unchanged. The CRD allows any.
    Other(String),
}

text_of!(PrioritizerMode: Additive, Exact);

/// A prioritizer and its weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["scoreCoordinate"]))]
pub struct PrioritizerConfig {
    /// The prioritizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_coordinate: Option<ScoreCoordinate>,

    /// The factor of the prioritizer's scores, which are between -100 and 100. Zero disables the prioritizer; a negative weight
    /// prefers clusters with low scores. If absent, 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -10, max = 10), extend("default" = 1))]
    pub weight: Option<i32>,
}

/// A prioritizer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["type"]))]
pub struct ScoreCoordinate {
    /// For the type AddOn: which score of which AddOnPlacementScore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_on: Option<AddOnScore>,

    /// For the type BuiltIn, the name of the prioritizer. Balance prefers clusters with few decisions of other placements. Steady
    /// prefers clusters that are selected already. ResourceAllocatableCPU and ResourceAllocatableMemory prefer clusters with the
    /// most allocatable CPU or memory.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub built_in: String,

    /// BuiltIn: a prioritizer of the hub. AddOn: scores from AddOnPlacementScores.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["BuiltIn", "AddOn"]))]
    pub r#type: ScoreType,
}

/// Where a score comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScoreType {
    /// A prioritizer of the hub.
    #[default]
    BuiltIn,
    /// AddOnPlacementScores.
    AddOn,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(ScoreType: BuiltIn, AddOn);

/// A score of AddOnPlacementScores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddOnScore {
    /// The name of the AddOnPlacementScore in the namespace of each cluster.
    pub resource_name: String,

    /// The name of the score in the AddOnPlacementScore.
    pub score_name: String,
}

/// How the selected clusters are spread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SpreadPolicy {
    /// Constraints on how the selected clusters are spread, the most important one first.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(max = 8))]
    pub spread_constraints: Vec<SpreadConstraint>,
}

/// How evenly the selected clusters are spread over the values of one label or claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// How many more clusters may be selected with one value than with the value that has the fewest.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub max_skew: i32,

    /// The key of the label, or the name of the claim.
    #[schemars(length(max = 316), extend("pattern" = schema::TOPOLOGY_KEY))]
    pub topology_key: String,

    /// Label: topologyKey is the key of a label. Claim: it is the name of a claim.
    #[schemars(with = "String", extend("enum" = ["Label", "Claim"]))]
    pub topology_key_type: TopologyKeyType,

    /// DoNotSchedule: clusters that would exceed maxSkew are not selected. ScheduleAnyway: they are selected if no other cluster is left.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["DoNotSchedule", "ScheduleAnyway"]))]
    pub when_unsatisfiable: WhenUnsatisfiable,
}

/// Where the topology of a cluster is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyKeyType {
    /// In a label.
    Label,
    /// In a claim.
    Claim,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(TopologyKeyType: Label, Claim);

/// What happens with clusters that would exceed the skew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WhenUnsatisfiable {
    /// They are selected if no other cluster is left.
    #[default]
    ScheduleAnyway,
    /// They are not selected.
    DoNotSchedule,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(WhenUnsatisfiable: ScheduleAnyway, DoNotSchedule);

/// Taints that a placement tolerates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// The effect of the tolerated taints. If empty, any effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]))]
    pub effect: Option<TaintEffect>,

    /// The key of the tolerated taints. If empty, any key; the operator must then be Exists.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 316), extend("pattern" = schema::QUALIFIED_NAME))]
    pub key: String,

    /// Equal: the taint's value must be the toleration's. Exists: any value; the toleration has none.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String")]
    pub operator: TolerationOperator,

    /// How long a taint is tolerated, counted from the time at which it was added. If absent, for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,

    /// The value of the tolerated taints, for the operator Equal.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 1024))]
    pub value: String,
}

/// How the value of a taint is compared with that of a toleration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TolerationOperator {
    /// The values must be equal.
    #[default]
    Equal,
    /// Any value is tolerated.
    Exists,
    /// Another value, unchanged. The CRD allows any.
    Other(String),
}

text_of!(TolerationOperator: Equal, Exists);

/// The observed state of the placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementStatus {
    /// The state of the placement: PlacementSatisfied if enough clusters are selected, PlacementMisconfigured if its spec is invalid.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The groups of selected clusters, in the order of a rollout.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub decision_groups: Vec<DecisionGroupStatus>,

    /// When the scores in decisions were last updated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Time>")]
    pub last_score_update_time: Option<Time>,

    /// The number of selected clusters.
    #[serde(deserialize_with = "null_as_default")]
    pub number_of_selected_clusters: i32,
}

/// A group of selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionGroupStatus {
    /// The number of clusters in the group.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_count: i32,

    /// The position of the group, from 0.
    #[serde(deserialize_with = "null_as_default")]
    pub decision_group_index: i32,

    /// The name of the group. Empty for clusters that no group of the placement selects.
    #[serde(deserialize_with = "null_as_default")]
    pub decision_group_name: String,

    /// The names of the PlacementDecisions that list the clusters of the group.
    #[serde(deserialize_with = "null_as_default")]
    pub decisions: Vec<String>,
}

fn one() -> i32 {
    1
}
