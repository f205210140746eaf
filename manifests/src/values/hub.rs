//! The values of `charts/berth-hub`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contradictions::FEATURE_GATES;
use super::{Console, Crds, HubOperator, Image, Monitoring, Pods, SecretName};
use crate::Mode;

/// The values of berth-hub. A name that is not here is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HubValues {
    /// Where the rules run. webhooks: in the gate. policies: in the API server (Kubernetes 1.36). policies-with-webhook: in the API
    /// server, and the gate decides what policies cannot. hub: as webhooks, with gate and controller in one Deployment.
    #[schemars(with = "String", extend("enum" = ["webhooks", "policies", "policies-with-webhook", "hub"]))]
    pub mode: Mode,
    /// Replicas and resources for up to 500 (small), 3,000 (medium) or 10,000 clusters (large).
    #[schemars(with = "String", extend("enum" = ["small", "medium", "large"]))]
    pub size: Size,
    /// The image of all pods.
    pub image: Image,
    /// Secrets with the credentials of the registry.
    pub image_pull_secrets: Vec<SecretName>,
    /// More labels of all objects.
    pub common_labels: BTreeMap<String, String>,
    /// The CustomResourceDefinitions.
    pub crds: Crds,
    /// The webhook configurations.
    pub registrations: Registrations,
    /// The certificate of the gate.
    pub certificates: Certificates,
    /// Automatic acceptance of clusters.
    pub auto_approval: AutoApproval,
    /// ClusterProfiles of SIG-Multicluster.
    pub cluster_profiles: ClusterProfiles,
    /// Feature gates, such as PlacementScores: true. Each reaches the processes that it has an effect on.
    #[schemars(extend("propertyNames" = {"enum": FEATURE_GATES}))]
    pub feature_gates: BTreeMap<String, bool>,
    /// Give the controller's Deployment the name and labels of OCM's, so that it replaces OCM's in place.
    pub ocm_names: bool,
    /// NetworkPolicies, which limit connections to the ports of the pods.
    pub network_policies: Enabled,
    /// Scrape targets, alerts and dashboard.
    pub monitoring: Monitoring,
    /// Roles for people.
    pub rbac: Rbac,
    /// The account and the role of bootstrap tokens, which 'berth get token' creates otherwise.
    pub bootstrap: Enabled,
    /// The pods of the gate; in mode hub, of gate and controller.
    pub gate: Pods,
    /// The pods of the controller. Not in mode hub.
    pub controller: Pods,
    /// Run the placement controller in a Deployment and with an account of its own. Otherwise it is part of the controller.
    pub placement_apart: bool,
    /// The pods of the placement controller. Only with placementApart.
    pub placement: Pods,
    /// The console in a pod (docs/console.md).
    pub console: Console,
    /// The operator of a hub, in place of what it installs (docs/operator.md).
    pub operator: HubOperator,
    /// Of Helm, for charts that contain this one. Not read.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schemars(default)]
    pub global: Map<String, Value>,
}

/// How many clusters the replicas and resources of a hub are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Up to 500.
    Small,
    /// Up to 3,000.
    Medium,
    /// Up to 10,000.
    Large,
}

/// Who issues the certificate of the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateSource {
    /// The controller.
    #[default]
    Berth,
    /// cert-manager.
    CertManager,
    /// Somebody else: it is in a Secret.
    Existing,
}

/// Whether something is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Enabled {
    /// Install them.
    pub enabled: bool,
}

/// The webhook configurations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Registrations {
    /// Install the webhook configurations. They fail closed: on a hub in use, install without them first, and turn them on when the
    /// gate is ready.
    pub enabled: bool,
}

/// The certificate of the gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Certificates {
    /// Who issues the certificate: berth (the controller), cert-manager, or somebody else (existing).
    #[schemars(with = "String", extend("enum" = ["berth", "cert-manager", "existing"]))]
    pub source: CertificateSource,
    /// The certificate of somebody else.
    pub existing: Existing,
}

/// A certificate that somebody else issues and renews.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Existing {
    /// Secret in the namespace of the release, with tls.crt and tls.key, for
    /// cluster-manager-registration-webhook.open-cluster-management-hub.svc. The gate loads a renewed one without a restart.
    pub secret_name: String,
    /// Certificates of the CAs that may have issued it, as PEM text. While a CA changes: the old one and the new one.
    pub ca_bundle: String,
}

/// Roles for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rbac {
    /// Make Placements part of Kubernetes' roles edit and admin, and reading them part of view. The roles to bind, such as
    /// open-cluster-management:berth:accept, are installed in any case.
    pub aggregate: bool,
}

/// Automatic acceptance of clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AutoApproval {
    /// Users whose CSRs are approved and whose clusters are accepted without an admin. Empty: off, and without the permission.
    pub users: Vec<String>,
}

/// ClusterProfiles of SIG-Multicluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterProfiles {
    /// Keep a ClusterProfile of each cluster of a set, in each namespace that the set is bound to.
    pub enabled: bool,
    /// Publish the decisions of Placements as PlacementDecisions of SIG-Multicluster, too.
    pub placement_decisions: bool,
}

impl Default for HubValues {
    fn default() -> Self {
        Self {
            mode: Mode::Webhooks,
            size: Size::Medium,
            image: Image::default(),
            image_pull_secrets: Vec::new(),
            common_labels: BTreeMap::new(),
            crds: Crds::default(),
            registrations: Registrations::default(),
            certificates: Certificates::default(),
            auto_approval: AutoApproval::default(),
            cluster_profiles: ClusterProfiles::default(),
            feature_gates: BTreeMap::new(),
            ocm_names: false,
            network_policies: Enabled::default(),
            monitoring: Monitoring::default(),
            rbac: Rbac::default(),
            bootstrap: Enabled::default(),
            gate: Pods::default(),
            controller: Pods::default(),
            placement_apart: false,
            placement: Pods::default(),
            console: Console::default(),
            operator: HubOperator::default(),
            global: Map::new(),
        }
    }
}

impl Default for Registrations {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Default for Rbac {
    fn default() -> Self {
        Self { aggregate: true }
    }
}
