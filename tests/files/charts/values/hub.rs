//! The values of `charts/berth-hub`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Crds, Image, Monitoring, Pods, SecretName};

/// The values of berth-hub. A name that is not here is refused.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::charts) struct Hub {
    /// Where the rules run. webhooks: in the gate. policies: in the API server (Kubernetes 1.36). policies-with-webhook: in the API
    /// server, and the gate decides what policies cannot. hub: as webhooks, with gate and controller in one Deployment.
    #[schemars(extend("enum" = ["webhooks", "policies", "policies-with-webhook", "hub"]))]
    mode: String,
    /// Replicas and resources for up to 500 (small), 3,000 (medium) or 10,000 clusters (large).
    #[schemars(extend("enum" = ["small", "medium", "large"]))]
    size: String,
    /// The image of all pods.
    image: Image,
    /// Secrets with the credentials of the registry.
    image_pull_secrets: Vec<SecretName>,
    /// More labels of all objects.
    common_labels: BTreeMap<String, String>,
    /// The CustomResourceDefinitions.
    crds: Crds,
    /// The webhook configurations.
    registrations: Registrations,
    /// The certificate of the gate.
    certificates: Certificates,
    /// Automatic acceptance of clusters.
    auto_approval: AutoApproval,
    /// ClusterProfiles of SIG-Multicluster.
    cluster_profiles: ClusterProfiles,
    /// Feature gates, such as PlacementScores: true. Each reaches the processes that it has an effect on.
    #[schemars(extend("propertyNames" = {"enum": [
        "CleanUpCompletedManifestWork", "ClusterProfile", "DefaultClusterSet", "GuardedSelectors", "ManagedClusterAutoApproval",
        "ManagedClusterAutoRebootstrap", "ManifestWorkReplicaSet", "NilExecutorValidating", "PlacementPreferNoSelect",
        "PlacementScores", "PlacementSortBy", "PlacementSpreadPolicy", "ResourceCleanup", "SIGPlacementDecision", "UnguardedDenial",
    ]}))]
    feature_gates: BTreeMap<String, bool>,
    /// Give the controller's Deployment the name and labels of OCM's, so that it replaces OCM's in place.
    ocm_names: bool,
    /// NetworkPolicies, which limit connections to the ports of the pods.
    network_policies: Enabled,
    /// Scrape targets, alerts and dashboard.
    monitoring: Monitoring,
    /// Roles for people.
    rbac: Rbac,
    /// The account and the role of bootstrap tokens, which 'berth get token' creates otherwise.
    bootstrap: Enabled,
    /// The pods of the gate; in mode hub, of gate and controller.
    gate: Pods,
    /// The pods of the controller. Not in mode hub.
    controller: Pods,
    /// Run the placement controller in a Deployment and with an account of its own. Otherwise it is part of the controller.
    placement_apart: bool,
    /// The pods of the placement controller. Only with placementApart.
    placement: Pods,
    /// Of Helm, for charts that contain this one. Not read.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schemars(default)]
    global: Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Enabled {
    /// Install them.
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Registrations {
    /// Install the webhook configurations. They fail closed: on a hub in use, install without them first, and turn them on when the
    /// gate is ready.
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Certificates {
    /// Who issues the certificate: berth (the controller) or cert-manager.
    #[schemars(extend("enum" = ["berth", "cert-manager"]))]
    source: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rbac {
    /// Make Placements part of Kubernetes' roles edit and admin, and reading them part of view. The roles to bind, such as
    /// open-cluster-management:berth:accept, are installed in any case.
    aggregate: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AutoApproval {
    /// Users whose CSRs are approved and whose clusters are accepted without an admin. Empty: off, and without the permission.
    users: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClusterProfiles {
    /// Keep a ClusterProfile of each cluster of a set, in each namespace that the set is bound to.
    enabled: bool,
    /// Publish the decisions of Placements as PlacementDecisions of SIG-Multicluster, too.
    placement_decisions: bool,
}

impl Default for Hub {
    fn default() -> Self {
        let off = || Enabled { enabled: false };
        Self {
            mode: "webhooks".to_owned(),
            size: "medium".to_owned(),
            image: Image::default(),
            image_pull_secrets: Vec::new(),
            common_labels: BTreeMap::new(),
            crds: Crds::default(),
            registrations: Registrations { enabled: true },
            certificates: Certificates {
                source: "berth".to_owned(),
            },
            auto_approval: AutoApproval { users: Vec::new() },
            cluster_profiles: ClusterProfiles {
                enabled: false,
                placement_decisions: false,
            },
            feature_gates: BTreeMap::new(),
            ocm_names: false,
            network_policies: off(),
            monitoring: Monitoring::default(),
            rbac: Rbac { aggregate: true },
            bootstrap: off(),
            gate: Pods::default(),
            controller: Pods::default(),
            placement_apart: false,
            placement: Pods::default(),
            global: Map::new(),
        }
    }
}
