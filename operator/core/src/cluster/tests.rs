//! Plays: a Klusterlet, and a store that carries out what is decided.

mod choices;
mod hosted;
mod installing;
mod moving;
mod pulling;
mod removing;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::time::Instant;

use berth_api::Now;
use berth_api::operator::Klusterlet;
use berth_api::plan::{Action, Write};
use serde_json::{Value, json};

use super::*;
use crate::decision::{Decision, Failure};
use crate::names::CREATED_BY_KLUSTERLET;
use crate::objects::{Id, Kind, Stored};
use crate::play::{Played, pair, shown};

fn settings() -> Settings {
    Settings {
        image: "registry.example.com/berth:v1".to_owned(),
        replicas: None,
        sync_labels: false,
        has_addon_namespace: true,
        tls: None,
        pull: None,
    }
}

fn stored(store: &BTreeMap<Id, Value>) -> BTreeMap<Id, Stored> {
    let read = |it: &Value| Stored::read(&it.to_string(), CREATED_BY_KLUSTERLET).unwrap();
    let all = store.iter();
    all.map(|(id, it)| (id.clone(), read(it))).collect()
}

/// A Klusterlet, and its cluster.
struct Play {
    played: Played,
    settings: Settings,
    failures: Vec<Failure>,
    renderer: RefCell<Renderer>,
    holder: Option<&'static str>,
    has_others: bool,
    works: Option<BTreeMap<String, AppliedWork>>,
    connection: Option<Connection>,
    managed: Option<Managed>,
    addon_spaces: BTreeSet<String>,
    wall: &'static str,
}

impl Play {
    fn new(spec: Value) -> Self {
        let klusterlet = json!({
            "apiVersion": "operator.open-cluster-management.io/v1", "kind": "Klusterlet",
            "metadata": {"name": "klusterlet", "uid": "u1", "generation": 1, "resourceVersion": "1"},
            "spec": spec,
        });
        Self {
            played: Played::new(klusterlet, RECONCILED.1),
            settings: settings(),
            failures: Vec::new(),
            renderer: RefCell::new(Renderer::new("0.1.0")),
            holder: None,
            has_others: false,
            works: None,
            connection: None,
            managed: None,
            addon_spaces: BTreeSet::new(),
            wall: "2026-01-01T00:00:00Z",
        }
    }

    fn klusterlet(&self) -> Klusterlet {
        serde_json::from_value(self.played.object.clone()).unwrap()
    }

    fn decide(&self) -> Decision {
        let stored = stored(&self.store);
        let klusterlet = self.klusterlet();
        let facts = Facts {
            klusterlet: &klusterlet,
            holder: self.holder,
            has_others: self.has_others,
            stored: &stored,
            works: self.works.as_ref(),
            connection: self.connection.as_ref(),
            addon_spaces: &self.addon_spaces,
            managed: self.managed.as_ref(),
            settings: &self.settings,
            failures: &self.failures,
        };
        decide(&facts, &mut self.renderer.borrow_mut(), self.now())
    }

    fn now(&self) -> Now {
        Now {
            wall: self.wall.parse().unwrap(),
            instant: Instant::now(),
        }
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
                match write.target.resource.resource.as_str() {
                    "appliedmanifestworks" => self.carry_out_on_work(write),
                    _ => self.carry_out(write),
                }
            }
        }
        panic!("it does not settle: {:#?}", steps.last());
    }

    fn carry_out_on_work(&mut self, write: Write) {
        let works = self.works.as_mut().unwrap();
        match write.action {
            Action::Patch { body, .. } => {
                let work = works.get_mut(&write.target.name).unwrap();
                let left = &body["metadata"]["finalizers"];
                work.finalizers = serde_json::from_value(left.clone()).unwrap();
            }
            Action::Delete { .. } => {
                works.remove(&write.target.name);
            }
            other => panic!("{other:?}"),
        }
    }

    /// A cluster on which the agent runs.
    fn installed(spec: Value) -> Self {
        let mut play = Self::new(spec);
        play.settle();
        play.roll_out();
        play.settle();
        play
    }

    /// The agent has come to its hub.
    fn connect(&mut self) {
        self.connection = Some(Connection {
            bootstrap: None,
            hub: Check {
                is_functional: true,
                reason: "HubConnectionFunctional",
                message: "it is working".to_owned(),
            },
        });
    }

    /// The arguments of the agent.
    fn args(&self, deployment: &str) -> Vec<String> {
        let deployment = self.stored(Kind::Deployment, deployment).unwrap();
        let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
        serde_json::from_value(args.clone()).unwrap()
    }

    /// The names of the Deployments.
    fn deployments(&self) -> Vec<String> {
        let all = self.store.keys();
        let all = all.filter(|it| it.kind == Kind::Deployment);
        all.map(|it| format!("{}/{}", it.namespace, it.name))
            .collect()
    }
}

impl Deref for Play {
    type Target = Played;

    fn deref(&self) -> &Played {
        &self.played
    }
}

impl DerefMut for Play {
    fn deref_mut(&mut self) -> &mut Played {
        &mut self.played
    }
}
