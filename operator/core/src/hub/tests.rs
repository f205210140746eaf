//! Plays: a ClusterManager, and a store that carries out what is decided.

mod choices;
mod installing;
mod removing;
mod taking_over;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Instant;

use berth_api::Now;
use berth_api::operator::ClusterManager;
use berth_api::plan::{Action, Write};
use serde_json::{Value, json};

use super::*;
use crate::names::CREATED_BY;
use crate::objects::{Id, Kind, Stored};

/// With the objects of a ClusterManager without settings.
static RENDERER: LazyLock<Renderer> = LazyLock::new(|| {
    let mut renderer = Renderer::new("0.1.0");
    let manager: ClusterManager =
        serde_json::from_value(json!({"metadata": {}, "spec": {}})).unwrap();
    renderer.render(&choice(&manager, 3, &settings()), "cluster-manager");
    renderer
});

pub(super) fn settings() -> Settings {
    Settings {
        image: "registry.example.com/berth:v1".to_owned(),
        replicas: None,
        sync_labels: false,
        purge: false,
    }
}

/// A ClusterManager, and a hub.
struct Play {
    manager: Value,
    store: BTreeMap<Id, Value>,
    nodes: usize,
    settings: Settings,
    version: u64,
    failures: Vec<Failure>,
    renderer: RefCell<Renderer>,
    /// Objects without the label have been looked up.
    is_looked_up: bool,
}

impl Play {
    fn new(spec: Value) -> Self {
        let manager = json!({
            "apiVersion": "operator.open-cluster-management.io/v1", "kind": "ClusterManager",
            "metadata": {"name": "cluster-manager", "uid": "u", "generation": 1, "resourceVersion": "1"},
            "spec": spec,
        });
        Self {
            manager,
            store: BTreeMap::new(),
            nodes: 3,
            settings: settings(),
            version: 1,
            failures: Vec::new(),
            renderer: RefCell::new(RENDERER.clone()),
            is_looked_up: false,
        }
    }

    fn manager(&self) -> ClusterManager {
        serde_json::from_value(self.manager.clone()).unwrap()
    }

    fn decide(&self) -> Decision {
        let stored: BTreeMap<Id, Stored> = (self.store.iter())
            .map(|(id, it)| (id.clone(), Stored::read(&it.to_string()).unwrap()))
            .filter(|(id, it)| {
                self.is_looked_up || it.created_by.is_some() || id.kind == Kind::Secret
            })
            .collect();
        let manager = self.manager();
        let facts = Facts {
            manager: &manager,
            elder: None,
            nodes: self.nodes,
            stored: &stored,
            settings: &self.settings,
            failures: &self.failures,
        };
        let wall = "2026-01-01T00:00:00Z".parse().unwrap();
        decide(
            &facts,
            &mut self.renderer.borrow_mut(),
            Now {
                wall,
                instant: Instant::now(),
            },
        )
    }

    /// Carries out what is decided until nothing is due. Returns the writes, step by step.
    fn settle(&mut self) -> Vec<Vec<String>> {
        let mut steps = Vec::new();
        for _ in 0..20 {
            let decision = self.decide();
            if decision.writes.is_empty() {
                return steps;
            }
            steps.push(decision.writes.iter().map(shown).collect());
            for write in decision.writes {
                self.carry_out(write);
            }
        }
        panic!("it does not settle: {:#?}", steps.last());
    }

    fn carry_out(&mut self, write: Write) {
        self.version += 1;
        let version = json!(self.version.to_string());
        let target = &write.target;
        if target.resource.resource == RECONCILED.1 {
            let Action::Patch { body, .. } = write.action else {
                panic!("{write:?}");
            };
            json_patch::merge(&mut self.manager, &body);
            self.manager["metadata"]["resourceVersion"] = version;
            return;
        }
        let id = Id {
            kind: Kind::ALL
                .into_iter()
                .find(|it| it.resource() == target.resource)
                .unwrap(),
            namespace: target.namespace.clone().unwrap_or_default(),
            name: target.name.clone(),
        };
        match write.action {
            // As a merge, which removes nothing.
            Action::Apply { body, .. } | Action::Patch { body, .. } => {
                match self.store.get_mut(&id) {
                    Some(stored) => {
                        json_patch::merge(stored, &body);
                        if !body["spec"].is_null() {
                            let generation = &mut stored["metadata"]["generation"];
                            *generation = json!(generation.as_i64().unwrap_or_default() + 1);
                        }
                    }
                    None => self.put(id.clone(), body),
                }
            }
            Action::Delete { .. } => {
                self.store.remove(&id);
            }
            other => panic!("{other:?}"),
        }
        if let Some(stored) = self.store.get_mut(&id) {
            stored["metadata"]["resourceVersion"] = version;
        }
    }

    fn put(&mut self, id: Id, mut object: Value) {
        object["metadata"]["uid"] = json!(id.shown());
        object["metadata"]["resourceVersion"] = json!("1");
        object["metadata"]["generation"] = json!(1);
        if id.kind == Kind::Definition {
            object["status"] = json!({"storedVersions": ["v1"]});
        }
        self.store.insert(id, object);
    }

    /// All Deployments run.
    fn roll_out(&mut self) {
        for (_, object) in self
            .store
            .iter_mut()
            .filter(|(id, _)| id.kind == Kind::Deployment)
        {
            let replicas = &object["spec"]["replicas"];
            object["status"] = json!({
                "observedGeneration": object["metadata"]["generation"], "replicas": replicas,
                "availableReplicas": replicas, "updatedReplicas": replicas,
            });
        }
    }

    /// The certificate keeper publishes an authority wherever the gate is called.
    fn publish(&mut self, bundle: &str) {
        for (id, object) in &mut self.store {
            if id.kind == Kind::Definition && object["spec"]["conversion"]["strategy"] == "Webhook"
            {
                object["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = json!(bundle);
            }
            for webhook in object
                .get_mut("webhooks")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                webhook["clientConfig"]["caBundle"] = json!(bundle);
            }
        }
    }

    /// A hub that is installed.
    fn installed(spec: Value) -> Self {
        let mut play = Self::new(spec);
        play.settle();
        play.roll_out();
        play.publish("QQ==");
        play.settle();
        play
    }

    fn object(&self, kind: Kind, name: &str) -> Option<&Value> {
        self.store
            .iter()
            .find(|(id, _)| id.kind == kind && id.name == name)
            .map(|(_, it)| it)
    }

    /// A condition: status, reason, message.
    fn condition(&self, type_: &str) -> (String, String, String) {
        let conditions = self.manager["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = conditions
            .iter()
            .find(|it| it["type"] == type_)
            .cloned()
            .unwrap_or_default();
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    fn said(&self, type_: &str) -> (String, String) {
        let (status, reason, _) = self.condition(type_);
        (status, reason)
    }

    fn count(&self, kind: Kind) -> usize {
        self.store.keys().filter(|it| it.kind == kind).count()
    }
}

fn shown(write: &Write) -> String {
    let what = match &write.action {
        Action::Apply { .. } => "apply",
        Action::Patch { .. } => "patch",
        Action::Delete { .. } => "delete",
        other => panic!("{other:?}"),
    };
    format!(
        "{what} {} {}",
        write.target.resource.resource, write.target.name
    )
}

fn pair(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}
