//! The objects of a hub.

use std::collections::BTreeMap;

use berth_manifests::values::HubValues;
use berth_manifests::{HUB_NAMESPACE, Hub};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::choice::{Choice, Ports, labels_of};
use super::hosted::host;
use crate::deployments::{container, rename, without_mount};
use crate::objects::Id;
use crate::versions::annotate;

/// The objects of a hub, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Objects {
    /// CustomResourceDefinitions.
    pub definitions: Vec<Value>,
    /// Namespace, accounts, roles, Service and Secret.
    pub foundation: Vec<Value>,
    /// Deployments.
    pub workloads: Vec<Value>,
    /// Webhook configurations, for when the Deployments are rolled out.
    pub guards: Vec<Value>,
}

/// Renders the objects of a hub, and keeps those of the last choice: to read the manifests takes longer than anything else.
#[derive(Clone, Debug, Default)]
pub struct Renderer {
    version: String,
    last: Option<Last>,
}

/// What was rendered last. The objects are text: as values they take ten times as much.
#[derive(Clone, Debug)]
struct Last {
    choice: Choice,
    name: String,
    objects: String,
}

/// The controller's Deployment, and what OCM calls its own. The labels of the selector equal OCM's exactly: they cannot be changed.
const CONTROLLER: &str = "berth-registration-controller";
const CONTROLLER_APP: &str = "clustermanager-registration-controller";
const CONTROLLER_CONTAINER: &str = "hub-registration-controller";

/// The gate's Deployment, as it is for a ClusterManager named cluster-manager, and its Service.
pub(super) const GATE: &str = "cluster-manager-registration-webhook";

/// The names of the Deployments of a ClusterManager: of the controller and of the gate.
#[must_use]
pub fn deployments(name: &str) -> [String; 2] {
    [
        format!("{name}-registration-controller"),
        format!("{name}-registration-webhook"),
    ]
}

/// The objects of a choice, for the ClusterManager of this name. `version`: of this program.
fn render(choice: &Choice, name: &str, version: &str) -> Objects {
    let hub = Hub::with(&choice.values, &choice.image);
    let mut objects = Objects {
        definitions: hub.definitions,
        foundation: hub.foundation,
        workloads: hub.workloads,
        guards: hub.guards,
    };
    let [controller, gate] = deployments(name);
    let mut port = Value::Null;
    for deployment in &mut objects.workloads {
        if deployment["metadata"]["name"] == CONTROLLER {
            rename(
                deployment,
                &controller,
                CONTROLLER_APP,
                CONTROLLER_CONTAINER,
            );
        } else if deployment["metadata"]["name"] == GATE {
            rename(deployment, &gate, &gate, &format!("{name}-webhook"));
            bind(deployment, &choice.ports);
            port = webhook_port(deployment);
        }
        if let Some(resources) = &choice.resources {
            container(deployment)["resources"] = resources.clone();
        }
    }
    for object in &mut objects.foundation {
        select(object, &gate);
        if object["kind"] == "Service" {
            aim(object, &port);
        } else if object["kind"] == "ServiceAccount" {
            without_mount(object);
        }
    }
    let place = choice
        .hosted
        .as_ref()
        .map_or(HUB_NAMESPACE, |it| &it.namespace);
    let copy = choice.pull.as_ref().and_then(|it| it.copy(place));
    if let Some(hosted) = &choice.hosted {
        host(&mut objects, hosted);
    }
    objects.foundation.extend(copy);
    for definition in &mut objects.definitions {
        annotate(definition, version);
    }
    let labels = labels_of(choice, name);
    for object in objects.all_mut() {
        for (label, value) in &labels {
            object["metadata"]["labels"][label.as_str()] = json!(value);
        }
    }
    objects
}

/// The objects of a hub with everything that a ClusterManager can turn on.
pub(crate) fn everything() -> Hub {
    let mut values = HubValues::default();
    values.cluster_profiles.enabled = true;
    values.cluster_profiles.placement_decisions = true;
    values.network_policies.enabled = true;
    values.auto_approval.users = vec!["user".to_owned()];
    Hub::with(&values, "image")
}

/// Gives what selects the gate's pods their label.
fn select(object: &mut Value, app: &str) {
    for selector in [
        "/spec/selector",
        "/spec/selector/matchLabels",
        "/spec/podSelector/matchLabels",
    ] {
        if let Some(selector) = object.pointer_mut(selector)
            && selector["app"] == GATE
        {
            selector["app"] = json!(app);
        }
    }
}

/// Aims a Service at the port of the webhooks by its number: pods of OCM give it no name, and these serve until Berth's run, and on the way
/// back to OCM.
fn aim(service: &mut Value, port: &Value) {
    for it in service["spec"]["ports"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        it["targetPort"] = port.clone();
    }
}

/// The port of the webhooks.
fn webhook_port(gate: &mut Value) -> Value {
    let ports = container(gate)["ports"].as_array();
    let port = ports.and_then(|it| it.iter().find(|it| it["name"] == "webhook"));
    port.map_or(Value::Null, |it| it["containerPort"].clone())
}

/// Gives the gate its ports.
fn bind(deployment: &mut Value, ports: &Ports) {
    let all: BTreeMap<&str, (&str, u16)> = [
        ("webhook", "port", ports.webhook),
        ("health", "health-probe-port", ports.health),
        ("metrics", "metrics-port", ports.metrics),
    ]
    .into_iter()
    .filter_map(|(name, flag, port)| Some((name, (flag, port?))))
    .collect();
    let gate = container(deployment);
    if let Some(args) = gate["args"].as_array_mut() {
        let flags = all
            .values()
            .map(|(flag, port)| json!(format!("--{flag}={port}")));
        args.extend(flags);
    }
    for port in gate["ports"].as_array_mut().into_iter().flatten() {
        let name = port["name"].as_str().unwrap_or_default();
        if let Some((_, number)) = all.get(name) {
            port["containerPort"] = json!(number);
        }
    }
    if ports.is_host_network {
        let spec = &mut deployment["spec"];
        // A node has each port once: an old pod goes before a new one comes.
        spec["strategy"]["rollingUpdate"] = json!({"maxUnavailable": 1, "maxSurge": 0});
        let pods = &mut spec["template"]["spec"];
        pods["hostNetwork"] = json!(true);
        pods["dnsPolicy"] = json!("ClusterFirstWithHostNet");
    }
}

// === impl Renderer ===

impl Renderer {
    /// A renderer of this program's objects. `version`: of this program.
    #[must_use]
    pub fn new(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            last: None,
        }
    }

    /// Returns the objects of a choice, for the ClusterManager of this name.
    pub(super) fn render(&mut self, choice: &Choice, name: &str) -> Objects {
        let same = |it: &&Last| it.choice == *choice && it.name == name;
        let kept = self.last.as_ref().filter(same);
        if let Some(objects) = kept.and_then(|it| serde_json::from_str(&it.objects).ok()) {
            return objects;
        }
        let objects = render(choice, name, &self.version);
        self.last = serde_json::to_string(&objects).ok().map(|objects| Last {
            choice: choice.clone(),
            name: name.to_owned(),
            objects,
        });
        objects
    }
}

// === impl Objects ===

impl Objects {
    /// All objects, in the order in which they are written.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        let Self {
            definitions,
            foundation,
            workloads,
            guards,
        } = self;
        let parts = [definitions, foundation, workloads, guards];
        parts.into_iter().flatten()
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let Self {
            definitions,
            foundation,
            workloads,
            guards,
        } = self;
        let parts = [definitions, foundation, workloads, guards];
        parts.into_iter().flatten()
    }

    /// The names of all objects.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.all().filter_map(Id::of)
    }
}
