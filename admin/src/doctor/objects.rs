//! Built-in objects, with only the fields that the checks use.
//!
//! The decoders of the full types (PodSpec, Volume and what they contain) would be most of a megabyte of the executable.
//! Each field is optional, so an object of another Kubernetes version is readable, too.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::{apps, coordination, core, discovery};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource;
use serde::Deserialize;

/// A Deployment.
#[derive(Clone, Debug, Default, Deserialize, Resource)]
#[resource(inherit = apps::v1::Deployment)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Deployment {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: DeploymentSpec,
    pub(crate) status: DeploymentStatus,
}

/// The status of a Deployment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DeploymentStatus {
    pub(crate) available_replicas: Option<i32>,
}

/// The spec of a Deployment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DeploymentSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) template: PodTemplate,
}

/// The pod template of a Deployment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PodTemplate {
    pub(crate) spec: PodSpec,
}

/// The spec of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PodSpec {
    pub(crate) service_account_name: Option<String>,
    pub(crate) containers: Vec<Container>,
    pub(crate) volumes: Option<Vec<Volume>>,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Container {
    pub(crate) image: Option<String>,
    pub(crate) command: Option<Vec<String>>,
    pub(crate) args: Option<Vec<String>>,
}

/// A volume of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Volume {
    pub(crate) name: String,
    pub(crate) secret: Option<SecretVolume>,
}

/// The Secret that a volume has its files from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SecretVolume {
    pub(crate) secret_name: Option<String>,
}

/// A Service.
#[derive(Clone, Debug, Default, Deserialize, Resource)]
#[resource(inherit = core::v1::Service)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Service {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: ServiceSpec,
}

/// The spec of a Service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ServiceSpec {
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    pub(crate) ports: Option<Vec<ServicePort>>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ServicePort {
    pub(crate) name: Option<String>,
    pub(crate) port: i32,
    pub(crate) protocol: Option<String>,
}

/// An EndpointSlice. The API server sends empty lists of it as null.
#[derive(Clone, Debug, Default, Deserialize, Resource)]
#[resource(inherit = discovery::v1::EndpointSlice)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct EndpointSlice {
    pub(crate) metadata: ObjectMeta,
    pub(crate) endpoints: Option<Vec<SliceEndpoint>>,
    pub(crate) ports: Option<Vec<SlicePort>>,
}

/// An endpoint of an EndpointSlice.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SliceEndpoint {
    pub(crate) addresses: Option<Vec<String>>,
    pub(crate) conditions: Option<EndpointConditions>,
}

/// The conditions of an endpoint.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct EndpointConditions {
    pub(crate) ready: Option<bool>,
}

/// A port of an EndpointSlice.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SlicePort {
    pub(crate) name: Option<String>,
    pub(crate) port: Option<i32>,
}

/// A Secret.
#[derive(Clone, Debug, Default, Deserialize, Resource)]
#[resource(inherit = core::v1::Secret)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Secret {
    pub(crate) metadata: ObjectMeta,
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    pub(crate) immutable: Option<bool>,
    pub(crate) data: Option<BTreeMap<String, ByteString>>,
}

/// A Lease.
#[derive(Clone, Debug, Default, Deserialize, Resource)]
#[resource(inherit = coordination::v1::Lease)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Lease {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: LeaseSpec,
}

/// The spec of a Lease.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct LeaseSpec {
    pub(crate) holder_identity: Option<String>,
    pub(crate) lease_duration_seconds: Option<i32>,
    pub(crate) renew_time: Option<MicroTime>,
    pub(crate) lease_transitions: Option<i32>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_fields_and_null_lists_are_readable() {
        let slice: EndpointSlice = serde_json::from_value(
            json!({"addressType": "IPv4", "endpoints": null, "ports": null}),
        )
        .unwrap();
        assert!(slice.endpoints.is_none() && slice.ports.is_none());
        let deployment: Deployment =
            serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap();
        assert!(deployment.spec.template.spec.containers.is_empty());
    }

    #[test]
    fn paths_are_those_of_the_kinds() {
        assert_eq!(
            Deployment::url_path(&(), Some("ns")),
            "/apis/apps/v1/namespaces/ns/deployments"
        );
        assert_eq!(
            Secret::url_path(&(), Some("ns")),
            "/api/v1/namespaces/ns/secrets"
        );
    }
}
