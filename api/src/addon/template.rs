//! `AddOnTemplate`: an add-on without a manager of its own.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SIGNER_NAME;
use crate::wire::{null_as_default, text_of};
use crate::work::ManifestWorkSpec;

/// What the add-on deploys on clusters, and its permissions on the hub.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "AddOnTemplate",
    plural = "addontemplates",
    printcolumn = r#"{"name":"ADDON NAME","type":"string","jsonPath":".spec.addonName"}"#,
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "An add-on that the hub deploys from manifests. A ClusterManagementAddOn refers to it as one of its configs."
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["addonName", "agentSpec"]))]
pub struct AddOnTemplateSpec {
    /// The name of the add-on.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub addon_name: String,

    /// The objects of the add-on on a cluster. {{NAME}} in them stands for the value of a variable. Only workload and manifestConfigs are
    /// used.
    #[serde(deserialize_with = "null_as_default")]
    pub agent_spec: ManifestWorkSpec,

    /// The certificates that the add-on gets on each cluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub registration: Vec<RegistrationSpec>,
}

/// A certificate for the add-on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationSpec {
    /// The signer and the subject, for the type CustomSigner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_signer: Option<CustomSignerRegistrationConfig>,

    /// The permissions on the hub, for the type KubeClient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_client: Option<KubeClientRegistrationConfig>,

    /// KubeClient: a certificate for the hub's API server. CustomSigner: a certificate of another signer.
    #[schemars(with = "String", extend("enum" = ["KubeClient", "CustomSigner"]))]
    pub r#type: RegistrationSpecType,
}

/// The type of a registration of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationSpecType {
    /// A certificate for the hub's API server.
    KubeClient,
    /// A certificate of another signer.
    CustomSigner,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(RegistrationSpecType: KubeClient, CustomSigner);

/// The permissions of the add-on's agents on the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeClientRegistrationConfig {
    /// The permissions.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub hub_permissions: Vec<HubPermissionConfig>,
}

/// A role on the hub that each agent of the add-on gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HubPermissionConfig {
    /// The role, for the type CurrentCluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_cluster: Option<CurrentClusterBindingConfig>,

    /// The role, for the type SingleNamespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_namespace: Option<SingleNamespaceBindingConfig>,

    /// CurrentCluster: in the namespace of the agent's cluster. SingleNamespace: in one namespace for all agents.
    #[schemars(with = "String", extend("enum" = ["CurrentCluster", "SingleNamespace"]))]
    pub r#type: HubPermissionType,
}

/// Where a role is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubPermissionType {
    /// In the namespace of the agent's cluster.
    CurrentCluster,
    /// In one namespace for all agents.
    SingleNamespace,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(HubPermissionType: CurrentCluster, SingleNamespace);

/// A role in the namespace of each cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterRoleName"]))]
pub struct CurrentClusterBindingConfig {
    /// The name of the ClusterRole.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub cluster_role_name: String,
}

/// A role in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["namespace", "roleRef"]))]
pub struct SingleNamespaceBindingConfig {
    /// The namespace.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,

    /// The Role or ClusterRole.
    #[serde(deserialize_with = "null_as_default")]
    pub role_ref: RoleReference,
}

/// A Role or a ClusterRole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["apiGroup", "kind", "name"], "x-kubernetes-map-type" = "atomic"))]
pub struct RoleReference {
    /// The API group of the role: rbac.authorization.k8s.io.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub api_group: String,

    /// Role or ClusterRole.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub kind: String,

    /// The name of the role.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
}

/// A certificate of a signer, and the authority that signs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["signerName", "signingCA"]))]
pub struct CustomSignerRegistrationConfig {
    /// The name of the signer, such as example.com/signer.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 5, max = 571), extend("pattern" = SIGNER_NAME))]
    pub signer_name: String,

    /// The Secret of the certificate authority that signs for the signer.
    #[serde(rename = "signingCA", deserialize_with = "null_as_default")]
    pub signing_ca: SigningCaReference,

    /// The subject of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<TemplateSubject>,
}

/// The Secret of a certificate authority, of type kubernetes.io/tls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"]))]
pub struct SigningCaReference {
    /// The name of the Secret.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,

    /// The namespace of the Secret. If empty, the namespace of the hub's components.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,
}

/// The subject of a certificate, with the names of v1alpha1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateSubject {
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
    pub organization_unit: Vec<String>,

    /// The common name.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub user: String,
}
