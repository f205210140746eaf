//! On which clusters an add-on is installed, with which configs, and how far that is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AddOnConfig, ConfigSpecHash};
use crate::rollout::RolloutStrategy;
use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// On which clusters an add-on is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InstallStrategy {
    /// The Placements that select the clusters, for the type Placements. If several select a cluster, the last one in the list gives the
    /// cluster's configs and rollout strategy.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace", "name"]))]
    pub placements: Vec<PlacementStrategy>,

    /// Manual: on the clusters in whose namespaces a user creates a ManagedClusterAddOn. Placements: on the clusters that the Placements
    /// select.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Manual", "Placements"]))]
    pub r#type: InstallStrategyType,
}

/// The way in which the clusters of an add-on are selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum InstallStrategyType {
    /// A user creates each ManagedClusterAddOn.
    #[default]
    Manual,
    /// Placements select them.
    Placements,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(InstallStrategyType: Manual, Placements);

/// The clusters of a Placement, and their configs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct PlacementStrategy {
    /// The configs of the add-on on these clusters. A ManagedClusterAddOn can name others.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub configs: Vec<AddOnConfig>,

    /// The name of the Placement.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub name: String,

    /// The namespace of the Placement.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub namespace: String,

    /// In which steps a change of a config reaches the clusters.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    #[schemars(extend("default" = {"type": "All"}))]
    pub rollout_strategy: RolloutStrategy,
}

/// The default config of one kind, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resource"]))]
pub struct DefaultConfigReference {
    /// The config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<ConfigSpecHash>,

    /// The API group of the config. Empty for the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The resource of the config.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub resource: String,
}

/// How far the clusters of a Placement are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct InstallProgression {
    /// The state of the add-on on these clusters, such as Progressing.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The configs of the add-on on these clusters.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub config_references: Vec<InstallConfigReference>,

    /// The name of the Placement.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub name: String,

    /// The namespace of the Placement.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub namespace: String,
}

/// The config of one kind, and how far it has reached the clusters of a Placement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resource"]))]
pub struct InstallConfigReference {
    /// The config that the clusters are to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<ConfigSpecHash>,

    /// The API group of the config. Empty for the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The config that all clusters had when their last rollout was complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_config: Option<ConfigSpecHash>,

    /// The last config with which the add-on worked on all clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_known_good_config: Option<ConfigSpecHash>,

    /// The resource of the config.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub resource: String,
}
