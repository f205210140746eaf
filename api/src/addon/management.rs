//! `ClusterManagementAddOn`: an add-on that clusters of the hub can have.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AddOnConfig, AddOnMeta, DefaultConfigReference, InstallProgression, InstallStrategy};
use crate::wire::{is_default, null_as_default};

/// What the add-on is, its default configs, and on which clusters it is installed.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1beta1",
    kind = "ClusterManagementAddOn",
    plural = "clustermanagementaddons",
    status = "ClusterManagementAddOnStatus",
    shortname = "cma",
    shortname = "cmas",
    printcolumn = r#"{"name":"DISPLAY NAME","type":"string","jsonPath":".spec.addOnMeta.displayName"}"#,
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "An add-on that clusters of the hub can have. A cluster has it if there is a ManagedClusterAddOn of its name in the cluster's \
           namespace."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterManagementAddOnSpec {
    /// The words about the add-on for users.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub add_on_meta: AddOnMeta,

    /// The kinds of configs that the add-on has, each with its default.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["group", "resource"]))]
    pub default_configs: Vec<AddOnConfig>,

    /// On which clusters the add-on is installed.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    #[schemars(extend("default" = {"type": "Manual"}))]
    pub install_strategy: InstallStrategy,
}

/// The observed state of the add-on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterManagementAddOnStatus {
    /// The default configs, as they are now.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub default_config_references: Vec<DefaultConfigReference>,

    /// How far the clusters of each Placement are.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub install_progressions: Vec<InstallProgression>,
}
