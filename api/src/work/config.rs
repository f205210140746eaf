//! How single objects of a ManifestWork are updated, reported and evaluated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FIELD_MANAGER, ResourceIdentifier};
use crate::wire::{is_default, null_as_default, text_of};

/// How the objects that match are updated, which of their fields are reported, and which conditions are derived from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resourceIdentifier"]))]
pub struct ManifestConfigOption {
    /// Conditions of the object and of the ManifestWork that are derived from the object on the cluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["condition"]))]
    pub condition_rules: Vec<ConditionRule>,

    /// Fields of the object that are reported in the status of the ManifestWork.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub feedback_rules: Vec<FeedbackRule>,

    /// Poll: reported fields are read at intervals. Watch: they are reported as soon as the object changes.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Poll", "Watch"]))]
    pub feedback_scrape_type: FeedbackScrapeType,

    /// The objects of the ManifestWork that this entry is for. If several entries match an object, the first one that has
    /// feedbackRules, updateStrategy or conditionRules gives these.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub resource_identifier: ResourceIdentifier,

    /// How the object is updated. If absent, as with the type Update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
}

/// When reported fields are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FeedbackScrapeType {
    /// At intervals.
    #[default]
    Poll,
    /// As soon as the object changes.
    Watch,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(FeedbackScrapeType: Poll, Watch);

/// A condition that is derived from the object on the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "message": "Condition is required for CEL rules",
    "rule": "self.type != 'CEL' || self.condition != \"\"",
}]))]
pub struct ConditionRule {
    /// For the type CEL, expressions that must all be true for the condition to be True. The variable object is the object on the
    /// cluster.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cel_expressions: Vec<String>,

    /// The type of the condition. An object whose condition Complete is True is not updated any more.
    pub condition: String,

    /// The message of the condition.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub message: String,

    /// A CEL expression for the message, which replaces message unless it is empty. The variable object is the object on the
    /// cluster, result the value of the condition.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub message_expression: String,

    /// CEL: the condition is the result of celExpressions. WellKnownConditions: the agent has its own rules for the kind,
    /// such as for the condition Complete of Jobs and Pods.
    #[schemars(with = "String", extend("enum" = ["WellKnownConditions", "CEL"]))]
    pub r#type: ConditionRuleType,
}

/// The source of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionRuleType {
    /// Rules of the agent for the kind.
    WellKnownConditions,
    /// CEL expressions.
    Cel,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(ConditionRuleType: WellKnownConditions, Cel = "CEL");

/// Fields of the object that are reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackRule {
    /// The fields, for the type JSONPaths.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub json_paths: Vec<JsonPath>,

    /// JSONPaths: the fields of jsonPaths. WellKnownStatus: fields that the agent chooses for the kind, such as ReadyReplicas of
    /// Deployments. It reports nothing for kinds that it does not know.
    #[schemars(with = "String", extend("enum" = ["WellKnownStatus", "JSONPaths"]))]
    pub r#type: FeedbackType,
}

/// How reported fields are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedbackType {
    /// Fields that the agent chooses for the kind.
    WellKnownStatus,
    /// Fields at paths.
    JsonPaths,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(FeedbackType: WellKnownStatus, JsonPaths = "JSONPaths");

/// A field that is reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "path"]))]
pub struct JsonPath {
    /// The name of the value in the status of the ManifestWork.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,

    /// The path of the field in the object, as kubectl's JSONPath without braces, such as .status.readyReplicas. The field must be a
    /// number without fraction, a string or a boolean. A field that does not exist is not reported.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub path: String,

    /// The API version of the object that the path is for. If absent, the version of the manifest.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub version: String,
}

/// How an object is updated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["type"]))]
pub struct UpdateStrategy {
    /// The settings of the type ServerSideApply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_side_apply: Option<ServerSideApplyConfig>,

    /// Update: the object is replaced if it differs from the manifest. CreateOnly: it is created and not updated. ServerSideApply: it
    /// is applied on the server; if another field manager owns a field, the condition Applied is False. ReadOnly: it is only read, for
    /// its existence and the reported fields.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Update", "CreateOnly", "ServerSideApply", "ReadOnly"]))]
    pub r#type: UpdateStrategyType,
}

/// How an object is updated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UpdateStrategyType {
    /// It is replaced if it differs.
    #[default]
    Update,
    /// It is created and not updated.
    CreateOnly,
    /// It is applied on the server.
    ServerSideApply,
    /// It is only read.
    ReadOnly,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(UpdateStrategyType: Update, CreateOnly, ServerSideApply, ReadOnly);

/// The settings of server-side apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerSideApplyConfig {
    /// The field manager. It begins with work-agent.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = FIELD_MANAGER, "pattern" = "^work-agent"))]
    pub field_manager: String,

    /// Takes fields over that other field managers own.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub force: bool,

    /// Fields of the manifest that are not updated on the cluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["condition"]))]
    pub ignore_fields: Vec<IgnoreField>,
}

/// Fields of the manifest that are not updated on the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["condition"]))]
pub struct IgnoreField {
    /// OnSpokePresent: the fields are applied only when the object is created. OnSpokeChange: what changes in the fields on the cluster
    /// stays until the manifest changes.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["OnSpokePresent", "OnSpokeChange"]))]
    pub condition: IgnoreFieldsCondition,

    /// The fields, as jq path expressions.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub jq_path_expressions: Vec<String>,

    /// The fields, as kubectl's JSONPaths without braces, such as .spec.replicas. The last key names a field of an object, not of a list.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub json_paths: Vec<String>,

    /// The fields, as JSON pointers (RFC 6901), such as /spec/replicas. In a key, ~ is written ~0, and / is written ~1.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub json_pointers: Vec<String>,
}

/// When fields of the manifest are not updated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IgnoreFieldsCondition {
    /// The object exists on the cluster.
    #[default]
    OnSpokePresent,
    /// The manifest has not changed since the object was applied.
    OnSpokeChange,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(IgnoreFieldsCondition: OnSpokePresent, OnSpokeChange);
