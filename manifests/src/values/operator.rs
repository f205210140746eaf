//! The values of the operators. Only the charts install by them: `berth init --operator` and `berth join --operator` need none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Pods;

/// The operator of a hub, in place of what it installs (docs/operator.md).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HubOperator {
    /// Install the operator and a ClusterManager, and nothing else. The namespace of the release is then open-cluster-management.
    pub enabled: bool,
    /// The ClusterManager, which says what the operator installs.
    pub cluster_manager: ClusterManagerValues,
    /// The pods of the operator.
    pub pods: Pods,
}

/// The ClusterManager, which says what the operator installs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterManagerValues {
    /// Create it. It stays when it is not created any more, and when the release is uninstalled.
    pub create: bool,
    /// Its name.
    #[schemars(regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(max = 63))]
    pub name: String,
    /// Its spec.
    pub spec: Map<String, Value>,
}

/// The operator of a managed cluster, in place of what it installs (docs/klusterlet.md).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KlusterletOperator {
    /// Install the operator and a Klusterlet, and nothing else. The namespace of the release is then open-cluster-management.
    pub enabled: bool,
    /// The Klusterlet, which says what the operator installs.
    pub klusterlet: KlusterletValues,
    /// The pods of the operator.
    pub pods: Pods,
}

/// The Klusterlet, which says what the operator installs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KlusterletValues {
    /// Create it. It stays when it is not created any more, and when the release is uninstalled.
    pub create: bool,
    /// Its name.
    #[schemars(regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(max = 63))]
    pub name: String,
    /// Its spec. clusterName is added to it.
    pub spec: Map<String, Value>,
}

impl Default for ClusterManagerValues {
    fn default() -> Self {
        Self {
            create: true,
            name: "cluster-manager".to_owned(),
            spec: Map::new(),
        }
    }
}

impl Default for KlusterletValues {
    fn default() -> Self {
        Self {
            create: true,
            name: "klusterlet".to_owned(),
            spec: Map::new(),
        }
    }
}
