//! Values that contradict each other. The charts refuse them in the same words (`charts/berth-hub/templates/refusals.yaml`).

use super::{CertificateSource, Existing, HubValues, Pods};
use crate::Mode;

/// The first line of a certificate.
const PEM: &str = "-----BEGIN CERTIFICATE-----";

/// The feature gates of a hub.
pub(super) const FEATURE_GATES: [&str; 15] = [
    "CleanUpCompletedManifestWork",
    "ClusterProfile",
    "DefaultClusterSet",
    "GuardedSelectors",
    "ManagedClusterAutoApproval",
    "ManagedClusterAutoRebootstrap",
    "ManifestWorkReplicaSet",
    "NilExecutorValidating",
    "PlacementPreferNoSelect",
    "PlacementScores",
    "PlacementSortBy",
    "PlacementSpreadPolicy",
    "ResourceCleanup",
    "SIGPlacementDecision",
    "UnguardedDenial",
];

/// Those that change rules of the gate.
pub(crate) const OF_RULES: [&str; 4] = [
    "DefaultClusterSet",
    "GuardedSelectors",
    "NilExecutorValidating",
    "UnguardedDenial",
];

/// Those that need permissions, each with the value that gives them, too.
const WITH_A_VALUE: [(&str, &str); 3] = [
    ("ClusterProfile", "clusterProfiles.enabled"),
    ("ManagedClusterAutoApproval", "autoApproval.users"),
    ("SIGPlacementDecision", "clusterProfiles.placementDecisions"),
];

// === impl HubValues ===

impl HubValues {
    /// Returns what contradicts itself, each with the remedy.
    pub fn contradictions(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mode = self.mode.name();
        if self.mode == Mode::Policies {
            let source = match self.certificates.source {
                CertificateSource::Berth => None,
                CertificateSource::CertManager => Some("cert-manager"),
                CertificateSource::Existing => Some("existing"),
            };
            if let Some(source) = source {
                all.push(format!(
                    "certificates.source {source} is for a gate, and mode policies has none: leave certificates.source at berth, or \
                     choose another mode"
                ));
            }
            if !self.registrations.enabled {
                all.push(
                    "registrations.enabled=false is for a gate, and mode policies has none: leave it at true, or choose another mode"
                        .to_owned(),
                );
            }
            if let Some(name) = self.gate.first_set() {
                all.push(format!(
                    "gate.{name} is for the gate's Deployment, and mode policies has none: remove it, or choose another mode"
                ));
            }
        }
        if self.mode == Mode::Hub {
            if self.ocm_names {
                all.push(
                    "ocmNames renames the controller's Deployment, and mode hub has none: set ocmNames to false, or choose another mode"
                        .to_owned(),
                );
            }
            if let Some(name) = self.controller.first_set() {
                all.push(format!(
                    "controller.{name} is for the controller's Deployment, and mode hub has none: set gate.{name} instead"
                ));
            }
        }
        let existing = &self.certificates.existing;
        if self.certificates.source == CertificateSource::Existing {
            if existing.secret_name.is_empty() {
                all.push(
                    "certificates.existing.secretName is missing: the name of the Secret with tls.crt and tls.key"
                        .to_owned(),
                );
            }
            if !existing.ca_bundle.contains(PEM) {
                all.push(format!(
                    "certificates.existing.caBundle has no certificate: the PEM text of the CA, with the line {PEM}"
                ));
            }
        } else if *existing != Existing::default() {
            all.push(
                "certificates.existing is of the source existing: set certificates.source to existing, too, or remove it"
                    .to_owned(),
            );
        }
        if self.cluster_profiles.placement_decisions && !self.cluster_profiles.enabled {
            all.push(
                "clusterProfiles.placementDecisions refer to ClusterProfiles: set clusterProfiles.enabled to true, too"
                    .to_owned(),
            );
        }
        if let Some(name) = self.placement.first_set().filter(|_| !self.placement_apart) {
            all.push(format!(
                "placement.{name} is for the placement controller's own Deployment: set placementApart to true, or remove it"
            ));
        }
        all.extend(self.console.contradictions());
        for gate in self.feature_gates.keys() {
            let value = WITH_A_VALUE.iter().find(|(name, _)| name == gate);
            if let Some((_, value)) = value {
                all.push(format!(
                    "featureGates.{gate} lacks the permissions that the gate needs: set {value} instead"
                ));
            } else if self.mode.has_policies() && OF_RULES.contains(&gate.as_str()) {
                all.push(format!(
                    "featureGates.{gate} changes rules of the gate, and the policies of mode {mode} are printed without it: remove it, \
                     or choose another mode"
                ));
            } else if !FEATURE_GATES.contains(&gate.as_str()) {
                all.push(format!(
                    "featureGates.{gate} does not exist: {}",
                    FEATURE_GATES.join(", ")
                ));
            }
        }
        let digest = &self.image.digest;
        let is_digest = |digest: &str| {
            let hex = digest.strip_prefix("sha256:").unwrap_or_default();
            let is_hex = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
            hex.len() == 64 && hex.bytes().all(is_hex)
        };
        if !digest.is_empty() && !is_digest(digest) {
            all.push(format!(
                "image.digest {digest:?} is not sha256: and 64 hexadecimal digits"
            ));
        }
        for label in self.common_labels.keys() {
            if label.starts_with("app.kubernetes.io/")
                || label.starts_with("helm.sh/")
                || label == "app"
            {
                all.push(format!(
                    "commonLabels: the chart sets the label {label} itself: remove it"
                ));
            }
        }
        all
    }
}

// === impl Pods ===

impl Pods {
    /// Returns the name of the first value that is set.
    fn first_set(&self) -> Option<&'static str> {
        let Self {
            replicas,
            resources,
            extra_args,
            extra_env,
            pod_labels,
            pod_annotations,
            node_selector,
            tolerations,
            affinity,
            priority_class_name,
        } = self;
        let limits = !resources.requests.is_empty() || !resources.limits.is_empty();
        // In the order of Helm, which walks maps by name.
        [
            ("affinity", !affinity.is_empty()),
            ("extraArgs", !extra_args.is_empty()),
            ("extraEnv", !extra_env.is_empty()),
            ("nodeSelector", !node_selector.is_empty()),
            ("podAnnotations", !pod_annotations.is_empty()),
            ("podLabels", !pod_labels.is_empty()),
            ("priorityClassName", !priority_class_name.is_empty()),
            ("replicas", replicas.is_some()),
            ("resources", limits),
            ("tolerations", !tolerations.is_empty()),
        ]
        .into_iter()
        .find_map(|(name, is_set)| is_set.then_some(name))
    }
}
