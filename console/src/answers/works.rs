//! The screens Works, Work and Replica set: what is on the clusters as prescribed, what is not, and how far rollouts are.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::action::Offer;
use super::cluster::ConditionAnswer;
use crate::shown::Text;

/// The event `answer` of `screen=works`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorksAnswer {
    /// Replica sets that match, the worst first.
    pub sets: Vec<RolloutRow>,
    /// The number of further replica sets that match.
    pub more_sets: usize,
    /// ManifestWorks that match, the worst first.
    pub works: Vec<WorkRow>,
    /// The number of ManifestWorks that match.
    pub matched: usize,
    /// The number of all ManifestWorks.
    pub total: usize,
    /// The states of those whose name or cluster matches, the worst first.
    pub states: Vec<WorkCount>,
    /// What differs on the clusters of those, by field; the most frequent first.
    pub differences: Vec<DifferenceGroup>,
    /// The number of further groups.
    pub more_differences: usize,
    /// What cannot be shown, and why.
    pub notes: Vec<Text>,
}

/// A ManifestWork of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkRow {
    /// Its namespace: the cluster.
    pub cluster: Text,
    /// metadata.name
    pub name: Text,
    /// The state.
    pub state: WorkCondition,
    /// Why. Empty if all objects are as prescribed.
    pub why: Text,
    /// Since when.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The number of its manifests.
    pub manifests: usize,
    /// The replica set that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<SetName>,
}

/// The name of a ManifestWorkReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names of Kubernetes")]
pub struct SetName {
    pub namespace: Text,
    pub name: Text,
}

/// The state of a ManifestWork, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkCondition {
    /// A manifest could not be applied.
    NotApplied,
    /// An object does not exist on the cluster.
    Missing,
    /// The agent could not find out whether an object exists.
    Unknown,
    /// An object fails to get as its spec asks for.
    Degraded,
    /// An object has other fields than its manifest.
    Drifted,
    /// An admin of the cluster holds it back.
    Held,
    /// The agent has not reported this version of it.
    NotReported,
    /// An object is not yet as its spec asks for.
    Progressing,
    /// It is being deleted.
    Deleting,
    /// All objects are as prescribed.
    AsPrescribed,
}

/// The number of ManifestWorks in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "a pair")]
pub struct WorkCount {
    pub state: WorkCondition,
    pub count: usize,
}

/// The same difference on several clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DifferenceGroup {
    /// The kind of the objects, and the field that differs; or what else is wrong with the object.
    pub what: Text,
    /// The state of the objects.
    pub state: WorkCondition,
    /// The number of objects.
    pub count: usize,
    /// The number of clusters.
    pub clusters: usize,
    /// Who wrote the field.
    pub managers: Vec<Text>,
    /// Some of the objects.
    pub places: Vec<DifferencePlace>,
}

/// An object that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DifferencePlace {
    /// The cluster.
    pub cluster: Text,
    /// The ManifestWork.
    pub work: Text,
    /// The object; left out for the whole ManifestWork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Text>,
    /// What was found, or why.
    pub found: Text,
}

/// A ManifestWorkReplicaSet of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutRow {
    /// metadata.namespace
    pub namespace: Text,
    /// metadata.name
    pub name: Text,
    /// The state.
    pub state: RolloutCondition,
    /// Why. Empty if the rollouts are complete.
    pub why: Text,
    /// Since when.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// How far each placement is.
    pub placements: Vec<StageAnswer>,
}

/// The state of the rollouts of a ManifestWorkReplicaSet, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RolloutCondition {
    /// A placement or a strategy cannot be used.
    Unusable,
    /// More clusters have failed than the strategy allows.
    Stopped,
    /// A ManifestWork is degraded or not available, or could not be written.
    Failing,
    /// Somebody has paused it.
    Paused,
    /// A step waits for an approval.
    ApprovalPending,
    /// Clusters are getting the template.
    Progressing,
    /// No controller has looked at it yet.
    New,
    /// It is being deleted.
    Deleting,
    /// All selected clusters have succeeded.
    Complete,
}

/// How far the rollout of a placement is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageAnswer {
    /// The name of the Placement.
    pub placement: Text,
    /// The strategy in words, such as `at most 25% of the clusters at a time`.
    pub strategy: Vec<Text>,
    /// It has stopped, since too many clusters have failed.
    pub stopped: bool,
    /// The number of clusters in each stage, in the order of [`Stage`].
    pub counts: Vec<StageCount>,
    /// What its controller counted, if the user may not list the ManifestWorks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<ReportedWorks>,
    /// When the next cluster has run for its minimum success time, or misses its deadline.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
}

/// How many ManifestWorks of a placement are in which state, by the status of the replica set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ReportedWorks {
    pub total: i64,
    pub updated: i64,
    pub available: i64,
    pub progressing: i64,
    pub degraded: i64,
}

/// The number of clusters in a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "a pair")]
pub struct StageCount {
    pub stage: Stage,
    pub count: usize,
}

/// What became of the template in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// It has failed.
    Failed,
    /// It has missed the deadline of the strategy.
    TimedOut,
    /// It gets the template.
    Working,
    /// It has succeeded, and keeps its place until the minimum success time is over.
    Soaking,
    /// It does not have the template yet.
    Waiting,
    /// The placement does not select it any more.
    Leaving,
    /// It has succeeded.
    Done,
}

/// The event `answer` of `screen=replicaset`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSetAnswer {
    /// metadata.namespace
    pub namespace: Text,
    /// metadata.name
    pub name: Text,
    /// The state.
    pub state: RolloutCondition,
    /// Why. Empty if the rollouts are complete.
    pub why: Text,
    /// Since when.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When it was created.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// Its steps need approvals.
    pub needs_approval: bool,
    /// Which clusters wait for an approval, if a step does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Text>,
    /// How far each placement is, with its clusters.
    pub placements: Vec<PlacementStage>,
    /// What the user may do.
    pub actions: Vec<Offer>,
    /// status.conditions
    pub conditions: Vec<ConditionAnswer>,
    /// What cannot be shown, and why.
    pub notes: Vec<Text>,
}

/// A placement of a replica set, with its clusters by stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementStage {
    /// How far it is.
    pub stage: StageAnswer,
    /// The clusters by stage, the worst first.
    pub folds: Vec<StageFold>,
}

/// The clusters in a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageFold {
    /// The stage.
    pub stage: Stage,
    /// The number of clusters.
    pub count: usize,
    /// The first ones, by name.
    pub clusters: Vec<StageCluster>,
}

/// A cluster of a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageCluster {
    /// The name.
    pub cluster: Text,
    /// Its ManifestWork; left out if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Text>,
    /// Why its ManifestWork is not as prescribed.
    pub why: Text,
    /// Since when it is in the stage.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When its minimum success time is over, or its deadline.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The event `answer` of `screen=work`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkAnswer {
    /// How it is.
    pub row: WorkRow,
    /// When it was created.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// Its objects, those that differ first.
    pub objects: Vec<WorkObject>,
    /// The number of further objects.
    pub more: usize,
    /// status.conditions
    pub conditions: Vec<ConditionAnswer>,
    /// What cannot be shown, and why.
    pub notes: Vec<Text>,
}

/// An object of a ManifestWork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkObject {
    /// As kubectl names it, with its namespace before its name.
    pub title: Text,
    /// The status of the condition Applied; empty without it.
    pub applied: Text,
    /// The status of the condition Available; empty without it.
    pub available: Text,
    /// The states in which it is not as prescribed, and why.
    pub wrong: Vec<ObjectState>,
    /// The fields that differ.
    pub fields: Vec<FieldAnswer>,
    /// The number of further fields that differ.
    pub more_fields: usize,
    /// The agent puts the fields back, and another client changes them again and again.
    pub contested: bool,
    /// The values of its feedback rules.
    pub values: Vec<FeedbackAnswer>,
    /// Its other conditions that are not as they should be, such as Progressing.
    pub conditions: Vec<ConditionAnswer>,
}

/// How an object is not as prescribed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "a pair")]
pub struct ObjectState {
    pub state: WorkCondition,
    pub why: Text,
}

/// A field of an object that differs from the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldAnswer {
    /// The path.
    pub path: Text,
    /// The value in the manifest. Left out if the manifest does not have the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prescribed: Option<Text>,
    /// The value on the cluster. Left out if the object does not have the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Text>,
    /// The field manager that wrote it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<Text>,
}

/// A value of a feedback rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "a pair")]
pub struct FeedbackAnswer {
    pub name: Text,
    pub value: Text,
}
