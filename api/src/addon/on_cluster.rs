//! `ManagedClusterAddOn`: an add-on on a cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AddOnConfig, AddOnMeta, ConfigGroupResource, ConfigSpecHash, SIGNER_NAME};
use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// What the add-on is asked to be.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1beta1",
    kind = "ManagedClusterAddOn",
    plural = "managedclusteraddons",
    namespaced,
    status = "ManagedClusterAddOnStatus",
    shortname = "mca",
    shortname = "mcas",
    printcolumn = r#"{"name":"Available","type":"string","jsonPath":".status.conditions[?(@.type==\"Available\")].status"}"#,
    printcolumn = r#"{"name":"Degraded","type":"string","jsonPath":".status.conditions[?(@.type==\"Degraded\")].status"}"#,
    printcolumn = r#"{"name":"Progressing","type":"string","jsonPath":".status.conditions[?(@.type==\"Progressing\")].status"}"#,
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "An add-on on the cluster of its namespace. Its name is that of its ClusterManagementAddOn."
)]
#[serde(default)]
pub struct ManagedClusterAddOnSpec {
    /// The configs of the add-on on this cluster. They replace those of the same kind that the ClusterManagementAddOn names.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub configs: Vec<AddOnConfig>,
}

/// The state of the add-on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterAddOnStatus {
    /// The words about the add-on for users.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub add_on_meta: AddOnMeta,

    /// The conditions that the add-on's manager and the cluster's agent report.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The configs of the add-on on this cluster, and how far they have reached it.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub config_references: Vec<ConfigReference>,

    /// How the hub finds out whether the add-on works.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub health_check: HealthCheck,

    /// The namespace of the add-on's agent on the cluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,

    /// The certificates and tokens that the cluster's agent gets for the add-on.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub registrations: Vec<RegistrationConfig>,

    /// Objects on the hub that belong to the add-on.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub related_objects: Vec<ObjectReference>,

    /// The kinds of configs that the add-on can have.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["group", "resource"]))]
    pub supported_configs: Vec<ConfigGroupResource>,
}

/// The config of one kind, and how far it has reached the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resource"]))]
pub struct ConfigReference {
    /// The config that the add-on is to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<ConfigSpecHash>,

    /// The API group of the config. Empty for the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The config that the add-on has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_config: Option<ConfigSpecHash>,

    /// The generation of the config that the add-on's manager has observed.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub last_observed_generation: i64,

    /// The resource of the config.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub resource: String,
}

/// How the hub finds out whether the add-on works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HealthCheck {
    /// Lease: by the Lease that the add-on renews on the cluster. Customized: the add-on's manager reports it.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Lease", "Customized"]))]
    pub mode: HealthCheckMode,
}

/// The way in which the hub finds out whether an add-on works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HealthCheckMode {
    /// By the Lease that the add-on renews.
    #[default]
    Lease,
    /// The add-on's manager reports it.
    Customized,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(HealthCheckMode: Lease, Customized);

/// A certificate or a token for the add-on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationConfig {
    /// The certificate, for the type customSigner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_signer: Option<CustomSignerConfig>,

    /// The user at the hub's API server, for the type kubeClient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_client: Option<KubeClientConfig>,

    /// kubeClient: for the hub's API server. customSigner: a certificate of another signer.
    #[schemars(with = "String", extend("enum" = ["kubeClient", "customSigner"]))]
    pub r#type: RegistrationType,
}

/// The type of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationType {
    /// For the hub's API server.
    KubeClient,
    /// A certificate of another signer.
    CustomSigner,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(RegistrationType: KubeClient = "kubeClient", CustomSigner = "customSigner");

/// The user of an add-on at the hub's API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KubeClientConfig {
    /// How the user authenticates. csr: by a client certificate. token: by the token of a service account.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("enum" = ["csr", "token"]))]
    pub driver: String,

    /// The user and the groups.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub subject: BaseSubject,
}

/// A user and its groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BaseSubject {
    /// The groups of the user.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub groups: Vec<String>,

    /// The name of the user.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub user: String,
}

/// A certificate of a signer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["signerName"]))]
pub struct CustomSignerConfig {
    /// The name of the signer, such as example.com/signer.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 5, max = 571), extend("pattern" = SIGNER_NAME))]
    pub signer_name: String,

    /// The subject of the certificate.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub subject: Subject,
}

/// The subject of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Subject {
    /// The organizations.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub groups: Vec<String>,

    /// The organizational units.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub organization_units: Vec<String>,

    /// The common name.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub user: String,
}

/// An object on the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["group", "name", "resource"]))]
pub struct ObjectReference {
    /// The API group of the object. Empty for the core group.
    #[serde(deserialize_with = "null_as_default")]
    pub group: String,

    /// The name of the object.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,

    /// The namespace of the object. Empty for an object without a namespace.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,

    /// The resource of the object: the plural name of its kind.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub resource: String,
}
