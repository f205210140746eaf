//! References to the configs of add-ons.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::null_as_default;

/// The words about an add-on for users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnMeta {
    /// What the add-on does.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,

    /// The name of the add-on for users.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub display_name: String,
}

/// A config of an add-on: an object of any kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name", "resource"]))]
pub struct AddOnConfig {
    /// The API group of the config. Empty for the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The name of the config.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub name: String,

    /// The namespace of the config. Empty for a config without a namespace.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,

    /// The resource of the config: the plural name of its kind, such as addondeploymentconfigs.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub resource: String,
}

/// A kind of configs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["resource"]))]
pub struct ConfigGroupResource {
    /// The API group of the configs. Empty for the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The resource of the configs: the plural name of their kind, such as addondeploymentconfigs.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub resource: String,
}

/// A config, and which content of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name"]))]
pub struct ConfigSpecHash {
    /// The name of the config.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub name: String,

    /// The namespace of the config. Empty for a config without a namespace.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,

    /// The hash of the config's spec. Empty if the config does not exist.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub spec_hash: String,
}
