//! The ManagedCluster on the hub, as far as the agent needs it.

use std::collections::BTreeMap;

use berth_api::cluster::{
    ClusterSetManagedNamespaceConfig, ManagedClusterClaim, ManagedClusterVersion,
};
use berth_api::conditions::{FALSE, TRUE, cluster, condition_of};
use berth_api::lenient;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};

/// The ManagedCluster on the hub.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub is_deleting: bool,
    /// spec.hubAcceptsClient
    pub is_accepted: bool,
    /// spec.leaseDurationSeconds; 0 without one.
    pub lease_duration_seconds: i32,
    /// status.conditions
    pub conditions: Vec<Condition>,
    /// status.version
    pub version: Option<ManagedClusterVersion>,
    /// status.capacity
    pub capacity: BTreeMap<String, String>,
    /// status.allocatable
    pub allocatable: BTreeMap<String, String>,
    /// status.clusterClaims
    pub claims: Vec<ManagedClusterClaim>,
    /// status.managedNamespaces
    pub managed_namespaces: Vec<ClusterSetManagedNamespaceConfig>,
}

/// What the agent asks for when it creates its ManagedCluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Annotations. OCM's agent sets those whose keys begin with `agent.open-cluster-management.io`.
    pub annotations: BTreeMap<String, String>,
    /// Labels. OCM's agent sets none.
    pub labels: BTreeMap<String, String>,
    /// URLs of the cluster's API server for the hub.
    pub urls: Vec<String>,
    /// CA certificates that verify it, in base64.
    pub ca_bundle: Option<String>,
}

// === impl Wish ===

impl Wish {
    /// Returns the ManagedCluster to create.
    #[must_use]
    pub fn body(&self, name: &str) -> Value {
        let config = |url: &String| {
            let mut config = json!({"url": url});
            if let Some(bundle) = &self.ca_bundle {
                config["caBundle"] = json!(bundle);
            }
            config
        };
        let mut body = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name},
            "spec": {"hubAcceptsClient": false},
        });
        if !self.annotations.is_empty() {
            body["metadata"]["annotations"] = json!(self.annotations);
        }
        if !self.labels.is_empty() {
            body["metadata"]["labels"] = json!(self.labels);
        }
        if !self.urls.is_empty() {
            body["spec"]["managedClusterClientConfigs"] = self.urls.iter().map(config).collect();
        }
        body
    }
}

// === impl Cluster ===

impl Cluster {
    /// Reads a ManagedCluster. Fields that cannot be read count as absent; an unreadable acceptance counts as not accepted.
    #[must_use]
    pub fn read(object: &Value) -> Self {
        let object = lenient::cluster(object).object;
        let status = object.status.unwrap_or_default();
        let amounts = |amounts: BTreeMap<_, _>| {
            let text = |(name, amount): (String, _)| {
                let k8s_openapi::apimachinery::pkg::api::resource::Quantity(amount) = amount;
                (name, amount)
            };
            amounts.into_iter().map(text).collect()
        };
        Self {
            uid: object.metadata.uid.unwrap_or_default(),
            resource_version: object.metadata.resource_version.unwrap_or_default(),
            is_deleting: object.metadata.deletion_timestamp.is_some(),
            is_accepted: object.spec.hub_accepts_client,
            lease_duration_seconds: object.spec.lease_duration_seconds.unwrap_or_default(),
            conditions: status.conditions,
            version: status.version,
            capacity: amounts(status.capacity),
            allocatable: amounts(status.allocatable),
            claims: status.cluster_claims,
            managed_namespaces: status.managed_namespaces,
        }
    }

    /// Returns the condition of this type.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        condition_of(&self.conditions, type_)
    }

    /// Returns true if the condition of this type has this status.
    #[must_use]
    pub fn has(&self, type_: &str, status: &str) -> bool {
        self.condition(type_).is_some_and(|it| it.status == status)
    }

    /// Returns true if the hub has accepted the cluster, and has set up what the agent needs there.
    #[must_use]
    pub fn is_set_up(&self) -> bool {
        self.has(cluster::HUB_ACCEPTED, TRUE)
    }

    /// Returns true if the hub has decided whether to accept the cluster: a new one waits for that.
    #[must_use]
    pub fn was_decided(&self) -> bool {
        self.condition(cluster::HUB_ACCEPTED).is_some()
    }

    /// Returns true if the hub says that the clocks of hub and cluster differ.
    #[must_use]
    pub fn is_clock_off(&self) -> bool {
        self.has(cluster::CLOCK_SYNCED, FALSE)
    }
}
