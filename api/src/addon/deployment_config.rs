//! `AddOnDeploymentConfig`: how the agents of add-ons are deployed. Both versions have the same fields.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ResourceRequirements, Toleration};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DEFAULT_NAMESPACE;
use crate::schema;
use crate::wire::{is_default, null_as_default};

/// How the agent of an add-on is deployed.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1beta1",
    kind = "AddOnDeploymentConfig",
    plural = "addondeploymentconfigs",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "How the agents of add-ons are deployed on clusters. Add-ons refer to it as one of their configs."
)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnDeploymentConfigSpec {
    /// The namespace of the agent on the cluster. If absent, open-cluster-management-agent-addon. If empty, the objects keep the
    /// namespaces that they have in the add-on's manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), extend("pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", "default" = DEFAULT_NAMESPACE))]
    pub agent_install_namespace: Option<String>,

    /// Variables for the manifests of the add-on.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub customized_variables: Vec<CustomizedVariable>,

    /// The nodes of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_placement: Option<NodePlacement>,

    /// The proxy that the agent uses to reach the hub.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub proxy_config: ProxyConfig,

    /// Other registries for the images of the agent. If several match an image, the last one in the list counts.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub registries: Vec<ImageMirror>,

    /// The resources of containers. If several match a container, the last one in the list counts.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["containerID"]))]
    pub resource_requirements: Vec<ContainerResourceRequirements>,
}

/// A variable for the manifests of an add-on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"]))]
pub struct CustomizedVariable {
    /// The name of the variable.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 255), extend("pattern" = "^[a-zA-Z_][_a-zA-Z0-9]*$"))]
    pub name: String,

    /// The value of the variable.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 1024))]
    pub value: String,
}

/// The nodes on which an agent runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePlacement {
    /// Labels that the nodes must have.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub node_selector: BTreeMap<String, String>,

    /// Taints of nodes that are tolerated.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Vec<schema::PodToleration>")]
    pub tolerations: Vec<Toleration>,
}

/// The proxy between an agent and the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyConfig {
    /// CA certificates (PEM, base64-encoded) that verify the certificate of the proxy.
    // Not decoded here: a bundle that is not base64 must not make the whole config unreadable.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: String,

    /// The URL of the proxy for HTTP.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub http_proxy: String,

    /// The URL of the proxy for HTTPS.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub https_proxy: String,

    /// Hosts, domains and networks that are reached without the proxy, separated by commas.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub no_proxy: String,
}

/// Another registry for images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["mirror"]))]
pub struct ImageMirror {
    /// What replaces the beginning of the image's name.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub mirror: String,

    /// The beginning of the image's name that is replaced. If empty, all of the name up to its last part.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub source: String,
}

/// The resources of containers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["containerID", "resources"]))]
pub struct ContainerResourceRequirements {
    /// The containers, as resource, name of the object and name of the container, such as deployments:agent:main. Each part may be *.
    #[serde(
        rename = "containerID",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("pattern" = r"^(deployments|daemonsets|statefulsets|replicasets|jobs|cronjobs|pods|\*):.+:.+$"))]
    pub container_id: String,

    /// The resources that the containers request, and their limits.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "schema::ResourceRequirements")]
    pub resources: ResourceRequirements,
}
