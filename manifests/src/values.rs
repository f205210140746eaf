//! The values of the charts: what `berth init --values` reads, and what the schemas, the defaults and the tables in `charts/` are
//! printed from. This module has what both charts share.

mod agent;
mod console;
mod contradictions;
mod hub;
mod operator;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

pub use self::agent::AgentValues;
pub use self::console::{Console, Impersonation};
pub(crate) use self::contradictions::OF_RULES;
pub use self::hub::{CertificateSource, Certificates, Existing, HubValues, Size};
pub use self::operator::{ClusterManagerValues, HubOperator, KlusterletOperator, KlusterletValues};

/// Where the image comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Image {
    /// Registry, such as registry.example.com. Empty: the image is looked up as the nodes' runtime does it.
    pub registry: String,
    /// Repository in the registry.
    pub repository: String,
    /// Tag. Empty: v and the version of the chart, as releases name it.
    pub tag: String,
    /// Digest, which decides if it is set: the runtime then ignores the tag.
    #[schemars(regex(pattern = "^(sha256:[0-9a-f]{64})?$"))]
    pub digest: String,
    /// When nodes pull the image.
    #[schemars(with = "String", extend("enum" = ["Always", "IfNotPresent", "Never"]))]
    pub pull_policy: PullPolicy,
}

/// When a node pulls an image, as in a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PullPolicy {
    /// At each start of a container.
    Always,
    /// Unless the node has it.
    IfNotPresent,
    /// The node has it.
    Never,
}

/// A Secret in the namespace of the release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretName {
    /// Name of the Secret.
    pub name: String,
}

/// The CustomResourceDefinitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Crds {
    /// Install the CRDs, and upgrade them with the chart. Turn it off where others install them, such as OCM's operator.
    pub enabled: bool,
    /// Keep the CRDs when the release is uninstalled. Without them, all their objects are deleted: every cluster and every
    /// ManifestWork.
    pub keep: bool,
}

/// Scrape targets and alerts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Monitoring {
    /// Install the scrape targets and the alerts. Needs the Prometheus operator.
    pub enabled: bool,
    /// Labels by which the Prometheus operator selects ServiceMonitors and PrometheusRules, such as release.
    pub labels: BTreeMap<String, String>,
    /// Page of the remedies in the alerts' runbook_url, as the receivers of alerts reach it.
    pub runbook_url: String,
}

/// The pods of one Deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Pods {
    /// Number of replicas. null: that of the size, or of the manifests.
    pub replicas: Option<u16>,
    /// Requests and limits, which replace those of the size one by one.
    pub resources: Resources,
    /// More arguments of the command.
    pub extra_args: Vec<String>,
    /// More environment variables of the container, as in a pod.
    pub extra_env: Vec<Map<String, Value>>,
    /// More labels of the pods.
    pub pod_labels: BTreeMap<String, String>,
    /// Annotations of the pods.
    pub pod_annotations: BTreeMap<String, String>,
    /// Labels of the nodes on which the pods may run.
    pub node_selector: BTreeMap<String, String>,
    /// Tolerations, as in a pod.
    pub tolerations: Vec<Map<String, Value>>,
    /// Affinity, as in a pod.
    pub affinity: Map<String, Value>,
    /// PriorityClass of the pods.
    pub priority_class_name: String,
}

/// The resources of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resources {
    /// Such as memory: 64Mi.
    pub requests: BTreeMap<String, Quantity>,
    /// Such as memory: 512Mi.
    pub limits: BTreeMap<String, Quantity>,
}

/// As Kubernetes reads it: 512Mi, or 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Quantity {
    /// Such as 512Mi.
    Text(String),
    /// A whole or decimal number.
    Number(Number),
}

impl Default for Image {
    fn default() -> Self {
        Self {
            registry: String::new(),
            repository: "berth".to_owned(),
            tag: String::new(),
            digest: String::new(),
            pull_policy: PullPolicy::IfNotPresent,
        }
    }
}

impl Default for Crds {
    fn default() -> Self {
        Self {
            enabled: true,
            keep: true,
        }
    }
}

impl Default for Monitoring {
    fn default() -> Self {
        Self {
            enabled: false,
            labels: BTreeMap::new(),
            runbook_url: "docs/operations.md".to_owned(),
        }
    }
}
