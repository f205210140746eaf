//! The objects of a hub with values: what `charts/berth-hub` renders, without Helm.
//!
//! A test renders the chart with many values, and compares the objects one by one.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value, json};

use crate::files::{
    AUTO_APPROVAL_ROLE, BOOTSTRAP, CERT_MANAGER_CERTIFICATE, CERTIFICATES, CERTIFICATES_ROLE,
    CLUSTER_PROFILES_ROLE, CONSOLE, GATE, INVENTORY_CRDS, NETWORK_POLICIES, PEOPLE_AGGREGATED,
    SIG_PLACEMENT_DECISIONS_ROLE,
};
use crate::hub::{Hub, Mode, container, documents, in_one_account, is_converted};
use crate::values::{
    CertificateSource, Certificates, HubValues, OF_RULES, Pods, PullPolicy, Quantity, SecretName,
    Size,
};

/// cert-manager writes the CA of this certificate into objects with the annotation.
const INJECT: &str = "cert-manager.io/inject-ca-from";
const INJECTED: &str = "open-cluster-management-hub/registration-webhook-serving-cert";

/// The feature gates of the placement controller.
const OF_PLACEMENT: [&str; 4] = [
    "PlacementPreferNoSelect",
    "PlacementScores",
    "PlacementSortBy",
    "PlacementSpreadPolicy",
];

/// What a Deployment has without any value.
pub(crate) struct Preset {
    pub(crate) replicas: u16,
    pub(crate) cpu: &'static str,
    /// Requested memory.
    pub(crate) memory: &'static str,
    /// Limit of the memory.
    pub(crate) limit: &'static str,
}

// === impl Hub ===

impl Hub {
    /// Returns the objects of these values, with this image. OCM's names, a placement controller apart, and monitoring are left out:
    /// [`HubValues::only_in_the_chart`] names them.
    pub fn with(values: &HubValues, image: &str) -> Self {
        let mut hub = Self::of(values.mode, image);
        if !values.crds.enabled {
            hub.definitions.clear();
        } else if values.cluster_profiles.enabled {
            hub.definitions.extend(documents(&INVENTORY_CRDS));
        }
        if !values.registrations.enabled {
            hub.guards.retain(|it| it["webhooks"].is_null());
        }
        if !values.rbac.aggregate {
            let aggregated = PEOPLE_AGGREGATED.documents();
            hub.foundation.retain(|it| !aggregated.contains(it));
        }
        hub.foundation.extend(more(values));
        if values.mode == Mode::Hub {
            in_one_account(&mut hub.foundation);
        }
        hub.with_certificate(&values.certificates);
        let gate = &GATE.documents()[0]["metadata"]["name"];
        for deployment in &mut hub.workloads {
            let is_gate = deployment["metadata"]["name"] == *gate;
            let pods = if is_gate {
                &values.gate
            } else {
                &values.controller
            };
            shape(deployment, pods, &preset(values.mode, values.size, is_gate));
            pulled(
                deployment,
                values.image.pull_policy,
                &values.image_pull_secrets,
            );
            let container = container(deployment);
            if !is_gate || values.mode == Mode::Hub {
                push(&mut container["args"], of_the_controller(values));
            }
            let gates = feature_gates(values, is_gate);
            push(&mut container["args"], gates);
            push(&mut container["args"], pods.extra_args.iter().cloned());
        }
        if values.console.enabled {
            hub.with_console(values, image);
        }
        for object in hub.objects_mut() {
            merge(&mut object["metadata"], "labels", &values.common_labels);
        }
        hub
    }

    /// The gate serves a certificate that is not of the controller: from a Secret, as a volume.
    fn with_certificate(&mut self, certificates: &Certificates) {
        let secret = match certificates.source {
            CertificateSource::Berth => return,
            CertificateSource::CertManager => {
                self.foundation.extend(CERT_MANAGER_CERTIFICATE.documents());
                for caller in self.callers() {
                    caller["metadata"]["annotations"][INJECT] = json!(INJECTED);
                }
                "registration-webhook-serving-cert"
            }
            CertificateSource::Existing => {
                let bundle = BASE64_STANDARD.encode(&certificates.existing.ca_bundle);
                for caller in self.callers() {
                    if is_converted(caller) {
                        let webhook = &mut caller["spec"]["conversion"]["webhook"];
                        webhook["clientConfig"]["caBundle"] = json!(bundle);
                    }
                    let webhooks = caller.get_mut("webhooks").and_then(Value::as_array_mut);
                    for webhook in webhooks.into_iter().flatten() {
                        webhook["clientConfig"]["caBundle"] = json!(bundle);
                    }
                }
                &certificates.existing.secret_name
            }
        };
        let of_berth = documents(&[CERTIFICATES, CERTIFICATES_ROLE]);
        let key = |it: &Value| (it["kind"].clone(), it["metadata"]["name"].clone());
        let of_berth: Vec<_> = of_berth.iter().map(key).collect();
        self.foundation.retain(|it| !of_berth.contains(&key(it)));
        for deployment in &mut self.workloads {
            let container = container(deployment);
            if let Some(args) = container["args"].as_array_mut() {
                args.retain(|it| {
                    it != "--certificate-source=secret" && it != "--keep-certificates"
                });
            }
            if container["args"][0] == "controller" {
                continue;
            }
            container["volumeMounts"] = json!([{
                "name": "webhook-secret",
                "mountPath": "/tmp/k8s-webhook-server/serving-certs",
                "readOnly": true,
            }]);
            let pod = &mut deployment["spec"]["template"]["spec"];
            // The group of the gate's user may read it, and nobody else (0440).
            let source = json!({"secretName": secret, "defaultMode": 0o440});
            pod["volumes"] = json!([{"name": "webhook-secret", "secret": source}]);
            pod["securityContext"]["fsGroup"] = pod["securityContext"]["runAsGroup"].clone();
        }
    }

    /// The objects by which API servers call the gate: registrations, and definitions with a conversion.
    fn callers(&mut self) -> impl Iterator<Item = &mut Value> {
        let converted = self.definitions.iter_mut().filter(|it| is_converted(it));
        let guards = self.guards.iter_mut();
        converted.chain(guards.filter(|it| !it["webhooks"].is_null()))
    }

    fn objects_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let Self {
            definitions,
            foundation,
            workloads,
            guards,
        } = self;
        let parts = [definitions, foundation, workloads, guards];
        parts.into_iter().flatten()
    }
}

// === impl HubValues ===

impl HubValues {
    /// Returns the values that are set and that only the chart has, each with the way to have it without Helm.
    pub fn only_in_the_chart(&self) -> Vec<String> {
        let overlay = |value: &str, name: &str| {
            format!("{value}: only with Helm, or kubectl apply -k manifests/{name}")
        };
        [
            (
                self.operator.enabled,
                "operator.enabled: only with Helm, or 'berth init --operator'".to_owned(),
            ),
            (self.ocm_names, overlay("ocmNames", "overlays/ocm-names")),
            (
                self.placement_apart,
                overlay("placementApart", "overlays/placement-apart"),
            ),
            (
                self.monitoring.enabled,
                overlay("monitoring.enabled", "monitoring"),
            ),
            (
                !self.crds.keep,
                "crds.keep=false: only with Helm; 'berth uninstall --purge' deletes the CRDs"
                    .to_owned(),
            ),
        ]
        .into_iter()
        .filter_map(|(is_set, why)| is_set.then_some(why))
        .collect()
    }
}

/// The objects that switches add to the foundation.
fn more(values: &HubValues) -> Vec<Value> {
    let mut more = Vec::new();
    if values.bootstrap.enabled {
        more.extend(documents(&BOOTSTRAP));
    }
    if !values.auto_approval.users.is_empty() {
        more.extend(AUTO_APPROVAL_ROLE.documents());
    }
    if values.cluster_profiles.enabled {
        more.extend(CLUSTER_PROFILES_ROLE.documents());
    }
    if values.cluster_profiles.placement_decisions {
        more.extend(SIG_PLACEMENT_DECISIONS_ROLE.documents());
    }
    if values.network_policies.enabled {
        let mut policies = NETWORK_POLICIES.documents();
        let app = |object: &Value| object["metadata"]["labels"]["app"].clone();
        let [gate, console] = [&GATE, &CONSOLE].map(|it| app(&it.documents()[0]));
        policies.retain(|policy| {
            let selected = &policy["spec"]["podSelector"]["matchLabels"]["app"];
            match values.mode {
                _ if *selected == console => true,
                Mode::Policies => *selected != gate,
                Mode::Hub => *selected == gate,
                Mode::Webhooks | Mode::PoliciesWithWebhook => true,
            }
        });
        more.extend(policies);
    }
    more
}

/// The arguments of the controller, which in mode hub are those of the one process.
fn of_the_controller(values: &HubValues) -> Vec<String> {
    let mut args = Vec::new();
    if values.cluster_profiles.enabled {
        args.push("--feature-gates=ClusterProfile=true".to_owned());
    }
    if values.cluster_profiles.placement_decisions {
        args.push("--feature-gates=SIGPlacementDecision=true".to_owned());
    }
    let users = &values.auto_approval.users;
    if !users.is_empty() {
        args.push("--feature-gates=ManagedClusterAutoApproval=true".to_owned());
        args.push(format!("--auto-approved-csr-users={}", users.join(",")));
    }
    args
}

/// The flags of the gates that have an effect on the Deployment.
fn feature_gates(values: &HubValues, is_gate: bool) -> impl Iterator<Item = String> {
    let mode = values.mode;
    let has = move |name: &str| {
        let is_of_rules = OF_RULES.contains(&name);
        match mode {
            Mode::Hub => true,
            _ if is_gate => is_of_rules,
            // Placement runs in the controller.
            _ => !is_of_rules || name == "DefaultClusterSet" || OF_PLACEMENT.contains(&name),
        }
    };
    let gates = values.feature_gates.iter();
    gates
        .filter(move |(name, _)| has(name))
        .map(|(name, on)| format!("--feature-gates={name}={on}"))
}

/// Replicas and resources, as measured (docs/performance.md). There is no CPU limit: throttling would delay every write that the gate
/// guards.
fn preset(mode: Mode, size: Size, is_gate: bool) -> Preset {
    let is_hub = mode == Mode::Hub;
    let (replicas, cpu, memory, limit) = match (size, is_gate) {
        (Size::Small, _) if is_hub => (2, "10m", "48Mi", "512Mi"),
        (Size::Small, true) => (2, "10m", "32Mi", "512Mi"),
        (Size::Small, false) => (2, "10m", "32Mi", "256Mi"),
        (Size::Medium, true) => (3, "50m", "64Mi", "512Mi"),
        (Size::Medium, false) => (2, "50m", "64Mi", "512Mi"),
        (Size::Large, _) if is_hub => (3, "300m", "256Mi", "1Gi"),
        (Size::Large, true) => (3, "200m", "64Mi", "512Mi"),
        (Size::Large, false) => (2, "200m", "192Mi", "1Gi"),
    };
    Preset {
        replicas,
        cpu,
        memory,
        limit,
    }
}

/// Gives a Deployment what pulls its image.
pub(crate) fn pulled(deployment: &mut Value, policy: PullPolicy, secrets: &[SecretName]) {
    container(deployment)["imagePullPolicy"] = json!(policy);
    if !secrets.is_empty() {
        deployment["spec"]["template"]["spec"]["imagePullSecrets"] = json!(secrets);
    }
}

/// Gives a Deployment what the values say of its pods.
pub(crate) fn shape(deployment: &mut Value, pods: &Pods, preset: &Preset) {
    deployment["spec"]["replicas"] = json!(pods.replicas.unwrap_or(preset.replicas));
    let template = &mut deployment["spec"]["template"];
    merge(&mut template["metadata"], "labels", &pods.pod_labels);
    merge(
        &mut template["metadata"],
        "annotations",
        &pods.pod_annotations,
    );
    let spec = &mut template["spec"];
    if !pods.node_selector.is_empty() {
        spec["nodeSelector"] = json!(pods.node_selector);
    }
    if !pods.tolerations.is_empty() {
        spec["tolerations"] = json!(pods.tolerations);
    }
    if !pods.affinity.is_empty() {
        spec["affinity"] = json!(pods.affinity);
    }
    if !pods.priority_class_name.is_empty() {
        spec["priorityClassName"] = json!(pods.priority_class_name);
    }
    let container = container(deployment);
    let mut resources = json!({
        "requests": {"cpu": preset.cpu, "memory": preset.memory},
        "limits": {"memory": preset.limit},
    });
    for (name, set) in [
        ("requests", &pods.resources.requests),
        ("limits", &pods.resources.limits),
    ] {
        for (resource, quantity) in set {
            resources[name][resource.as_str()] = match quantity {
                Quantity::Text(text) => json!(text),
                Quantity::Number(number) => json!(number.to_string()),
            };
        }
    }
    container["resources"] = resources;
    if !pods.extra_env.is_empty() {
        let env = container["env"].take();
        let mut env = env.as_array().cloned().unwrap_or_default();
        env.extend(pods.extra_env.iter().cloned().map(Value::Object));
        container["env"] = json!(env);
    }
}

/// Adds entries to a map of the metadata.
pub(crate) fn merge(metadata: &mut Value, name: &str, entries: &BTreeMap<String, String>) {
    if entries.is_empty() {
        return;
    }
    if metadata[name].is_null() {
        metadata[name] = Value::Object(Map::new());
    }
    for (key, value) in entries {
        metadata[name][key.as_str()] = json!(value);
    }
}

pub(crate) fn push(args: &mut Value, more: impl IntoIterator<Item = String>) {
    if let Some(args) = args.as_array_mut() {
        args.extend(more.into_iter().map(Value::String));
    }
}
