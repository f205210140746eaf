//! The status of a ManifestWork, which the agent of the managed cluster writes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// The observed state of a ManifestWork and of its objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestWorkStatus {
    /// The state of the ManifestWork: Applied if all objects are applied, Available if all of them exist on the cluster, Deleting
    /// while the ManifestWork is being deleted, and the conditions of its conditionRules.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The state of each object.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub resource_status: ManifestResourceStatus,
}

/// The state of each object of a ManifestWork.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestResourceStatus {
    /// The objects.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub manifests: Vec<ManifestCondition>,
}

/// The state of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["conditions", "resourceMeta"]))]
pub struct ManifestCondition {
    /// The state of the object: Applied if it is applied, Available if it exists on the cluster, StatusFeedbackSynced if its fields are
    /// reported, and the conditions of its conditionRules.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The object.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_meta: ManifestResourceMeta,

    /// The reported fields of the object.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub status_feedback: StatusFeedbackResult,
}

/// Identifies an object of a ManifestWork. Unknown fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["ordinal"]))]
pub struct ManifestResourceMeta {
    /// The API group of the object. Empty for the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The kind of the object.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,

    /// The name of the object.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,

    /// The namespace of the object. Empty for an object without a namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,

    /// The position of the object in spec.workload.manifests, from 0.
    #[serde(deserialize_with = "null_as_default")]
    pub ordinal: i32,

    /// The resource of the object: the plural name of its kind, such as deployments.
    #[serde(deserialize_with = "null_as_default")]
    pub resource: String,

    /// The API version of the object.
    #[serde(deserialize_with = "null_as_default")]
    pub version: String,
}

/// The reported fields of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusFeedbackResult {
    /// The fields, by name.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub values: Vec<FeedbackValue>,
}

/// A reported field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackValue {
    /// The value of the field.
    pub field_value: FieldValue,

    /// The name that the feedback rule gives the field.
    pub name: String,
}

/// The value of a reported field: the one that its type names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldValue {
    /// The value of the type Boolean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boolean: Option<bool>,

    /// The value of the type Integer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integer: Option<i64>,

    /// The value of the type JsonRaw: a list, an object or a number with a fraction, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub json_raw: Option<String>,

    /// The value of the type String.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,

    /// The type of the value: Integer, String, Boolean or JsonRaw.
    #[schemars(with = "String", extend("enum" = ["Integer", "String", "Boolean", "JsonRaw"]))]
    pub r#type: ValueType,
}

/// The type of a reported value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A number without fraction.
    Integer,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any other value, as JSON.
    JsonRaw,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(ValueType: Integer, String, Boolean, JsonRaw);
