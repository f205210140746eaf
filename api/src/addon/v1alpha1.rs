//! ClusterManagementAddOn and ManagedClusterAddOn in v1alpha1, the version in which the API server stores them.
//!
//! They exist for their schema: this program reads and writes v1beta1. What differs is converted by the crate `addons/core`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::template::TemplateSubject;
use super::{
    AddOnConfig, AddOnMeta, ConfigGroupResource, ConfigSpecHash, DEFAULT_NAMESPACE,
    DefaultConfigReference, HealthCheck, InstallProgression, InstallStrategy, ObjectReference,
    SIGNER_NAME,
};
use crate::schema;

/// What the add-on is, the configs that it has, and on which clusters it is installed.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ClusterManagementAddOn",
    plural = "clustermanagementaddons",
    status = "ClusterManagementAddOnStatus",
    shortname = "cma",
    shortname = "cmas",
    printcolumn = r#"{"name":"DISPLAY NAME","type":"string","jsonPath":".spec.addOnMeta.displayName"}"#,
    printcolumn = r#"{"name":"CRD NAME","type":"string","jsonPath":".spec.addOnConfiguration.crdName"}"#,
    doc = "An add-on that clusters of the hub can have. A cluster has it if there is a ManagedClusterAddOn of its name in the cluster's \
           namespace."
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClusterManagementAddOnSpec {
    /// Has no effect. Replaced by supportedConfigs.
    add_on_configuration: Option<ConfigCoordinates>,

    /// The words about the add-on for users.
    add_on_meta: Option<AddOnMeta>,

    /// On which clusters the add-on is installed.
    #[schemars(extend("default" = {"type": "Manual"}))]
    install_strategy: Option<InstallStrategy>,

    /// The kinds of configs that the add-on has, some with a default.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["group", "resource"]))]
    supported_configs: Option<Vec<ConfigMeta>>,
}

/// The observed state of the add-on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClusterManagementAddOnStatus {
    /// The default configs, as they are now.
    #[serde(rename = "defaultconfigReferences")]
    default_config_references: Option<Vec<DefaultConfigReference>>,

    /// How far the clusters of each Placement are.
    install_progressions: Option<Vec<InstallProgression>>,
}

/// An object that an add-on was once configured with.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigCoordinates {
    /// The name of the object.
    cr_name: Option<String>,

    /// The name of the CustomResourceDefinition of the object.
    crd_name: Option<String>,

    /// The generation of the object that the add-on's manager has observed.
    last_observed_generation: Option<i64>,
}

/// A kind of configs, and the default.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigMeta {
    /// The default. If absent, an add-on has no config of this kind by default.
    default_config: Option<ConfigReferent>,

    /// The API group of the configs. Empty for the core group.
    #[serde(default)]
    group: String,

    /// The resource of the configs: the plural name of their kind, such as addondeploymentconfigs.
    #[schemars(length(min = 1))]
    resource: String,
}

/// A config by its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ConfigReferent {
    /// The name of the config.
    #[schemars(length(min = 1))]
    name: String,

    /// The namespace of the config. Empty for a config without a namespace.
    namespace: Option<String>,
}

/// What the add-on is asked to be.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ManagedClusterAddOn",
    plural = "managedclusteraddons",
    namespaced,
    status = "ManagedClusterAddOnStatus",
    shortname = "mca",
    shortname = "mcas",
    printcolumn = r#"{"name":"Available","type":"string","jsonPath":".status.conditions[?(@.type==\"Available\")].status"}"#,
    printcolumn = r#"{"name":"Degraded","type":"string","jsonPath":".status.conditions[?(@.type==\"Degraded\")].status"}"#,
    printcolumn = r#"{"name":"Progressing","type":"string","jsonPath":".status.conditions[?(@.type==\"Progressing\")].status"}"#,
    doc = "An add-on on the cluster of its namespace. Its name is that of its ClusterManagementAddOn."
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManagedClusterAddOnSpec {
    /// The configs of the add-on on this cluster. They replace those of the same kind that the ClusterManagementAddOn names.
    configs: Option<Vec<AddOnConfig>>,

    /// The namespace of the add-on's agent on the cluster. An AddOnDeploymentConfig can name another one.
    #[schemars(length(max = 63), extend("pattern" = schema::DNS_LABEL, "default" = DEFAULT_NAMESPACE))]
    install_namespace: Option<String>,
}

/// The state of the add-on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManagedClusterAddOnStatus {
    /// Has no effect. Replaced by configReferences.
    add_on_configuration: Option<ConfigCoordinates>,

    /// The words about the add-on for users.
    add_on_meta: Option<AddOnMeta>,

    /// The conditions that the add-on's manager and the cluster's agent report.
    #[schemars(
        with = "Option<Vec<schema::Condition>>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    conditions: Option<Vec<Condition>>,

    /// The configs of the add-on on this cluster, and how far they have reached it.
    config_references: Option<Vec<ConfigReference>>,

    /// How the hub finds out whether the add-on works.
    health_check: Option<HealthCheck>,

    /// How the users of the add-on authenticate at the hub's API server. csr: by client certificates. token: by tokens of service
    /// accounts.
    #[schemars(extend("enum" = ["csr", "token"]))]
    kube_client_driver: Option<String>,

    /// The namespace of the add-on's agent on the cluster.
    namespace: Option<String>,

    /// The certificates and tokens that the cluster's agent gets for the add-on.
    registrations: Option<Vec<RegistrationConfig>>,

    /// Objects on the hub that belong to the add-on.
    related_objects: Option<Vec<ObjectReference>>,

    /// The kinds of configs that the add-on can have.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["group", "resource"]))]
    supported_configs: Option<Vec<ConfigGroupResource>>,
}

/// The config of one kind, and how far it has reached the cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigReference {
    /// The config that the add-on is to have.
    desired_config: Option<ConfigSpecHash>,

    /// The API group of the config. Empty for the core group.
    #[serde(default)]
    group: String,

    /// The config that the add-on has.
    last_applied_config: Option<ConfigSpecHash>,

    /// The generation of the config that the add-on's manager has observed.
    last_observed_generation: Option<i64>,

    /// The name of desiredConfig.
    #[schemars(length(min = 1))]
    name: String,

    /// The namespace of desiredConfig.
    namespace: Option<String>,

    /// The resource of the config.
    #[schemars(length(min = 1))]
    resource: String,
}

/// A certificate or a token for the add-on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegistrationConfig {
    /// The name of the signer: kubernetes.io/kube-apiserver-client for the hub's API server, or another one, such as
    /// example.com/signer.
    #[schemars(length(min = 5, max = 571), extend("pattern" = SIGNER_NAME))]
    signer_name: String,

    /// The subject of the certificate, or the user of the token.
    subject: Option<TemplateSubject>,
}
