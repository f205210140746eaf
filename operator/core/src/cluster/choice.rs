//! What a Klusterlet asks for, as values of the manifests.

use std::collections::BTreeMap;

use berth_api::operator::{
    AddOnAuthType, BootstrapKubeConfigsType, FeatureGate, HubApiServerHostAlias, Klusterlet,
    RegistrationAuthType, RegistrationConfiguration, WorkAgentConfiguration,
};
use berth_manifests::values::AgentValues;
use serde_json::Value;

use super::place::{is_hosted, is_single, managed_namespace, namespace};
use crate::pull::{PullSecret, pulled_with};
use crate::spec::{Gate, Ignored, TlsProfile, as_map, image, labels, resources};

/// The settings of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The image of the agents: that of the operator itself.
    pub image: String,
    /// The replicas of an agent. `None`: one, as the manifests have it.
    pub replicas: Option<u16>,
    /// Copy the labels of a Klusterlet to what is written for it.
    pub sync_labels: bool,
    /// Make the namespace of add-ons that name no other.
    pub has_addon_namespace: bool,
    /// The TLS settings of the agents.
    pub tls: Option<TlsProfile>,
    /// The credentials of the registry, if there are any.
    pub pull: Option<PullSecret>,
}

/// What a Klusterlet asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// The values of the manifests.
    pub values: AgentValues,
    /// The image of the agent.
    pub image: String,
    /// The uid of the Klusterlet.
    pub uid: String,
    /// The namespace of the agent.
    pub namespace: String,
    /// If the agent runs on this cluster and manages another one: its namespace there.
    pub managed: Option<String>,
    /// One agent does both, under one Lease.
    pub is_single: bool,
    /// An entry of the hosts file.
    pub host_alias: Option<HubApiServerHostAlias>,
    /// The resources of the container, instead of those of the manifests.
    pub resources: Option<Value>,
    /// Labels of what is written for this Klusterlet alone.
    pub labels: BTreeMap<String, String>,
    /// The namespace of add-ons is made.
    pub has_addon_namespace: bool,
    /// The credentials of the registry, for the pods.
    pub pull: Option<PullSecret>,
    /// What is ignored.
    pub ignored: Ignored,
}

/// The names of OCM's images.
const IMAGES_OF_OCM: [&str; 3] = ["registration", "work", "registration-operator"];

/// The prefix of annotations that an agent may set.
const ANNOTATIONS: &str = "agent.open-cluster-management.io";

/// The most hubs of an agent.
const MOST_HUBS: usize = 16;

/// The kubeconfig of the managed cluster, where the agent runs on another one.
const MANAGED_KUBECONFIG: &str = "/spoke/config/kubeconfig";

/// What the CustomResourceDefinition sets where nothing is said: requests per second, and at once.
const RATES: [Option<i32>; 2] = [Some(50), Some(100)];

/// Returns what a Klusterlet asks for.
#[must_use]
pub fn choice(klusterlet: &Klusterlet, settings: &Settings) -> Choice {
    let spec = &klusterlet.spec;
    let is_single = is_single(klusterlet);
    let set = match is_single {
        true => &spec.image_pull_spec,
        false => &spec.registration_image_pull_spec,
    };
    let mut choice = Choice {
        image: image(set, &settings.image, &IMAGES_OF_OCM),
        namespace: namespace(klusterlet).to_owned(),
        managed: is_hosted(klusterlet).then(|| managed_namespace(klusterlet).to_owned()),
        is_single,
        host_alias: spec.hub_api_server_host_alias.clone(),
        resources: spec.resource_requirement.as_ref().and_then(resources),
        has_addon_namespace: settings.has_addon_namespace,
        pull: settings.pull.clone(),
        ..Choice::default()
    };
    choice.values.image_pull_secrets = pulled_with(settings.pull.as_ref());
    choice.values.cluster_name = spec.cluster_name.clone();
    if settings.sync_labels {
        choice.labels = labels(&klusterlet.metadata);
    }
    let agent = &mut choice.values.agent;
    agent.replicas = settings.replicas;
    agent.priority_class_name = spec.priority_class_name.clone();
    if let Some(placement) = &spec.node_placement {
        agent.node_selector = placement.node_selector.clone();
        agent.tolerations = placement.tolerations.iter().filter_map(as_map).collect();
    }
    choice.uid = klusterlet.metadata.uid.clone().unwrap_or_default();
    choice.flag("agent-id", &choice.uid.clone());
    if is_single {
        choice
            .values
            .agent
            .extra_args
            .push("--singleton".to_owned());
    }
    if choice.managed.is_some() {
        choice.flag("spoke-kubeconfig", MANAGED_KUBECONFIG);
        choice.flag("terminate-on-files", MANAGED_KUBECONFIG);
    }
    choice.servers(klusterlet);
    if let Some(registration) = &spec.registration_configuration {
        choice.registration(registration);
    }
    if let Some(work) = &spec.work_configuration {
        choice.work(work);
    }
    let tls = choice.ignored.tls(settings.tls.as_ref());
    choice.values.agent.extra_args.extend(tls);
    choice
}

fn of_registration(name: &str) -> Option<Gate> {
    Some(match name {
        "AddonManagement" | "ClusterClaim" | "ClusterProperty" => Gate::Flag,
        "MultipleHubs" => Gate::Switch,
        "V1beta1CSRAPICompatibility" => Gate::WithoutEffect,
        "NetworkPolicies" => Gate::Unsupported("Berth has no NetworkPolicies for agents"),
        _ => return None,
    })
}

fn of_work(name: &str) -> Option<Gate> {
    Some(match name {
        "RawFeedbackJsonString" | "ExecutorImpersonation" => Gate::Flag,
        // The agent of Berth asks each time.
        "ExecutorValidatingCaches" => Gate::WithoutEffect,
        _ => return None,
    })
}

// === impl Choice ===

impl Choice {
    /// Adds a flag of the agent, unless its value is empty.
    fn flag(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            let args = &mut self.values.agent.extra_args;
            args.push(format!("--{name}={value}"));
        }
    }

    /// Adds a flag with a number, if it is more than zero. The agent would not start with one that is less than `least`.
    fn number(&mut self, name: &str, number: Option<i64>, least: i64) {
        let Some(number) = number.filter(|it| *it > 0) else {
            return;
        };
        if number < least {
            self.ignore(format!(
                "--{name} {number}: it is at least {least}, which is taken instead"
            ));
        }
        self.flag(name, &number.max(least).to_string());
    }

    fn ignore(&mut self, what: impl Into<String>) {
        self.ignored.unsupported.push(what.into());
    }

    fn servers(&mut self, klusterlet: &Klusterlet) {
        let servers = &klusterlet.spec.external_server_urls;
        let urls: Vec<_> = servers.iter().map(|it| &*it.url).collect();
        self.flag("spoke-external-server-urls", &urls.join(","));
        if servers.iter().any(|it| !it.ca_bundle.is_empty()) {
            self.ignore(
                "spec.externalServerURLs caBundle: the hub gets the authority that the agent trusts for its own cluster",
            );
        }
    }

    /// Returns whether the gate MultipleHubs is on.
    fn gates(
        &mut self,
        field: &str,
        gates: &[FeatureGate],
        known: fn(&str) -> Option<Gate>,
    ) -> bool {
        let mut has_switch = false;
        for (name, is_on, gate) in self.ignored.gates(field, gates, known) {
            match gate {
                Gate::Switch => has_switch = is_on,
                _ => {
                    self.values.feature_gates.insert(name.to_owned(), is_on);
                }
            }
        }
        has_switch
    }

    fn registration(&mut self, registration: &RegistrationConfiguration) {
        const FIELD: &str = "registrationConfiguration";
        let has_several = self.gates(FIELD, &registration.feature_gates, of_registration);
        self.hubs(registration, has_several);
        self.number(
            "client-cert-expiration-seconds",
            registration.client_cert_expiration_seconds.map(i64::from),
            3600,
        );
        let annotations = registration.cluster_annotations.iter();
        let (set, others): (Vec<_>, Vec<_>) =
            annotations.partition(|(key, _)| key.starts_with(ANNOTATIONS));
        let set: Vec<_> = set
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        self.flag("cluster-annotations", &set.join(","));
        for (key, _) in others {
            self.ignore(format!(
                "spec.{FIELD}.clusterAnnotations {key}: keys begin with {ANNOTATIONS}"
            ));
        }
        if let Some(claims) = &registration.cluster_claim_configuration {
            self.number(
                "max-custom-cluster-claims",
                Some(claims.max_custom_cluster_claims.into()),
                1,
            );
            let suffixes = claims.reserved_cluster_claim_suffixes.join(",");
            self.flag("reserved-cluster-claim-suffixes", &suffixes);
        }
        if let Some(driver) = &registration.add_on_kube_client_registration_driver {
            match &driver.auth_type {
                AddOnAuthType::Csr => {}
                AddOnAuthType::Token => {
                    self.flag("addon-kubeclient-registration-auth", "token");
                    let seconds = driver.token.as_ref().and_then(|it| it.expiration_seconds);
                    self.number("addon-token-expiration-seconds", seconds, 600);
                }
                AddOnAuthType::Other(other) => self.ignore(format!(
                    "spec.{FIELD}.addOnKubeClientRegistrationDriver {other}: it is not known"
                )),
            }
        }
        let driver = registration.registration_driver.as_ref();
        let why = match driver.map(|it| &it.auth_type) {
            None | Some(RegistrationAuthType::Csr) => None,
            Some(RegistrationAuthType::Grpc) => Some("the agent of Berth speaks no gRPC"),
            Some(RegistrationAuthType::AwsIrsa) => Some("the agent of Berth uses no roles of AWS"),
            Some(RegistrationAuthType::Other(_)) => Some("it is not known"),
        };
        if let (Some(driver), Some(why)) = (driver, why) {
            let name = driver.auth_type.as_str();
            self.ignore(format!("spec.{FIELD}.registrationDriver {name}: {why}"));
        }
        if !registration.cluster_labels.is_empty() {
            let labels = registration.cluster_labels.iter();
            let labels: Vec<_> = labels
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            self.flag("cluster-labels", &labels.join(","));
        }
        self.rates(
            FIELD,
            [registration.kube_api_qps, registration.kube_api_burst],
        );
    }

    /// The Secrets with the bootstrap kubeconfigs.
    fn hubs(&mut self, registration: &RegistrationConfiguration, has_several: bool) {
        let configs = registration.bootstrap_kube_configs.as_ref();
        let configs = configs.filter(|it| it.r#type == BootstrapKubeConfigsType::LocalSecrets);
        let Some(local) = configs.and_then(|it| it.local_secrets_config.as_ref()) else {
            if has_several {
                self.ignore("spec.registrationConfiguration.featureGates MultipleHubs: bootstrapKubeConfigs.localSecretsConfig names no Secrets");
            }
            return;
        };
        let secrets = local.kube_config_secrets.iter();
        let secrets: Vec<_> = secrets.map(|it| it.name.clone()).collect();
        if !has_several || !(2..=MOST_HUBS).contains(&secrets.len()) {
            self.ignore(format!("spec.registrationConfiguration.bootstrapKubeConfigs: needs two to {MOST_HUBS} Secrets, and the feature gate MultipleHubs"));
            return;
        }
        self.values.bootstrap.secrets = secrets;
        let seconds = local.hub_connection_timeout_seconds.map(i64::from);
        self.number("hub-connection-timeout-seconds", seconds, 1);
    }

    fn work(&mut self, work: &WorkAgentConfiguration) {
        const FIELD: &str = "workConfiguration";
        self.gates(FIELD, &work.feature_gates, of_work);
        self.flag(
            "appliedmanifestwork-eviction-grace-period",
            &work.applied_manifest_work_eviction_grace_period,
        );
        let interval = &work.status_sync_interval;
        // Nothing but zeros, such as 0s.
        if interval.contains(|it: char| matches!(it, '1'..='9')) {
            self.flag("status-sync-interval", interval);
        } else if !interval.is_empty() {
            self.ignore(format!(
                "spec.{FIELD}.statusSyncInterval {interval}: it is more than zero"
            ));
        }
        self.rates(FIELD, [work.kube_api_qps, work.kube_api_burst]);
        self.rates(FIELD, [work.hub_kube_api_qps, work.hub_kube_api_burst]);
    }

    /// Rates that are set. The agent needs none.
    fn rates(&mut self, field: &str, rates: [Option<i32>; 2]) {
        let mut pairs = rates.iter().zip(RATES);
        if pairs.any(|(set, preset)| set.is_some_and(|it| Some(it) != preset)) {
            let what = format!("spec.{field}: the agent of Berth limits its requests itself");
            if !self.ignored.unsupported.contains(&what) {
                self.ignore(what);
            }
        }
    }
}
