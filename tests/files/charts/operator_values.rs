//! The values of the operators. Only the charts have them: `berth init --operator` and `berth join --operator` need none.

use berth_manifests::values::Pods;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The operator of a hub, in place of what it installs (docs/operator.md).
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct HubOperator {
    /// Install the operator and a ClusterManager, and nothing else. The namespace of the release is then open-cluster-management.
    enabled: bool,
    /// The ClusterManager, which says what the operator installs.
    cluster_manager: ClusterManager,
    /// The pods of the operator.
    pods: Pods,
}

/// The ClusterManager, which says what the operator installs.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClusterManager {
    /// Create it. It stays when it is not created any more, and when the release is uninstalled.
    create: bool,
    /// Its name.
    #[schemars(regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(max = 63))]
    name: String,
    /// Its spec.
    spec: Map<String, Value>,
}

/// The operator of a managed cluster, in place of what it installs (docs/klusterlet.md).
#[derive(Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KlusterletOperator {
    /// Install the operator and a Klusterlet, and nothing else. The namespace of the release is then open-cluster-management.
    enabled: bool,
    /// The Klusterlet, which says what the operator installs.
    klusterlet: Klusterlet,
    /// The pods of the operator.
    pods: Pods,
}

/// The Klusterlet, which says what the operator installs.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Klusterlet {
    /// Create it. It stays when it is not created any more, and when the release is uninstalled.
    create: bool,
    /// Its name.
    #[schemars(regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(max = 63))]
    name: String,
    /// Its spec. clusterName is added to it.
    spec: Map<String, Value>,
}

impl Default for ClusterManager {
    fn default() -> Self {
        Self {
            create: true,
            name: "cluster-manager".to_owned(),
            spec: Map::new(),
        }
    }
}

impl Default for Klusterlet {
    fn default() -> Self {
        Self {
            create: true,
            name: "klusterlet".to_owned(),
            spec: Map::new(),
        }
    }
}
