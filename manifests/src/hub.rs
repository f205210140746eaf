//! What a hub is made of, by mode: the objects of an overlay, in the order in which they are installed.
//!
//! The overlays are the source. A test renders each with kustomize, and compares the objects one by one.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::files::{
    ACCOUNTS, ADDON_CONFIG_VALIDATORS, ADDON_CRDS, ADDON_ROLE, ADDON_TEMPLATE_VALIDATORS,
    AGENT_ROLES, BINDING_VALIDATORS, CERTIFICATES, CERTIFICATES_ROLE, CLUSTER_ADDON_VALIDATORS,
    CLUSTER_MUTATORS, CLUSTER_VALIDATORS, CONTROLLER, CONTROLLER_ROLE, CRDS, DISRUPTION_BUDGET,
    GATE, GATE_ROLE, MANAGEMENT_ADDON_VALIDATORS, Manifest, NAMESPACE, PEOPLE_AGGREGATED,
    PEOPLE_ROLES, PLACEMENT_CRDS, PLACEMENT_ROLE, PLACEMENT_VALIDATORS, POLICIES,
    POLICIES_WITH_WEBHOOK, REPLICA_SET_VALIDATORS, REQUEST_VALIDATORS, SERVICE, SET_VALIDATORS,
    WORK_CRDS, WORK_ROLE, WORK_VALIDATORS,
};

/// The namespace of gate and controller.
pub const HUB_NAMESPACE: &str = "open-cluster-management-hub";

/// Where the gate's rules run, and in how many Deployments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The gate as webhooks, and the controller: `manifests`.
    #[default]
    Webhooks,
    /// Policies of the API server, and the controller; no gate: `overlays/policies`.
    Policies,
    /// Policies, the controller, and the gate for the rest: `overlays/policies-with-webhook`.
    PoliciesWithWebhook,
    /// Gate and controller in one process: `overlays/hub`.
    Hub,
}

/// The objects of a hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Hub {
    /// CustomResourceDefinitions. Those of which [`is_converted`] returns true need a gate that answers.
    pub definitions: Vec<Value>,
    /// Namespace, accounts, roles, Service and Secret: what Deployments need.
    pub foundation: Vec<Value>,
    /// Deployments.
    pub workloads: Vec<Value>,
    /// Webhook configurations and policies. They come last: a configuration without a gate that answers makes the API server refuse
    /// writes.
    pub guards: Vec<Value>,
}

const FOUNDATION: [Manifest; 14] = [
    NAMESPACE,
    ACCOUNTS,
    GATE_ROLE,
    CERTIFICATES,
    CERTIFICATES_ROLE,
    CONTROLLER_ROLE,
    AGENT_ROLES,
    PLACEMENT_ROLE,
    WORK_ROLE,
    ADDON_ROLE,
    PEOPLE_AGGREGATED,
    PEOPLE_ROLES,
    SERVICE,
    DISRUPTION_BUDGET,
];

const REGISTRATIONS: [Manifest; 12] = [
    CLUSTER_MUTATORS,
    CLUSTER_VALIDATORS,
    SET_VALIDATORS,
    BINDING_VALIDATORS,
    REQUEST_VALIDATORS,
    PLACEMENT_VALIDATORS,
    WORK_VALIDATORS,
    REPLICA_SET_VALIDATORS,
    ADDON_TEMPLATE_VALIDATORS,
    ADDON_CONFIG_VALIDATORS,
    MANAGEMENT_ADDON_VALIDATORS,
    CLUSTER_ADDON_VALIDATORS,
];

const GATE_ACCOUNT: &str = "registration-webhook-sa";
const CONTROLLER_ACCOUNT: &str = "berth-registration-controller-sa";

// === impl Mode ===

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [
        Self::Webhooks,
        Self::Policies,
        Self::PoliciesWithWebhook,
        Self::Hub,
    ];

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Webhooks => "webhooks",
            Self::Policies => "policies",
            Self::PoliciesWithWebhook => "policies-with-webhook",
            Self::Hub => "hub",
        }
    }

    /// Returns true if the API server evaluates policies of Berth. That needs Kubernetes 1.36.
    pub fn has_policies(self) -> bool {
        matches!(self, Self::Policies | Self::PoliciesWithWebhook)
    }
}

// === impl Hub ===

impl Hub {
    /// Returns the objects of a mode, with this image.
    pub fn of(mode: Mode, image: &str) -> Self {
        let guards = match mode {
            Mode::Webhooks | Mode::Hub => documents(&REGISTRATIONS),
            Mode::Policies => POLICIES.documents(),
            Mode::PoliciesWithWebhook => POLICIES_WITH_WEBHOOK.documents(),
        };
        let mut hub = Self {
            definitions: documents(&[&CRDS[..], &PLACEMENT_CRDS, &WORK_CRDS, &ADDON_CRDS].concat()),
            foundation: documents(&FOUNDATION),
            // The controller fills the Secret that the gate serves from.
            workloads: documents(&[CONTROLLER, GATE]),
            guards,
        };
        match mode {
            Mode::Webhooks => {}
            Mode::Policies => hub.without_the_gate(),
            Mode::PoliciesWithWebhook => hub.with_the_bundle_of_one_registration(),
            Mode::Hub => hub.in_one_process(),
        }
        for deployment in &mut hub.workloads {
            container(deployment)["image"] = json!(image);
        }
        hub
    }

    /// Returns all objects, in the order in which they are installed.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        let Self {
            definitions,
            foundation,
            workloads,
            guards,
        } = self;
        let parts = [definitions, foundation, workloads, guards];
        parts.into_iter().flatten()
    }

    /// `overlays/policies`.
    fn without_the_gate(&mut self) {
        for definition in self.definitions.iter_mut().filter(|it| is_converted(it)) {
            serve_what_is_stored(definition);
        }
        let of_the_gate = [
            &GATE,
            &SERVICE,
            &DISRUPTION_BUDGET,
            &GATE_ROLE,
            &CERTIFICATES,
        ];
        let mut gone = of_the_gate.map(Manifest::documents).concat();
        gone.extend(CERTIFICATES_ROLE.documents());
        self.foundation
            .retain(|object| !gone.contains(object) && object["metadata"]["name"] != GATE_ACCOUNT);
        self.workloads.retain(|object| !gone.contains(object));
        for deployment in &mut self.workloads {
            container(deployment)["args"] = json!(["controller"]);
        }
    }

    /// `overlays/policies-with-webhook`: the controller writes the bundle of one registration, and sees that there are no others.
    fn with_the_bundle_of_one_registration(&mut self) {
        let is_role = |object: &&mut Value| {
            object["kind"] == "ClusterRole"
                && object["metadata"]["name"]
                    == "open-cluster-management:berth-registration:certificates"
        };
        let Some(role) = self.foundation.iter_mut().find(is_role) else {
            return;
        };
        let rules = role["rules"].as_array_mut().into_iter().flatten();
        for rule in rules.filter(|it| it["apiGroups"] == json!(["admissionregistration.k8s.io"])) {
            rule["verbs"] = json!(["get", "list", "watch"]);
        }
        let validators = &CLUSTER_VALIDATORS.documents()[0]["metadata"]["name"];
        if let Some(rules) = role["rules"].as_array_mut() {
            rules.push(json!({
                "apiGroups": ["admissionregistration.k8s.io"],
                "resources": ["validatingwebhookconfigurations"],
                "resourceNames": [validators],
                "verbs": ["patch"],
            }));
        }
    }

    /// `overlays/hub`.
    fn in_one_process(&mut self) {
        let controller = CONTROLLER.documents();
        self.workloads.retain(|object| !controller.contains(object));
        self.foundation.retain(|object| {
            object["kind"] != "ServiceAccount" || object["metadata"]["name"] != CONTROLLER_ACCOUNT
        });
        in_one_account(&mut self.foundation);
        for deployment in &mut self.workloads {
            let container = container(deployment);
            container["args"] = json!(["hub", "--certificate-source=secret"]);
            let pod_name = json!({"fieldRef": {"fieldPath": "metadata.name"}});
            container["env"] = json!([{"name": "POD_NAME", "valueFrom": pod_name}]);
            if let Some(ports) = container["ports"].as_array_mut() {
                ports.push(json!({"name": "controller", "containerPort": 8443}));
            }
        }
    }
}

/// Gives the rights of the controller's account to the gate's.
pub(crate) fn in_one_account(objects: &mut [Value]) {
    for object in objects {
        let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
        for subject in subjects.into_iter().flatten() {
            if subject["name"] == CONTROLLER_ACCOUNT {
                subject["name"] = json!(GATE_ACCOUNT);
            }
        }
    }
}

/// Returns true if a webhook converts the objects of a CustomResourceDefinition.
pub fn is_converted(definition: &Value) -> bool {
    definition["spec"]["conversion"]["strategy"] == "Webhook"
}

/// Makes a CustomResourceDefinition one that no webhook converts, and that serves only the version in which its objects are stored: in
/// another version the API server would return them without the fields that are named differently there.
pub fn serve_what_is_stored(definition: &mut Value) {
    definition["spec"]["conversion"] = json!({"strategy": "None"});
    let versions = definition["spec"]["versions"].as_array_mut();
    for version in versions.into_iter().flatten() {
        version["served"] = version["storage"].clone();
    }
}

/// The CustomResourceDefinitions of add-ons for a hub on which nothing converts: the version that the controller reads is stored and served,
/// and no other.
pub fn addons_in_one_version() -> Vec<Value> {
    let mut definitions = documents(&crate::files::ADDON_CRDS);
    for definition in definitions.iter_mut().filter(|it| is_converted(it)) {
        let versions = definition["spec"]["versions"].as_array_mut();
        for version in versions.into_iter().flatten() {
            version["storage"] = (version["name"] == "v1beta1").into();
        }
        serve_what_is_stored(definition);
    }
    definitions
}

pub(crate) fn documents(files: &[Manifest]) -> Vec<Value> {
    files.iter().flat_map(Manifest::documents).collect()
}

/// The first container of a Deployment.
pub(crate) fn container(deployment: &mut Value) -> &mut Value {
    &mut deployment["spec"]["template"]["spec"]["containers"][0]
}
