//! `Klusterlet`: the agents of a managed cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster_manager::{EKS_ARN, HOST};
use super::{
    FeatureGate, GenerationStatus, RegistrationAuthType, RelatedResource, ResourceRequirement,
};
use crate::addon::NodePlacement;
use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// With which hub the cluster registers, and how its agents are deployed.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operator.open-cluster-management.io",
    version = "v1",
    kind = "Klusterlet",
    plural = "klusterlets",
    status = "KlusterletStatus",
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "The agents of a managed cluster: with which hub it registers, and how the agents are deployed."
)]
#[serde(rename_all = "camelCase", default)]
pub struct KlusterletSpec {
    /// The name of the cluster on the hub. If empty, the agent makes one.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 63), extend("pattern" = schema::DNS_LABEL))]
    pub cluster_name: String,

    /// Where the agents run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deploy_option: Option<KlusterletDeployOption>,

    /// Addresses of the cluster's API server, for the hub.
    #[serde(
        rename = "externalServerURLs",
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub external_server_urls: Vec<ServerUrl>,

    /// An entry in the hosts file of the agents, for the hub's API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_api_server_host_alias: Option<HubApiServerHostAlias>,

    /// The image of the agent, if there is one for registration and works.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub image_pull_spec: String,

    /// The namespace of the agents; open-cluster-management-agent if empty.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 57), extend("pattern" = "^open-cluster-management-[-a-z0-9]*[a-z0-9]$"))]
    pub namespace: String,

    /// The nodes of the agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_placement: Option<NodePlacement>,

    /// The PriorityClass of the agents.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub priority_class_name: String,

    /// Settings of the registration agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_configuration: Option<RegistrationConfiguration>,

    /// The image of the registration agent.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub registration_image_pull_spec: String,

    /// The resources of all containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_requirement: Option<ResourceRequirement>,

    /// Settings of the work agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_configuration: Option<WorkAgentConfiguration>,

    /// The image of the work agent.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub work_image_pull_spec: String,
}

/// Where the agents run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KlusterletDeployOption {
    /// Default: two agents on the cluster. Singleton: one. Hosted, SingletonHosted: on another cluster, which reaches this one with the
    /// kubeconfig of the Secret external-managed-kubeconfig.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    #[schemars(with = "String")]
    pub mode: KlusterletMode,
}

/// Where the agents of a cluster run, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KlusterletMode {
    /// Two, on the cluster.
    #[default]
    Default,
    /// One, on the cluster.
    Singleton,
    /// Two, on another cluster.
    Hosted,
    /// One, on another cluster.
    SingletonHosted,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(KlusterletMode: Default, Singleton, Hosted, SingletonHosted);

/// An address of an API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["url"]))]
pub struct ServerUrl {
    /// CA certificates (PEM, base64-encoded) that verify the certificate there.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: String,

    /// The URL.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub url: String,
}

/// An entry in a hosts file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["hostname", "ip"]))]
pub struct HubApiServerHostAlias {
    /// The name of the host.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = HOST))]
    pub hostname: String,

    /// Its IPv4 address.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = r"^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$"))]
    pub ip: String,
}

/// Settings of the registration agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RegistrationConfiguration {
    /// How the agents of add-ons authenticate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_on_kube_client_registration_driver: Option<AddOnRegistrationDriver>,

    /// The hubs with which the cluster may register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_kube_configs: Option<BootstrapKubeConfigs>,

    /// For how long a certificate is asked for, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert_expiration_seconds: Option<i32>,

    /// Annotations of the ManagedCluster that the agent creates. Their keys begin with agent.open-cluster-management.io.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub cluster_annotations: BTreeMap<String, String>,

    /// Which ClusterClaims are reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_claim_configuration: Option<ClusterClaimConfiguration>,

    /// Labels of the ManagedCluster that the agent creates.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub cluster_labels: BTreeMap<String, String>,

    /// Feature gates of the registration agent that differ from their defaults. Unknown ones are named in a condition, and ignored.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub feature_gates: Vec<FeatureGate>,

    /// Requests at once to the API server of the cluster.
    #[serde(rename = "kubeAPIBurst", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 100))]
    pub kube_api_burst: Option<i32>,

    /// Requests per second to the API server of the cluster.
    #[serde(rename = "kubeAPIQPS", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 50))]
    pub kube_api_qps: Option<i32>,

    /// How the agent authenticates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_driver: Option<RegistrationDriver>,
}

/// How the agents of add-ons authenticate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnRegistrationDriver {
    /// csr: with certificates. token: with tokens of service accounts.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    #[schemars(with = "String", extend("enum" = ["csr", "token"]))]
    pub auth_type: AddOnAuthType,

    /// Settings of token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenConfiguration>,
}

/// How the agents of add-ons authenticate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AddOnAuthType {
    /// With certificates that the hub signs.
    #[default]
    Csr,
    /// With tokens of service accounts.
    Token,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(AddOnAuthType: Csr = "csr", Token = "token");

/// The tokens of the agents of add-ons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenConfiguration {
    /// For how long a token is asked for, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<i64>,
}

/// The hubs with which a cluster may register.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["type"]))]
pub struct BootstrapKubeConfigs {
    /// The Secrets, for the type LocalSecrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_secrets_config: Option<LocalSecrets>,

    /// None: the hub of the Secret bootstrap-hub-kubeconfig. LocalSecrets: the first hub of several that accepts the cluster.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["None", "LocalSecrets"], "default" = "None"))]
    pub r#type: BootstrapKubeConfigsType,
}

/// Where the kubeconfigs of hubs are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BootstrapKubeConfigsType {
    /// In the Secret bootstrap-hub-kubeconfig.
    #[default]
    None,
    /// In several Secrets.
    LocalSecrets,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(BootstrapKubeConfigsType: None, LocalSecrets);

/// The kubeconfigs of several hubs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["kubeConfigSecrets"]))]
pub struct LocalSecrets {
    /// For how long the agent tries to reach a hub before it tries the next one, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 180), extend("default" = 600))]
    pub hub_connection_timeout_seconds: Option<i32>,

    /// The Secrets, in the order in which they are tried.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub kube_config_secrets: Vec<KubeConfigSecret>,
}

/// A Secret with a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name"]))]
pub struct KubeConfigSecret {
    /// The name of the Secret, in the namespace of the agents.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
}

/// Which ClusterClaims are reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["maxCustomClusterClaims"]))]
pub struct ClusterClaimConfiguration {
    /// The most ClusterClaims that are reported beside the reserved ones.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(extend("default" = 20))]
    pub max_custom_cluster_claims: i32,

    /// Further endings of the names of reserved ClusterClaims.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(max = 10), inner(length(min = 1, max = 64)))]
    pub reserved_cluster_claim_suffixes: Vec<String>,
}

/// How the agent authenticates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["authType"]))]
pub struct RegistrationDriver {
    /// csr: with certificates that the hub signs. awsirsa: with roles of AWS. grpc: at the gRPC server.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["csr", "awsirsa", "grpc"], "default" = "csr"))]
    pub auth_type: RegistrationAuthType,

    /// Settings of awsirsa.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws_irsa: Option<AwsIrsa>,
}

/// How an agent authenticates with roles of AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["hubClusterArn", "managedClusterArn"]))]
pub struct AwsIrsa {
    /// The ARN of the hub.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1), extend("pattern" = EKS_ARN))]
    pub hub_cluster_arn: String,

    /// The ARN of the cluster.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1), extend("pattern" = EKS_ARN))]
    pub managed_cluster_arn: String,
}

/// Settings of the work agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkAgentConfiguration {
    /// For how long objects stay after their ManifestWork cannot be found.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = "^([0-9]+(s|m|h))+$"))]
    pub applied_manifest_work_eviction_grace_period: String,

    /// Feature gates of the work agent that differ from their defaults. Unknown ones are named in a condition, and ignored.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub feature_gates: Vec<FeatureGate>,

    /// Requests at once to the hub's API server.
    #[serde(rename = "hubKubeAPIBurst", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 100))]
    pub hub_kube_api_burst: Option<i32>,

    /// Requests per second to the hub's API server.
    #[serde(rename = "hubKubeAPIQPS", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 50))]
    pub hub_kube_api_qps: Option<i32>,

    /// Requests at once to the API server of the cluster.
    #[serde(rename = "kubeAPIBurst", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 100))]
    pub kube_api_burst: Option<i32>,

    /// Requests per second to the API server of the cluster.
    #[serde(rename = "kubeAPIQPS", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 50))]
    pub kube_api_qps: Option<i32>,

    /// How often the status of works is written at least.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = "^([0-9]+(s|m|h))+$"))]
    pub status_sync_interval: String,
}

/// The observed state of the agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KlusterletStatus {
    /// The state, one aspect each.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Vec<schema::Condition>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,

    /// The generations of the Deployments that were written last.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub generations: Vec<GenerationStatus>,

    /// The generation of the spec that was carried out last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The objects that were written.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub related_resources: Vec<RelatedResource>,
}
