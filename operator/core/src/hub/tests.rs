//! Plays: a ClusterManager, and a store that carries out what is decided.

mod choices;
mod hosted;
mod installing;
mod migrating;
mod removing;
mod taking_over;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;
use std::time::Instant;

use berth_api::Now;
use berth_api::operator::ClusterManager;
use berth_api::plan::Action;
use serde_json::{Value, json};

use super::*;
use crate::decision::{Decision, Failure};
use crate::names::CREATED_BY;
use crate::objects::{Id, Kind, Stored};
use crate::play::{Played, pair, shown};

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
        tls: None,
        pull: None,
    }
}

fn now() -> Now {
    Now {
        wall: "2026-01-01T00:00:00Z".parse().unwrap(),
        instant: Instant::now(),
    }
}

/// A ClusterManager, and a hub.
struct Play {
    played: Played,
    nodes: usize,
    settings: Settings,
    failures: Vec<Failure>,
    unmigrated: Vec<Failure>,
    renderer: RefCell<Renderer>,
    /// Objects without the label have been looked up.
    is_looked_up: bool,
    hosted: Option<Hosting<'static>>,
}

impl Play {
    fn new(spec: Value) -> Self {
        let manager = json!({
            "apiVersion": "operator.open-cluster-management.io/v1", "kind": "ClusterManager",
            "metadata": {"name": "cluster-manager", "uid": "u", "generation": 1, "resourceVersion": "1"},
            "spec": spec,
        });
        Self {
            played: Played::new(manager, RECONCILED.1),
            nodes: 3,
            settings: settings(),
            failures: Vec::new(),
            unmigrated: Vec::new(),
            renderer: RefCell::new(RENDERER.clone()),
            is_looked_up: false,
            hosted: None,
        }
    }

    fn manager(&self) -> ClusterManager {
        serde_json::from_value(self.played.object.clone()).unwrap()
    }

    fn known(&self) -> BTreeMap<Id, Stored> {
        (self.store.iter())
            .map(|(id, it)| {
                (
                    id.clone(),
                    Stored::read(&it.to_string(), CREATED_BY).unwrap(),
                )
            })
            .filter(|(id, it)| {
                self.is_looked_up || it.created_by.is_some() || id.kind == Kind::Secret
            })
            .collect()
    }

    fn with_facts<T>(&self, look: impl FnOnce(&Facts<'_>) -> T) -> T {
        let stored = self.known();
        let manager = self.manager();
        look(&Facts {
            manager: &manager,
            elder: None,
            nodes: self.nodes,
            stored: &stored,
            settings: &self.settings,
            failures: &self.failures,
            unmigrated: &self.unmigrated,
            hosted: self.hosted,
        })
    }

    fn decide(&self) -> Decision {
        self.with_facts(|it| decide(it, &mut self.renderer.borrow_mut(), now()))
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
