//! `ClusterManager`: the hub's components.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureGate, GenerationStatus, RelatedResource, ResourceRequirement};
use crate::addon::NodePlacement;
use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// The name of a host, or an IPv4 address.
pub(super) const HOST: &str = r"^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]*[a-zA-Z0-9])\.)*([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\-]*[A-Za-z0-9])$";

/// The ARN of a cluster of EKS.
pub(super) const EKS_ARN: &str = r"^arn:aws:eks:([a-zA-Z0-9-]+):(\d{12}):cluster/([a-zA-Z0-9-]+)$";

/// Which components the hub has, and how they are deployed.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operator.open-cluster-management.io",
    version = "v1",
    kind = "ClusterManager",
    plural = "clustermanagers",
    status = "ClusterManagerStatus",
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "The components of a hub: which there are, and how they are deployed. In the mode Default they run in the namespace open-cluster-management-hub."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterManagerSpec {
    /// Settings of the controller of add-ons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_on_manager_configuration: Option<AddOnManagerConfiguration>,

    /// The image of the controller of add-ons and its webhook.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "quay.io/open-cluster-management/addon-manager"))]
    pub add_on_manager_image_pull_spec: String,

    /// Where the components run.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    #[schemars(extend("default" = {"mode": "Default"}))]
    pub deploy_option: ClusterManagerDeployOption,

    /// The nodes of the components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_placement: Option<NodePlacement>,

    /// Settings of the placement controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement_configuration: Option<PlacementConfiguration>,

    /// The image of the placement controller.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "quay.io/open-cluster-management/placement"))]
    pub placement_image_pull_spec: String,

    /// Settings of the registration controller and its webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_configuration: Option<RegistrationHubConfiguration>,

    /// The image of the registration controller and its webhook.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "quay.io/open-cluster-management/registration"))]
    pub registration_image_pull_spec: String,

    /// The resources of all containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_requirement: Option<ResourceRequirement>,

    /// Settings of the gRPC server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_configuration: Option<ServerConfiguration>,

    /// Settings of the work controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"workDriver": "kube"}))]
    pub work_configuration: Option<WorkConfiguration>,

    /// The image of the work controller and its webhook.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "quay.io/open-cluster-management/work"))]
    pub work_image_pull_spec: String,
}

/// Where the components run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["mode"]))]
pub struct ClusterManagerDeployOption {
    /// Settings of the mode Default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<DefaultOption>,

    /// Settings of the mode Hosted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosted: Option<HostedOption>,

    /// Default: on the hub. Hosted: on another cluster, which reaches the hub with the kubeconfig of the Secret external-hub-kubeconfig. It
    /// cannot be changed.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Default", "Hosted"], "default" = "Default"))]
    pub mode: ClusterManagerMode,
}

/// Where the components of a hub run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClusterManagerMode {
    /// On the hub.
    #[default]
    Default,
    /// On another cluster.
    Hosted,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(ClusterManagerMode: Default, Hosted);

/// The servers of the mode Default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DefaultOption {
    /// The server that converts add-ons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addon_webhook_configuration: Option<WebhookConfiguration>,

    /// The webhooks of registration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_webhook_configuration: Option<WebhookConfiguration>,

    /// The webhooks of works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_webhook_configuration: Option<WebhookConfiguration>,
}

/// A server of webhooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookConfiguration {
    /// The ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_configuration: Option<BindConfiguration>,
}

/// The ports of a server of webhooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BindConfiguration {
    /// The port of the health endpoints. 0 and less: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 65535), extend("default" = 8000))]
    pub health_probe_port: Option<i32>,

    /// Whether the pods use the network of their nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_network: Option<bool>,

    /// The port of the metrics. 0 and less: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 65535), extend("default" = 8080))]
    pub metrics_port: Option<i32>,

    /// The port of the webhooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 65535), extend("default" = 9443))]
    pub port: Option<i32>,
}

/// The servers of the mode Hosted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HostedOption {
    /// The webhooks of registration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_webhook_configuration: Option<HostedWebhookConfiguration>,

    /// The webhooks of works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_webhook_configuration: Option<HostedWebhookConfiguration>,
}

/// A server of webhooks that the hub reaches at another address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["address"]))]
pub struct HostedWebhookConfiguration {
    /// The name or IP address at which the API server of the hub reaches the server.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = HOST))]
    pub address: String,

    /// The ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_configuration: Option<BindConfiguration>,

    /// The port at the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 65535), extend("default" = 443))]
    pub port: Option<i32>,
}

/// Settings of the controller of add-ons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnManagerConfiguration {
    /// Feature gates of the controller of add-ons that differ from their defaults. Unknown ones are named in a condition, and ignored.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub feature_gates: Vec<FeatureGate>,
}

/// Settings of the placement controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementConfiguration {
    /// Feature gates of the placement controller that differ from their defaults. Unknown ones are named in a condition, and ignored.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub feature_gates: Vec<FeatureGate>,
}

/// Settings of the work controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkConfiguration {
    /// Feature gates of the work controller that differ from their defaults. Unknown ones are named in a condition, and ignored.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub feature_gates: Vec<FeatureGate>,

    /// How works reach the clusters.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["kube", "mqtt", "grpc"], "default" = "kube"))]
    pub work_driver: WorkDriver,
}

/// How works reach clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkDriver {
    /// By the hub's API server.
    #[default]
    Kube,
    /// By an MQTT broker.
    Mqtt,
    /// By a gRPC server.
    Grpc,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(WorkDriver: Kube = "kube", Mqtt = "mqtt", Grpc = "grpc");

/// Settings of registration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RegistrationHubConfiguration {
    /// Users whose clusters are accepted without an admin.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub auto_approve_users: Vec<String>,

    /// Feature gates of the registration controller and its webhook that differ from their defaults. Unknown ones are named in a condition,
    /// and ignored.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub feature_gates: Vec<FeatureGate>,

    /// Settings of the importer of clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importer_configuration: Option<ImporterConfiguration>,

    /// How the agents of clusters authenticate.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["authType"]))]
    pub registration_drivers: Vec<RegistrationDriverHub>,
}

/// Settings of the importer of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImporterConfiguration {
    /// How the manifests of the agent are rendered.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub renderers: Vec<String>,
}

/// A way in which agents authenticate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["authType"]))]
pub struct RegistrationDriverHub {
    /// csr: with certificates that the hub signs. awsirsa: with roles of AWS. grpc: at the gRPC server.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["csr", "awsirsa", "grpc"], "default" = "csr"))]
    pub auth_type: RegistrationAuthType,

    /// Settings of awsirsa.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awsirsa: Option<AwsIrsaHub>,

    /// Settings of csr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csr: Option<AutoApproved>,

    /// Settings of grpc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc: Option<AutoApproved>,
}

/// How agents authenticate at the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RegistrationAuthType {
    /// With certificates that the hub signs.
    #[default]
    Csr,
    /// With roles of AWS.
    AwsIrsa,
    /// At the gRPC server.
    Grpc,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(RegistrationAuthType: Csr = "csr", AwsIrsa = "awsirsa", Grpc = "grpc");

/// Whose requests are approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AutoApproved {
    /// Users whose clusters and requests are accepted without an admin.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub auto_approved_identities: Vec<String>,
}

/// How agents authenticate with roles of AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsIrsaHub {
    /// Patterns of ARNs whose clusters are accepted without an admin.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub auto_approved_identities: Vec<String>,

    /// The ARN of the hub.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = EKS_ARN))]
    pub hub_cluster_arn: String,

    /// Tags of what is made in AWS.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tags: Vec<String>,
}

/// Settings of the gRPC server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerConfiguration {
    /// How agents reach the server.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub endpoints_exposure: Vec<EndpointExposure>,

    /// Feature gates of the gRPC server that differ from their defaults. Unknown ones are named in a condition, and ignored.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub feature_gates: Vec<FeatureGate>,

    /// The image of the gRPC server; if empty, that of registration.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub image_pull_spec: String,
}

/// An address of the gRPC server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["protocol"]))]
pub struct EndpointExposure {
    /// The address, for the protocol grpc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc: Option<Endpoint>,

    /// The address, for the protocol https.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https: Option<Endpoint>,

    /// The protocol.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["grpc", "https"], "default" = "grpc"))]
    pub protocol: EndpointProtocol,

    /// What the address is for.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub usage: String,
}

/// The protocol of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EndpointProtocol {
    /// gRPC.
    #[default]
    Grpc,
    /// HTTPS.
    Https,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(EndpointProtocol: Grpc = "grpc", Https = "https");

/// How an address is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["type"]))]
pub struct Endpoint {
    /// The address, for the type hostname.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<HostnameEndpoint>,

    /// The address, for the type loadBalancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<ExposedEndpoint>,

    /// The address, for the type route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<ExposedEndpoint>,

    /// hostname: it exists. loadBalancer: by a Service. route: by a Route of OpenShift.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["hostname", "loadBalancer", "route"], "default" = "hostname"))]
    pub r#type: EndpointType,
}

/// How an address is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EndpointType {
    /// It exists.
    #[default]
    Hostname,
    /// By a Service.
    LoadBalancer,
    /// By a Route of OpenShift.
    Route,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(EndpointType: Hostname = "hostname", LoadBalancer = "loadBalancer", Route = "route");

/// An address that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["host"]))]
pub struct HostnameEndpoint {
    /// CA certificates (PEM, base64-encoded) that verify the certificate there.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: String,

    /// The name of the host.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub host: String,
}

/// An address that is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExposedEndpoint {
    /// CA certificates (PEM, base64-encoded) that verify the certificate there.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: String,

    /// The name of the host, if it is known before.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub host: String,
}

/// The observed state of the hub's components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterManagerStatus {
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
