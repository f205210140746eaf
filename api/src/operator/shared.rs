//! What both kinds have.

use k8s_openapi::api::core::v1::ResourceRequirements;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::wire::{null_as_default, text_of};

/// A feature gate of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["feature"]))]
pub struct FeatureGate {
    /// The name of the feature gate.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub feature: String,

    /// Enable turns the feature on, Disable off.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Enable", "Disable"], "default" = "Disable"))]
    pub mode: FeatureGateMode,
}

/// Whether a feature is on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FeatureGateMode {
    /// It is on.
    Enable,
    /// It is off.
    #[default]
    Disable,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(FeatureGateMode: Enable, Disable);

/// The resources of all containers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRequirement {
    /// The requests and limits, for the type ResourceRequirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::ResourceRequirements>")]
    pub resource_requirements: Option<ResourceRequirements>,

    /// Default: small requests and no limits. BestEffort: none. ResourceRequirement: those of resourceRequirements.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Default", "BestEffort", "ResourceRequirement"], "default" = "Default"))]
    pub r#type: ResourceQosClass,
}

/// Where the resources of containers come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResourceQosClass {
    /// Small requests, no limits.
    #[default]
    Default,
    /// No requests, no limits.
    BestEffort,
    /// Those of `resourceRequirements`.
    ResourceRequirement,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(ResourceQosClass: Default, BestEffort, ResourceRequirement);

/// The generation of an object that was written last: another one is a change of somebody else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["group", "lastGeneration", "name", "resource", "version"]))]
pub struct GenerationStatus {
    /// The API group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The generation.
    #[serde(deserialize_with = "null_as_default")]
    pub last_generation: i64,

    /// The name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,

    /// The namespace.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,

    /// The plural name of the kind.
    #[serde(deserialize_with = "null_as_default")]
    pub resource: String,

    /// The API version.
    #[serde(deserialize_with = "null_as_default")]
    pub version: String,
}

/// An object that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["group", "name", "resource", "version"]))]
pub struct RelatedResource {
    /// The API group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,

    /// The namespace.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,

    /// The plural name of the kind.
    #[serde(deserialize_with = "null_as_default")]
    pub resource: String,

    /// The API version.
    #[serde(deserialize_with = "null_as_default")]
    pub version: String,
}
