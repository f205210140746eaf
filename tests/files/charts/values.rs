//! What both charts have among their values.

pub(super) mod agent;
pub(super) mod hub;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Where the image comes from.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Image {
    /// Registry, such as registry.example.com. Empty: the image is looked up as the nodes' runtime does it.
    registry: String,
    /// Repository in the registry.
    repository: String,
    /// Tag. Empty: v and the version of the chart, as releases name it.
    tag: String,
    /// Digest, which decides if it is set: the runtime then ignores the tag.
    #[schemars(regex(pattern = "^(sha256:[0-9a-f]{64})?$"))]
    digest: String,
    /// When nodes pull the image.
    #[schemars(extend("enum" = ["Always", "IfNotPresent", "Never"]))]
    pull_policy: String,
}

/// A Secret in the namespace of the release.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretName {
    /// Name of the Secret.
    name: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Crds {
    /// Install the CRDs, and upgrade them with the chart. Turn it off where others install them, such as OCM's operator.
    enabled: bool,
    /// Keep the CRDs when the release is uninstalled. Without them, all their objects are deleted: every cluster and every
    /// ManifestWork.
    keep: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Monitoring {
    /// Install the scrape targets and the alerts. Needs the Prometheus operator.
    enabled: bool,
    /// Labels by which the Prometheus operator selects ServiceMonitors and PrometheusRules, such as release.
    labels: BTreeMap<String, String>,
    /// Page of the remedies in the alerts' runbook_url, as the receivers of alerts reach it.
    runbook_url: String,
}

/// The pods of one Deployment.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Pods {
    /// Number of replicas. null: that of the size, or of the manifests.
    replicas: Option<u16>,
    /// Requests and limits, which replace those of the size one by one.
    resources: Resources,
    /// More arguments of the command.
    extra_args: Vec<String>,
    /// More environment variables of the container, as in a pod.
    extra_env: Vec<Map<String, Value>>,
    /// More labels of the pods.
    pod_labels: BTreeMap<String, String>,
    /// Annotations of the pods.
    pod_annotations: BTreeMap<String, String>,
    /// Labels of the nodes on which the pods may run.
    node_selector: BTreeMap<String, String>,
    /// Tolerations, as in a pod.
    tolerations: Vec<Map<String, Value>>,
    /// Affinity, as in a pod.
    affinity: Map<String, Value>,
    /// PriorityClass of the pods.
    priority_class_name: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Resources {
    /// Such as memory: 64Mi.
    requests: BTreeMap<String, Quantity>,
    /// Such as memory: 512Mi.
    limits: BTreeMap<String, Quantity>,
}

/// As Kubernetes reads it: 512Mi, or 1.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(
    dead_code,
    reason = "only its schema is used: no default has a quantity"
)]
enum Quantity {
    Text(String),
    Number(f64),
}

impl Default for Image {
    fn default() -> Self {
        Self {
            registry: String::new(),
            repository: "berth".to_owned(),
            tag: String::new(),
            digest: String::new(),
            pull_policy: "IfNotPresent".to_owned(),
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

impl Default for Pods {
    fn default() -> Self {
        Self {
            replicas: None,
            resources: Resources {
                requests: BTreeMap::new(),
                limits: BTreeMap::new(),
            },
            extra_args: Vec::new(),
            extra_env: Vec::new(),
            pod_labels: BTreeMap::new(),
            pod_annotations: BTreeMap::new(),
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            affinity: Map::new(),
            priority_class_name: String::new(),
        }
    }
}
