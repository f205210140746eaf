//! The values of `charts/berth-agent`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Crds, Image, Monitoring, Pods, SecretName};

/// The values of berth-agent. A name that is not here is refused.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::charts) struct Agent {
    /// Name of the cluster on the hub. Required.
    #[schemars(
        length(max = 63),
        regex(pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$")
    )]
    cluster_name: String,
    /// The credentials of the first request to the hub.
    bootstrap: Bootstrap,
    /// The image of the pod.
    image: Image,
    /// Secrets with the credentials of the registry.
    image_pull_secrets: Vec<SecretName>,
    /// More labels of all objects.
    common_labels: BTreeMap<String, String>,
    /// The CustomResourceDefinitions.
    crds: Crds,
    /// ManifestWorks.
    work: Work,
    /// Feature gates of the agent, such as ClusterProperty: true.
    #[schemars(extend("propertyNames" = {"enum": [
        "AddonManagement", "ClusterClaim", "ClusterProperty", "ExecutorImpersonation", "MultipleHubs", "RawFeedbackJsonString",
    ]}))]
    feature_gates: BTreeMap<String, bool>,
    /// Scrape target and alerts.
    monitoring: Monitoring,
    /// The pod of the agent.
    agent: Pods,
    /// Of Helm, for charts that contain this one. Not read.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schemars(default)]
    global: Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Bootstrap {
    /// Secrets with a kubeconfig of a hub in the key kubeconfig. With several, the cluster belongs to one hub at a time, and the
    /// preferred one is first.
    #[schemars(length(min = 1, max = 16))]
    secrets: Vec<String>,
    /// Text of a bootstrap kubeconfig, of which the chart makes the Secret. Without it, make the Secret yourself.
    kubeconfig: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Work {
    /// Carry out ManifestWorks, and have the permissions for it.
    enabled: bool,
    /// Let ManifestWorks contain what Kubernetes' role admin allows in all namespaces.
    admin: bool,
    /// Let the agent act as any service account, for ManifestWorks with an executor that contain roles. Part of admin.
    impersonation: bool,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            cluster_name: String::new(),
            bootstrap: Bootstrap {
                secrets: vec!["bootstrap-hub-kubeconfig".to_owned()],
                kubeconfig: String::new(),
            },
            image: Image::default(),
            image_pull_secrets: Vec::new(),
            common_labels: BTreeMap::new(),
            crds: Crds::default(),
            work: Work {
                enabled: true,
                admin: true,
                impersonation: false,
            },
            feature_gates: BTreeMap::new(),
            monitoring: Monitoring::default(),
            agent: Pods::default(),
            global: Map::new(),
        }
    }
}
