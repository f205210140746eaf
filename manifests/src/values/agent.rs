//! The values of `charts/berth-agent`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Crds, Image, KlusterletOperator, Monitoring, Pods, SecretName};

/// The values of berth-agent. A name that is not here is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentValues {
    /// Name of the cluster on the hub. Required.
    #[schemars(
        length(max = 63),
        regex(pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$")
    )]
    pub cluster_name: String,
    /// The credentials of the first request to the hub.
    pub bootstrap: Bootstrap,
    /// The image of the pod.
    pub image: Image,
    /// Secrets with the credentials of the registry.
    pub image_pull_secrets: Vec<SecretName>,
    /// More labels of all objects.
    pub common_labels: BTreeMap<String, String>,
    /// The CustomResourceDefinitions.
    pub crds: Crds,
    /// ManifestWorks.
    pub work: Work,
    /// Feature gates of the agent, such as ClusterProperty: true.
    #[schemars(extend("propertyNames" = {"enum": [
        "AddonManagement", "ClusterClaim", "ClusterProperty", "ExecutorImpersonation", "MultipleHubs", "RawFeedbackJsonString",
    ]}))]
    pub feature_gates: BTreeMap<String, bool>,
    /// Scrape target and alerts.
    pub monitoring: Monitoring,
    /// The pod of the agent.
    pub agent: Pods,
    /// The operator of a managed cluster, in place of what it installs (docs/klusterlet.md).
    pub operator: KlusterletOperator,
    /// Of Helm, for charts that contain this one. Not read.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schemars(default)]
    pub global: Map<String, Value>,
}

/// The credentials of the first request to the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Bootstrap {
    /// Secrets with a kubeconfig of a hub in the key kubeconfig. With several, the cluster belongs to one hub at a time, and the
    /// preferred one is first.
    #[schemars(length(min = 1, max = 16))]
    pub secrets: Vec<String>,
    /// Text of a bootstrap kubeconfig, of which the chart makes the Secret. Without it, make the Secret yourself.
    pub kubeconfig: String,
}

/// ManifestWorks on the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Work {
    /// Carry out ManifestWorks, and have the permissions for it.
    pub enabled: bool,
    /// Let ManifestWorks contain what Kubernetes' role admin allows in all namespaces.
    pub admin: bool,
    /// Let the agent act as any service account, for ManifestWorks with an executor that contain roles. Part of admin.
    pub impersonation: bool,
}

impl Default for AgentValues {
    fn default() -> Self {
        Self {
            cluster_name: String::new(),
            bootstrap: Bootstrap::default(),
            image: Image::default(),
            image_pull_secrets: Vec::new(),
            common_labels: BTreeMap::new(),
            crds: Crds::default(),
            work: Work::default(),
            feature_gates: BTreeMap::new(),
            monitoring: Monitoring::default(),
            agent: Pods::default(),
            operator: KlusterletOperator::default(),
            global: Map::new(),
        }
    }
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            secrets: vec!["bootstrap-hub-kubeconfig".to_owned()],
            kubeconfig: String::new(),
        }
    }
}

impl Default for Work {
    fn default() -> Self {
        Self {
            enabled: true,
            admin: true,
            impersonation: false,
        }
    }
}
