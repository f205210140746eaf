//! The files, embedded.

use serde_json::Value;

/// A file of `manifests/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its path in the repository.
    pub path: &'static str,
    /// Its content: YAML documents.
    pub text: &'static str,
}

/// A constant for each file, and the list of all.
macro_rules! manifests {
    ($($name:ident = $path:literal;)*) => {
        $(
            #[doc = concat!("`manifests/", $path, "`")]
            pub const $name: Manifest = Manifest {
                path: concat!("manifests/", $path),
                text: include_str!(concat!("../", $path)),
            };
        )*
        /// All files except kustomizations.
        pub const ALL: &[Manifest] = &[$($name),*];
    };
}

manifests! {
    CRD_CLUSTERS = "crds/cluster.open-cluster-management.io_managedclusters.yaml";
    CRD_SETS = "crds/cluster.open-cluster-management.io_managedclustersets.yaml";
    CRD_BINDINGS = "crds/cluster.open-cluster-management.io_managedclustersetbindings.yaml";
    CRD_PLACEMENTS = "crds/placement/cluster.open-cluster-management.io_placements.yaml";
    CRD_PLACEMENT_DECISIONS = "crds/placement/cluster.open-cluster-management.io_placementdecisions.yaml";
    CRD_ADDON_PLACEMENT_SCORES = "crds/placement/cluster.open-cluster-management.io_addonplacementscores.yaml";
    CRD_CLUSTER_PROFILES = "crds/inventory/multicluster.x-k8s.io_clusterprofiles.yaml";
    CRD_INVENTORY_PLACEMENT_DECISIONS = "crds/inventory/multicluster.x-k8s.io_placementdecisions.yaml";
    CRD_MANIFEST_WORKS = "crds/work/work.open-cluster-management.io_manifestworks.yaml";
    CRD_MANIFEST_WORK_REPLICA_SETS = "crds/work/work.open-cluster-management.io_manifestworkreplicasets.yaml";
    CRD_CLUSTER_MANAGEMENT_ADDONS = "crds/addons/addon.open-cluster-management.io_clustermanagementaddons.yaml";
    CRD_MANAGED_CLUSTER_ADDONS = "crds/addons/addon.open-cluster-management.io_managedclusteraddons.yaml";
    CRD_ADDON_DEPLOYMENT_CONFIGS = "crds/addons/addon.open-cluster-management.io_addondeploymentconfigs.yaml";
    CRD_ADDON_TEMPLATES = "crds/addons/addon.open-cluster-management.io_addontemplates.yaml";
    CRD_CLUSTER_MANAGERS = "crds/operator/operator.open-cluster-management.io_clustermanagers.yaml";
    CRD_KLUSTERLETS = "crds/operator/klusterlet/operator.open-cluster-management.io_klusterlets.yaml";
    CRD_CLAIMS = "crds/agent/cluster.open-cluster-management.io_clusterclaims.yaml";
    CRD_APPLIED_MANIFEST_WORKS = "crds/agent/work/work.open-cluster-management.io_appliedmanifestworks.yaml";

    NAMESPACE = "server/namespace.yaml";
    ACCOUNTS = "server/service-account.yaml";
    GATE_ROLE = "server/cluster-role.yaml";
    CONTROLLER_ROLE = "server/controller-role.yaml";
    CERTIFICATES_ROLE = "server/certificates-role.yaml";
    AGENT_ROLES = "server/agent-roles.yaml";
    CERTIFICATES = "server/certificates.yaml";
    SERVICE = "server/service.yaml";
    GATE = "server/deployment.yaml";
    CONTROLLER = "server/controller-deployment.yaml";
    DISRUPTION_BUDGET = "server/pod-disruption-budget.yaml";

    CLUSTER_MUTATORS = "registrations/managedclustermutators.yaml";
    CLUSTER_VALIDATORS = "registrations/managedclustervalidators.yaml";
    SET_VALIDATORS = "registrations/managedclustersets/managedclustersetvalidators.yaml";
    BINDING_VALIDATORS = "registrations/managedclustersetbindingvalidators.yaml";
    REQUEST_VALIDATORS = "registrations/certificatesigningrequests/certificatesigningrequestvalidators.yaml";
    PLACEMENT_VALIDATORS = "registrations/placements/placementvalidators.yaml";
    WORK_VALIDATORS = "registrations/manifestworkvalidators.yaml";
    REPLICA_SET_VALIDATORS = "registrations/manifestworkreplicasets/manifestworkreplicasetvalidators.yaml";
    ADDON_TEMPLATE_VALIDATORS = "registrations/addons/addontemplatevalidators.yaml";
    ADDON_CONFIG_VALIDATORS = "registrations/addons/addondeploymentconfigvalidators.yaml";
    MANAGEMENT_ADDON_VALIDATORS = "registrations/addons/clustermanagementaddonvalidators.yaml";
    CLUSTER_ADDON_VALIDATORS = "registrations/addons/managedclusteraddonvalidators.yaml";

    POLICIES = "policies/policies.yaml";
    POLICIES_WITH_WEBHOOK = "policies/with-webhook/policies.yaml";

    PLACEMENT_ROLE = "placement/role.yaml";
    PLACEMENT_DEBUG_ROLE = "placement/debug/role.yaml";
    PLACEMENT_DEBUG_SERVICE = "placement/debug/service.yaml";
    PLACEMENT_DEBUGGER = "placement/debug/reader.yaml";

    WORK_ROLE = "work/role.yaml";
    ADDON_ROLE = "addons/role.yaml";

    PEOPLE_AGGREGATED = "people/aggregated.yaml";
    PEOPLE_ROLES = "people/roles.yaml";

    CONSOLE_ACCOUNT = "console/service-account.yaml";
    CONSOLE = "console/deployment.yaml";
    CONSOLE_SERVICE = "console/service.yaml";

    BOOTSTRAP_NAMESPACE = "bootstrap/namespace.yaml";
    BOOTSTRAP_ACCOUNT = "bootstrap/service-account.yaml";
    BOOTSTRAP_ROLE = "bootstrap/cluster-role.yaml";
    BOOTSTRAP_BINDINGS = "bootstrap/bindings.yaml";

    OPERATOR_NAMESPACES = "operator/namespace.yaml";
    OPERATOR_ACCOUNT = "operator/service-account.yaml";
    OPERATOR_ROLE = "operator/role.yaml";
    OPERATOR_HOSTING_ROLE = "overlays/hosting/role.yaml";
    OPERATOR_TOKENS_ROLE = "overlays/hosted-hub/tokens.yaml";
    OPERATOR = "operator/deployment.yaml";
    KLUSTERLET_OPERATOR_NAMESPACE = "operator/klusterlet/namespace.yaml";
    KLUSTERLET_OPERATOR_ACCOUNT = "operator/klusterlet/service-account.yaml";
    KLUSTERLET_OPERATOR_ROLE = "operator/klusterlet/role.yaml";
    KLUSTERLET_OPERATOR = "operator/klusterlet/deployment.yaml";

    AGENT_NAMESPACE = "agent/namespace.yaml";
    AGENT_ACCOUNT = "agent/service-account.yaml";
    AGENT_ROLE = "agent/role.yaml";
    AGENT_CLUSTER_ROLE = "agent/cluster-role.yaml";
    AGENT_ADDONS = "agent/addons.yaml";
    AGENT_WORK_ROLE = "agent/work/role.yaml";
    AGENT_WORK_EXECUTION = "agent/work/execution.yaml";
    AGENT_WORK_ADMIN = "agent/work/admin.yaml";
    AGENT = "agent/deployment.yaml";

    PLACEMENT_APART_ACCOUNT = "overlays/placement-apart/service-account.yaml";
    PLACEMENT_APART_DEPLOYMENT = "overlays/placement-apart/deployment.yaml";

    CONSOLE_IMPERSONATION_ROLE = "overlays/console-impersonation/role.yaml";

    AGENT_IMPERSONATION_ROLE = "overlays/agent-impersonation/role.yaml";
    AUTO_APPROVAL_ROLE = "overlays/auto-approval/role.yaml";
    CLUSTER_PROFILES_ROLE = "overlays/cluster-profiles/role.yaml";
    SIG_PLACEMENT_DECISIONS_ROLE = "overlays/sig-placement-decisions/role.yaml";
    REPLACE_OCM_ROLE = "overlays/replace-ocm/cluster-role.yaml";
    REPLACE_OCM_WORK_ROLE = "overlays/replace-ocm-work/cluster-role.yaml";
    CERT_MANAGER_CERTIFICATE = "overlays/cert-manager/server/certificate.yaml";
    CERT_MANAGER_DEPLOYMENT = "overlays/cert-manager/server/deployment.yaml";
    NETWORK_POLICIES = "overlays/network-policies/network-policies.yaml";
    CLIENT_CERTIFICATES_DEPLOYMENT = "overlays/client-certificates/deployment.yaml";

    MONITORING_RULE = "monitoring/prometheus-rule.yaml";
    MONITORING_SCRAPER = "monitoring/scraper.yaml";
    MONITORING_SERVICE_MONITOR = "monitoring/service-monitor.yaml";
    MONITORING_SERVICE = "monitoring/service.yaml";

    AGENT_MONITORING_REVIEWS = "agent-monitoring/reviews.yaml";
    AGENT_MONITORING_RULE = "agent-monitoring/prometheus-rule.yaml";
    AGENT_MONITORING_SCRAPER = "agent-monitoring/scraper.yaml";
    AGENT_MONITORING_SERVICE_MONITOR = "agent-monitoring/service-monitor.yaml";
    AGENT_MONITORING_SERVICE = "agent-monitoring/service.yaml";
}

/// The CRDs of a hub.
pub const CRDS: [Manifest; 3] = [CRD_CLUSTERS, CRD_SETS, CRD_BINDINGS];

/// The CRDs of a hub on which placement runs, besides [`CRDS`].
pub const PLACEMENT_CRDS: [Manifest; 3] = [
    CRD_PLACEMENTS,
    CRD_PLACEMENT_DECISIONS,
    CRD_ADDON_PLACEMENT_SCORES,
];

/// The CRDs of the work API on a hub.
pub const WORK_CRDS: [Manifest; 2] = [CRD_MANIFEST_WORKS, CRD_MANIFEST_WORK_REPLICA_SETS];

/// The CRDs of add-ons on a hub. The gate converts the objects of the first two between their versions.
pub const ADDON_CRDS: [Manifest; 4] = [
    CRD_CLUSTER_MANAGEMENT_ADDONS,
    CRD_MANAGED_CLUSTER_ADDONS,
    CRD_ADDON_DEPLOYMENT_CONFIGS,
    CRD_ADDON_TEMPLATES,
];

/// The CRDs of the inventory API of SIG-Multicluster.
pub const INVENTORY_CRDS: [Manifest; 2] = [CRD_CLUSTER_PROFILES, CRD_INVENTORY_PLACEMENT_DECISIONS];

/// What a hub needs so that clusters can register with a bootstrap token, in the order in which it is applied.
pub const BOOTSTRAP: [Manifest; 4] = [
    BOOTSTRAP_NAMESPACE,
    BOOTSTRAP_ACCOUNT,
    BOOTSTRAP_ROLE,
    BOOTSTRAP_BINDINGS,
];

/// The agent on a managed cluster, in the order in which it is applied.
pub const AGENT_PARTS: [Manifest; 11] = [
    CRD_CLAIMS,
    CRD_APPLIED_MANIFEST_WORKS,
    AGENT_NAMESPACE,
    AGENT_ACCOUNT,
    AGENT_ROLE,
    AGENT_CLUSTER_ROLE,
    AGENT_ADDONS,
    AGENT_WORK_ROLE,
    AGENT_WORK_EXECUTION,
    AGENT_WORK_ADMIN,
    AGENT,
];

// === impl Manifest ===

impl Manifest {
    /// The file's name, without its folders.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// Its YAML documents.
    pub fn documents(&self) -> Vec<Value> {
        serde_saphyr::from_multiple(self.text).expect("embedded files are YAML: a test reads each")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn yaml_files(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                yaml_files(&path, files);
            } else if path.extension().is_some_and(|it| it == "yaml") {
                files.push(path);
            }
        }
    }

    #[test]
    fn every_file_is_embedded_and_readable() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = Vec::new();
        yaml_files(folder, &mut found);
        let mut found: Vec<String> = found
            .iter()
            .filter(|path| path.file_name().unwrap() != "kustomization.yaml")
            .map(|path| path.strip_prefix(folder.parent().unwrap()).unwrap())
            .map(|path| path.to_str().unwrap().to_owned())
            .collect();
        found.sort();
        let mut embedded: Vec<&str> = ALL.iter().map(|manifest| manifest.path).collect();
        embedded.sort_unstable();
        assert_eq!(embedded, found);
        for manifest in ALL {
            let documents = manifest.documents();
            assert!(
                documents.iter().all(|it| it["kind"].is_string()),
                "{}",
                manifest.path
            );
            assert!(!documents.is_empty(), "{}", manifest.path);
        }
    }
}
