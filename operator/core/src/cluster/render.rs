//! The objects of an agent, with the names of a Klusterlet.

use berth_api::operator::Klusterlet;
use berth_manifests::values::AgentValues;
use berth_manifests::{Agent, Manifest, files};
use serde_json::{Value, json};

use super::choice::Choice;
use super::place::{is_single, namespace};
use super::secret::secret_name;
use crate::deployments::{container, rename, without_mount};
use crate::names::{CREATED_BY_KLUSTERLET, KLUSTERLET_UID, NAMESPACE_OF};
use crate::objects::{Id, Kind};
use crate::versions::annotate;

/// The namespace of add-ons that name no other. All Klusterlets share it.
pub const ADDON_NAMESPACE: &str = "open-cluster-management-agent-addon";

/// The namespace, and the name of the account and of others, in the manifests.
const NAMESPACE: &str = "open-cluster-management-agent";
const AGENT: &str = "berth-agent";

/// The objects of an agent, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    /// CustomResourceDefinitions.
    pub definitions: Vec<Value>,
    /// Namespaces.
    pub namespaces: Vec<Value>,
    /// The account and roles.
    pub foundation: Vec<Value>,
    /// The Deployment.
    pub workloads: Vec<Value>,
}

/// The objects of an agent, by the cluster where they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// This one.
    pub here: Objects,
    /// The managed one, if the agent runs on this one and manages another.
    pub there: Objects,
}

/// Renders the objects of agents, and keeps those of the manifests: to read these takes longer than anything else.
#[derive(Clone, Debug, Default)]
pub struct Renderer {
    version: String,
    /// As text: as values they take ten times as much.
    last: Option<(AgentValues, String, String)>,
}

/// The Deployment of a Klusterlet, and what OCM calls the same: the name, the label that selects its pods, and the container.
pub(super) fn deployment(name: &str, is_single: bool) -> (String, &'static str, &'static str) {
    if is_single {
        (
            format!("{name}-agent"),
            "klusterlet-agent",
            "klusterlet-agent",
        )
    } else {
        let container = "registration-controller";
        (
            format!("{name}-registration-agent"),
            "klusterlet-registration-agent",
            container,
        )
    }
}

/// The Deployment of the agent of a Klusterlet.
#[must_use]
pub fn agent_deployment(klusterlet: &Klusterlet) -> Id {
    let name = klusterlet.metadata.name.as_deref().unwrap_or_default();
    let (name, _, _) = deployment(name, is_single(klusterlet));
    Id {
        kind: Kind::Deployment,
        namespace: namespace(klusterlet).to_owned(),
        name,
    }
}

/// The names of the Deployments of the other mode.
pub(super) fn of_other_mode(name: &str, is_single: bool) -> Vec<String> {
    if is_single {
        vec![
            format!("{name}-registration-agent"),
            format!("{name}-work-agent"),
        ]
    } else {
        vec![format!("{name}-agent")]
    }
}

/// Returns whether an operator may have written this: the namespaces of agents and of add-ons begin like this, and OCM's operator has a role
/// in kube-system. Elsewhere anybody may have set the label.
pub(super) fn is_in_reach(id: &Id) -> bool {
    let namespace = &*id.namespace;
    let is_of_ocm = namespace.starts_with("open-cluster-management-");
    namespace.is_empty() || namespace == "kube-system" || is_of_ocm
}

/// What all Klusterlets share: the definitions, and the namespace of add-ons. They have no label of one Klusterlet.
#[must_use]
pub fn shared() -> Vec<Id> {
    let manifests = [
        files::CRD_CLAIMS,
        files::CRD_APPLIED_MANIFEST_WORKS,
        files::AGENT_ADDONS,
    ];
    let objects = manifests.iter().flat_map(Manifest::documents);
    let ids = objects.filter_map(|it| Id::of(&it));
    ids.filter(|it| it.kind.is_cluster_scoped()).collect()
}

/// The objects of the manifests of an agent with everything that a Klusterlet can turn on.
#[must_use]
pub fn everything() -> Agent {
    Agent::with(&AgentValues::default(), "image")
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

    /// Returns the objects of a choice, for the Klusterlet of this name.
    pub(super) fn render(&mut self, choice: &Choice, name: &str) -> Rendered {
        let mut here = self.of_manifests(choice);
        let mut there = Objects::default();
        if let Some(managed) = &choice.managed {
            there = here.clone();
            here.retain(is_of_agent);
            // The account of the agent there; all that it keeps is here.
            there.retain(|it| !is_of_agent(it) || is_place(it) || it["kind"] == "ServiceAccount");
            self.finish(&mut there, choice, name, managed);
        }
        let pull = choice.pull.as_ref();
        here.foundation
            .extend(pull.and_then(|it| it.copy(NAMESPACE)));
        self.finish(&mut here, choice, name, &choice.namespace);
        Rendered { here, there }
    }

    /// Gives the objects the names of a Klusterlet, and what the manifests have no value for.
    fn finish(&self, objects: &mut Objects, choice: &Choice, name: &str, space: &str) {
        for object in objects.all_mut() {
            place(object, name, space);
        }
        for definition in &mut objects.definitions {
            annotate(definition, &self.version);
        }
        let has_addons = |it: &Value| it["metadata"]["name"] == ADDON_NAMESPACE;
        if objects.namespaces.iter().any(has_addons) {
            let pull = choice.pull.as_ref();
            let copy = pull.and_then(|it| it.copy(ADDON_NAMESPACE));
            objects.foundation.extend(copy);
        }
        if !choice.has_addon_namespace {
            let within = |it: &Value| it["metadata"]["namespace"] == ADDON_NAMESPACE;
            objects.foundation.retain(|it| !within(it));
            objects
                .namespaces
                .retain(|it| it["metadata"]["name"] != ADDON_NAMESPACE);
        }
        for namespace in &mut objects.namespaces {
            if namespace["metadata"]["name"] == *space {
                // OCM's operator deletes others with this label on the managed cluster, which may be this one.
                if choice.managed.as_deref().is_none_or(|it| it == space) {
                    namespace["metadata"]["labels"][NAMESPACE_OF] = json!(name);
                    namespace["metadata"]["annotations"][KLUSTERLET_UID] = json!(choice.uid);
                }
                // OpenShift: on clusters that keep processors for it, pods of this namespace may use them.
                namespace["metadata"]["annotations"]["workload.openshift.io/allowed"] =
                    json!("management");
            }
        }
        for deployment in &mut objects.workloads {
            shape(deployment, choice, name);
        }
        let shared = shared();
        for object in objects.all_mut() {
            let is_shared = |id: &Id| shared.contains(id) || is_shared_copy(id);
            if Id::of(object).is_none_or(|id| is_shared(&id)) {
                continue;
            }
            let labels = &mut object["metadata"]["labels"];
            for (label, value) in &choice.labels {
                labels[label.as_str()] = json!(value);
            }
            labels[CREATED_BY_KLUSTERLET] = json!(name);
        }
    }

    /// The objects as the manifests have them.
    fn of_manifests(&mut self, choice: &Choice) -> Objects {
        let kept = self
            .last
            .as_ref()
            .filter(|(values, image, _)| *values == choice.values && *image == choice.image);
        let kept = kept.and_then(|(_, _, text)| serde_json::from_str::<[Vec<Value>; 3]>(text).ok());
        let [definitions, foundation, workloads] = kept.unwrap_or_else(|| {
            let agent = Agent::with(&choice.values, &choice.image);
            let all = [agent.definitions, agent.foundation, agent.workloads];
            let text = serde_json::to_string(&all);
            self.last = text
                .ok()
                .map(|text| (choice.values.clone(), choice.image.clone(), text));
            all
        });
        let is_namespace = |it: &Value| it["kind"] == "Namespace";
        let (namespaces, foundation) = foundation.into_iter().partition(is_namespace);
        Objects {
            definitions,
            namespaces,
            foundation,
            workloads,
        }
    }
}

/// Returns whether this is a copy of the credentials of the registry that add-ons of all Klusterlets use.
fn is_shared_copy(id: &Id) -> bool {
    id.kind == Kind::Secret && id.namespace == ADDON_NAMESPACE
}

/// Returns whether an object of the manifests is in the namespace of the agent, or is that namespace.
fn is_of_agent(object: &Value) -> bool {
    object["metadata"]["namespace"] == NAMESPACE || is_place(object)
}

/// Returns whether an object of the manifests is the namespace of the agent.
fn is_place(object: &Value) -> bool {
    object["kind"] == "Namespace" && object["metadata"]["name"] == NAMESPACE
}

/// Gives an object the namespace and the names of a Klusterlet. The account has OCM's name, which roles of users name.
fn place(object: &mut Value, name: &str, namespace: &str) {
    let rename = |of: &mut Value, is_account: bool| {
        let Some(text) = of.as_str() else { return };
        if is_account {
            *of = json!(format!("{name}-work-sa"));
        } else if text.contains(AGENT) {
            *of = json!(text.replacen(AGENT, &format!("{name}-agent"), 1));
        }
    };
    let is = |it: &Value, kind: &str| it["kind"] == kind;
    if is(object, "CustomResourceDefinition") {
        return;
    }
    if is(object, "Namespace") {
        if object["metadata"]["name"] == NAMESPACE {
            object["metadata"]["name"] = json!(namespace);
        }
        return;
    }
    let is_account = is(object, "ServiceAccount");
    if is_account {
        without_mount(object);
    }
    rename(&mut object["metadata"]["name"], is_account);
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        rename(&mut subject["name"], true);
        subject["namespace"] = json!(namespace);
    }
    if let Some(role) = object.get_mut("roleRef") {
        rename(&mut role["name"], false);
    }
    if object["metadata"]["namespace"] == NAMESPACE {
        object["metadata"]["namespace"] = json!(namespace);
    }
}

/// Gives the Deployment the names that OCM's has in this mode, and what the manifests have no value for.
fn shape(object: &mut Value, choice: &Choice, name: &str) {
    let (called, app, container_name) = deployment(name, choice.is_single);
    rename(object, &called, app, container_name);
    let pods = &mut object["spec"]["template"]["spec"];
    pods["serviceAccountName"] = json!(format!("{name}-work-sa"));
    // On such a cluster of OpenShift: see the annotation of the namespace.
    let annotations = &mut object["spec"]["template"]["metadata"]["annotations"];
    annotations["target.workload.openshift.io/management"] =
        json!(r#"{"effect": "PreferredDuringScheduling"}"#);
    let pods = &mut object["spec"]["template"]["spec"];
    if choice.managed.is_some() {
        let secret = secret_name(choice.is_single);
        let source = json!({"secretName": secret, "defaultMode": 0o440});
        let volume = json!({"name": "managed-kubeconfig", "secret": source});
        let mount =
            json!({"name": "managed-kubeconfig", "mountPath": "/spoke/config", "readOnly": true});
        push(&mut pods["volumes"], volume);
        push(&mut pods["containers"][0]["volumeMounts"], mount);
    }
    if let Some(alias) = &choice.host_alias {
        pods["hostAliases"] = json!([{"ip": alias.ip, "hostnames": [alias.hostname]}]);
    }
    if let Some(resources) = &choice.resources {
        container(object)["resources"] = resources.clone();
    }
}

fn push(list: &mut Value, element: Value) {
    if let Some(list) = list.as_array_mut() {
        list.push(element);
    }
}

// === impl Objects ===

impl Objects {
    fn retain(&mut self, is_kept: impl Fn(&Value) -> bool) {
        for part in self.parts_mut() {
            part.retain(&is_kept);
        }
    }

    /// All objects, in the order in which they are written.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        let Self {
            definitions,
            namespaces,
            foundation,
            workloads,
        } = self;
        let parts = [definitions, namespaces, foundation, workloads];
        parts.into_iter().flatten()
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.parts_mut().into_iter().flatten()
    }

    fn parts_mut(&mut self) -> [&mut Vec<Value>; 4] {
        let Self {
            definitions,
            namespaces,
            foundation,
            workloads,
        } = self;
        [definitions, namespaces, foundation, workloads]
    }

    /// The names of all objects.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.all().filter_map(Id::of)
    }
}
