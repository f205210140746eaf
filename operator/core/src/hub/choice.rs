//! What a ClusterManager asks for, as values of the manifests.

use std::collections::BTreeMap;

use berth_api::operator::{
    BindConfiguration, ClusterManager, FeatureGate, FeatureGateMode, HostedWebhookConfiguration,
    RegistrationAuthType, WorkDriver,
};
use berth_manifests::values::HubValues;
use serde_json::Value;

use super::place::{Hosted, PORT, is_elsewhere};
use crate::pull::{PullSecret, pulled_with};
use crate::spec::{Gate, Ignored, TlsProfile, as_map, image, labels, resources};

/// The settings of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The image of the components: that of the operator itself.
    pub image: String,
    /// The replicas of each Deployment. `None`: by the nodes of the control plane.
    pub replicas: Option<u16>,
    /// Copy the labels of a ClusterManager to what is written for it.
    pub sync_labels: bool,
    /// Delete the CustomResourceDefinitions with a ClusterManager, as OCM's operator does.
    pub purge: bool,
    /// The TLS settings of the components.
    pub tls: Option<TlsProfile>,
    /// The credentials of the registry, if there are any.
    pub pull: Option<PullSecret>,
}

/// What a ClusterManager asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// The values of the manifests.
    pub values: HubValues,
    /// The image of all components.
    pub image: String,
    /// The ports of the gate that differ from those of the manifests.
    pub ports: Ports,
    /// The resources of all containers, instead of those of the manifests.
    pub resources: Option<Value>,
    /// The credentials of the registry, for the pods.
    pub pull: Option<PullSecret>,
    /// Where the components run, if the hub is another cluster.
    pub hosted: Option<Hosted>,
    /// What is ignored.
    pub ignored: Ignored,
}

/// The ports of the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Of the webhooks.
    pub webhook: Option<u16>,
    /// Of the health endpoints.
    pub health: Option<u16>,
    /// Of the metrics.
    pub metrics: Option<u16>,
    /// The pods use the network of their nodes.
    pub is_host_network: bool,
}

/// The names of OCM's images. A ClusterManager has them by default.
const IMAGES_OF_OCM: [&str; 4] = ["registration", "work", "placement", "addon-manager"];

/// Returns what a ClusterManager asks for. `nodes`: the number of control-plane nodes that are known; 0 if there are none to see.
#[must_use]
pub fn choice(manager: &ClusterManager, nodes: usize, settings: &Settings) -> Choice {
    let spec = &manager.spec;
    let mut choice = Choice {
        image: image(
            &spec.registration_image_pull_spec,
            &settings.image,
            &IMAGES_OF_OCM,
        ),
        pull: settings.pull.clone(),
        ..Choice::default()
    };
    choice.values.image_pull_secrets = pulled_with(settings.pull.as_ref());
    if settings.sync_labels {
        choice.labels(labels(&manager.metadata));
    }
    choice.gates_of(
        "registrationConfiguration",
        spec.registration_configuration
            .as_ref()
            .map(|it| &*it.feature_gates),
        of_registration,
    );
    choice.gates_of(
        "workConfiguration",
        spec.work_configuration
            .as_ref()
            .map(|it| &*it.feature_gates),
        of_work,
    );
    choice.gates_of(
        "placementConfiguration",
        spec.placement_configuration
            .as_ref()
            .map(|it| &*it.feature_gates),
        of_placement,
    );
    choice.gates_of(
        "addOnManagerConfiguration",
        spec.add_on_manager_configuration
            .as_ref()
            .map(|it| &*it.feature_gates),
        of_add_ons,
    );
    choice.registration(manager);
    choice.elsewhere(manager);
    let tls = choice.ignored.tls(settings.tls.as_ref());
    for pods in [&mut choice.values.gate, &mut choice.values.controller] {
        pods.extra_args.extend(tls.iter().cloned());
    }
    if let Some(placement) = &spec.node_placement {
        for pods in [&mut choice.values.gate, &mut choice.values.controller] {
            pods.node_selector = placement.node_selector.clone();
            pods.tolerations = placement.tolerations.iter().filter_map(as_map).collect();
        }
    }
    let replicas = settings.replicas.or((nodes == 1).then_some(1));
    for pods in [&mut choice.values.gate, &mut choice.values.controller] {
        pods.replicas = replicas;
    }
    choice.resources = spec.resource_requirement.as_ref().and_then(resources);
    choice
}

const NO_IMPORTER: &str = "Berth has no importer of clusters";
const NO_CLOUDEVENTS: &str = "works reach clusters through the hub's API server only";

fn of_registration(name: &str) -> Option<Gate> {
    Some(match name {
        "DefaultClusterSet" | "ResourceCleanup" => Gate::Flag,
        "ManagedClusterAutoApproval" | "ClusterProfile" | "NetworkPolicies" => Gate::Switch,
        "V1beta1CSRAPICompatibility" => Gate::WithoutEffect,
        "ClusterImporter" => Gate::Unsupported(NO_IMPORTER),
        _ => return None,
    })
}

fn of_work(name: &str) -> Option<Gate> {
    Some(match name {
        "NilExecutorValidating" | "ManifestWorkReplicaSet" | "CleanUpCompletedManifestWork" => {
            Gate::Flag
        }
        "CloudEventsDrivers" => Gate::Unsupported(NO_CLOUDEVENTS),
        _ => return None,
    })
}

fn of_placement(name: &str) -> Option<Gate> {
    Some(match name {
        "SIGPlacementDecision" => Gate::Switch,
        "PlacementDebugServer" => Gate::Unsupported(
            "decisions are explained by 'berth placement explain', or kubectl apply -k manifests/placement/debug",
        ),
        "PlacementPreferNoSelect"
        | "PlacementScores"
        | "PlacementSortBy"
        | "PlacementSpreadPolicy" => Gate::Flag,
        _ => return None,
    })
}

fn of_add_ons(name: &str) -> Option<Gate> {
    (name == "AddonManagement").then_some(Gate::Switch)
}

// === impl Choice ===

impl Choice {
    /// Labels of all objects, also of those that the controller makes.
    fn labels(&mut self, labels: BTreeMap<String, String>) {
        let pairs = labels.iter().map(|(key, value)| format!("{key}={value}"));
        let pairs = pairs.collect::<Vec<_>>().join(",");
        if !pairs.is_empty() {
            let args = &mut self.values.controller.extra_args;
            args.push(format!("--labels={pairs}"));
        }
        self.values.common_labels = labels;
    }

    fn gates_of(
        &mut self,
        field: &str,
        gates: Option<&[FeatureGate]>,
        known: fn(&str) -> Option<Gate>,
    ) {
        let gates = gates.unwrap_or_default();
        for (name, is_on, gate) in self.ignored.gates(field, gates, known) {
            if matches!(gate, Gate::Switch) {
                self.switch(name, is_on);
            } else {
                self.values.feature_gates.insert(name.to_owned(), is_on);
            }
        }
    }

    fn switch(&mut self, name: &str, is_on: bool) {
        let values = &mut self.values;
        match name {
            "NetworkPolicies" => values.network_policies.enabled = is_on,
            "ClusterProfile" => values.cluster_profiles.enabled = is_on,
            // PlacementDecisions of SIG-Multicluster refer to ClusterProfiles.
            "SIGPlacementDecision" if is_on => {
                values.cluster_profiles.enabled = true;
                values.cluster_profiles.placement_decisions = true;
            }
            "AddonManagement" if !is_on => {
                let args = &mut values.controller.extra_args;
                args.push("--controllers=*,-addon".to_owned());
            }
            _ => {}
        }
    }

    fn registration(&mut self, manager: &ClusterManager) {
        let Some(registration) = &manager.spec.registration_configuration else {
            return;
        };
        let mut identities = Vec::new();
        for driver in &registration.registration_drivers {
            let why = match &driver.auth_type {
                RegistrationAuthType::Csr => {
                    let csr = driver.csr.iter();
                    identities.extend(csr.flat_map(|it| it.auto_approved_identities.clone()));
                    continue;
                }
                RegistrationAuthType::Grpc => "Berth has no gRPC server",
                RegistrationAuthType::AwsIrsa => "Berth makes no roles of AWS",
                RegistrationAuthType::Other(_) => "it is not known",
            };
            let auth_type = driver.auth_type.as_str();
            self.ignored.unsupported.push(format!(
                "spec.registrationConfiguration.registrationDrivers {auth_type}: {why}"
            ));
        }
        let importer = registration.importer_configuration.as_ref();
        if importer.is_some_and(|it| !it.renderers.is_empty()) {
            let what = "spec.registrationConfiguration.importerConfiguration";
            self.ignored
                .unsupported
                .push(format!("{what}: {NO_IMPORTER}"));
        }
        let gates = &registration.feature_gates;
        let accepts = gates.iter().any(|it| {
            it.feature == "ManagedClusterAutoApproval" && it.mode == FeatureGateMode::Enable
        });
        let users = &registration.auto_approve_users;
        if accepts {
            // As OCM's controller, which takes its older list if the newer one is empty.
            if identities.is_empty() {
                identities.extend(users.iter().cloned());
            }
            identities.sort();
            identities.dedup();
            self.values.auto_approval.users = identities;
        } else if !users.is_empty() || !identities.is_empty() {
            self.ignored.unsupported.push(
                "spec.registrationConfiguration: nobody is accepted automatically without the feature gate ManagedClusterAutoApproval"
                    .to_owned(),
            );
        }
    }

    /// What runs elsewhere than in the hub's Deployments.
    fn elsewhere(&mut self, manager: &ClusterManager) {
        let spec = &manager.spec;
        if let Some(work) = &spec.work_configuration
            && work.work_driver != WorkDriver::Kube
        {
            let driver = work.work_driver.as_str();
            let what = format!("spec.workConfiguration.workDriver {driver}: {NO_CLOUDEVENTS}");
            self.ignored.unsupported.push(what);
        }
        if spec.server_configuration.is_some() {
            let what = "spec.serverConfiguration: Berth has no gRPC server";
            self.ignored.unsupported.push(what.to_owned());
        }
        if is_elsewhere(manager) {
            self.hosted(manager);
            return;
        }
        let servers = spec.deploy_option.default.as_ref();
        let gate = servers.and_then(|it| it.registration_webhook_configuration.as_ref());
        if let Some(bind) = gate.and_then(|it| it.bind_configuration.as_ref()) {
            self.ports = ports(bind);
        }
    }

    /// Where the components run of a hub that is another cluster.
    fn hosted(&mut self, manager: &ClusterManager) {
        let servers = manager
            .spec
            .deploy_option
            .hosted
            .clone()
            .unwrap_or_default();
        let gate = servers
            .registration_webhook_configuration
            .unwrap_or_default();
        let place =
            |it: &HostedWebhookConfiguration| (it.address.clone(), port(it.port).unwrap_or(PORT));
        let (address, number) = place(&gate);
        if let Some(bind) = &gate.bind_configuration {
            self.ports = ports(bind);
        }
        let of_works = servers.work_webhook_configuration;
        if of_works.is_some_and(|it| place(&it) != (address.clone(), number)) {
            let what = "spec.deployOption.hosted.workWebhookConfiguration: works are checked by the gate, at registrationWebhookConfiguration";
            self.ignored.unsupported.push(what.to_owned());
        }
        self.hosted = Some(Hosted {
            namespace: manager.metadata.name.clone().unwrap_or_default(),
            address,
            port: number,
            uid: manager.metadata.uid.clone().unwrap_or_default(),
            server: String::new(),
        });
    }
}

/// A port, if it is one.
fn port(it: Option<i32>) -> Option<u16> {
    u16::try_from(it?).ok().filter(|it| *it > 0)
}

fn ports(bind: &BindConfiguration) -> Ports {
    let port = |it: Option<i32>, preset: u16| port(it).filter(|it| *it != preset);
    Ports {
        webhook: port(bind.port, 9443),
        health: port(bind.health_probe_port, 8000),
        metrics: port(bind.metrics_port, 8080),
        is_host_network: bind.host_network == Some(true),
    }
}

/// The labels of what is written for the ClusterManager of this name: those that are copied, and the one that says who made it.
#[must_use]
pub fn labels_of(choice: &Choice, name: &str) -> BTreeMap<String, String> {
    let mut labels = choice.values.common_labels.clone();
    labels.insert(crate::names::CREATED_BY.to_owned(), name.to_owned());
    labels
}
