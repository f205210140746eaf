//! The operator as a [`World`].

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use berth_api::Now;
use berth_api::operator::ClusterManager;
use berth_api::plan::{Plan, WriteFailure};
use berth_operator_core::hub::{Decision, Facts, Failure, RECONCILER, Renderer, Settings, decide};
use berth_operator_core::objects::{self, Id, Stored};
use berth_reconcile::queue::Next;
use berth_reconcile::{
    Handle, Lane, Meta, Report, Wake, WatchError, World, WriteOutcome, failed, never_settled, now,
};

use super::kinds::{CONTROL_PLANE, Fact, Kind};

/// Upper bound on the steps of a reconcile: each of the parts of a hub is taken over, then written.
const MOST_STEPS: usize = 32;

/// What the operator knows of the hub.
pub(super) struct Operator {
    settings: Settings,
    renderer: Renderer,
    managers: BTreeMap<String, ClusterManager>,
    /// ClusterManagers that cannot be read: nothing is written for them.
    unreadable: BTreeSet<String>,
    stored: BTreeMap<Id, Stored>,
    nodes: [BTreeSet<String>; CONTROL_PLANE.len()],
    listed: HashSet<Kind>,
}

// === impl Operator ===

impl Operator {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            renderer: Renderer::new(env!("CARGO_PKG_VERSION")),
            managers: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            stored: BTreeMap::new(),
            nodes: Default::default(),
            listed: HashSet::new(),
        }
    }

    /// Returns whether everything has been seen that decides: but for nodes and NetworkPolicies, which need not be there.
    fn is_ready(&self) -> bool {
        let kinds = objects::Kind::ALL
            .into_iter()
            .filter(|it| *it != objects::Kind::NetworkPolicy);
        let mut kinds = kinds.map(Kind::Object);
        self.listed.contains(&Kind::Manager) && kinds.all(|it| self.listed.contains(&it))
    }

    /// What is due for a ClusterManager, given the writes that failed before.
    fn due(&mut self, name: &str, failures: &[Failure], now: Now) -> Decision {
        let readable = (self.managers.get(name)).filter(|_| !self.unreadable.contains(name));
        let Some(manager) = readable.filter(|_| self.is_ready()) else {
            return Decision::default();
        };
        let nodes: BTreeSet<_> = self.nodes.iter().flatten().collect();
        let facts = Facts {
            manager,
            elder: elder(&self.managers, manager),
            nodes: nodes.len(),
            stored: &self.stored,
            settings: &self.settings,
            failures,
        };
        decide(&facts, &mut self.renderer, now)
    }

    fn wake(&self, wakes: &mut Wake<Self>) {
        wakes.extend(self.managers.keys().cloned());
    }
}

/// The ClusterManager that came before this one, by the time and then by the name.
fn elder<'a>(
    managers: &'a BTreeMap<String, ClusterManager>,
    manager: &ClusterManager,
) -> Option<&'a str> {
    let age = |it: &ClusterManager| {
        let created = it.metadata.creation_timestamp.as_ref();
        (created.map(|it| it.0), it.metadata.name.clone())
    };
    let oldest = managers.values().min_by_key(|it| age(it))?;
    let name = oldest.metadata.name.as_deref();
    name.filter(|_| age(oldest) < age(manager))
}

fn id(kind: objects::Kind, namespace: &str, name: &str) -> Id {
    Id {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

impl World for Operator {
    type Kind = Kind;
    type Key = String;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[Lane::new(RECONCILER, 1)];

    fn apply(&mut self, kind: Kind, it: &Meta, fact: Fact, _: Report, wakes: &mut Wake<Self>) {
        match (kind, fact) {
            (_, Fact::Manager(manager)) => {
                self.unreadable.remove(&it.name);
                self.managers.insert(it.name.clone(), *manager);
            }
            (Kind::Node(place), Fact::Node) => {
                let is_new =
                    (self.nodes.get_mut(place)).is_some_and(|it_| it_.insert(it.name.clone()));
                if !is_new {
                    return;
                }
            }
            (Kind::Object(kind), Fact::Object(stored)) => {
                self.stored
                    .insert(id(kind, &it.namespace, &it.name), *stored);
            }
            _ => return,
        }
        self.wake(wakes);
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Manager => {
                self.unreadable.remove(name);
                self.managers.remove(name);
            }
            Kind::Node(place) => {
                if let Some(nodes) = self.nodes.get_mut(place) {
                    nodes.remove(name);
                }
            }
            Kind::Object(kind) => {
                self.stored.remove(&id(kind, namespace, name));
            }
        }
        self.wake(wakes);
    }

    fn unreadable(&mut self, kind: Kind, object: &Meta, error: &serde_json::Error) {
        let Meta {
            namespace, name, ..
        } = object;
        tracing::warn!(?kind, namespace, name, %error, "an object cannot be read");
        if kind == Kind::Manager {
            self.unreadable.insert(name.clone());
        }
    }

    fn listed(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        if self.listed.insert(kind) {
            self.wake(wakes);
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, _: &mut Wake<Self>) {
        if kind == Kind::Manager && error.code == 404 {
            tracing::info!(
                "the hub does not serve ClusterManagers: waiting for their CustomResourceDefinition"
            );
        }
    }

    fn all(&self) -> Vec<String> {
        self.managers.keys().cloned().collect()
    }

    /// What failed is part of the decision: see [`World::reconcile`].
    fn decide(&self, _: &String, _: Now) -> Plan {
        Plan::default()
    }

    async fn reconcile(on: &Handle<Self>, name: &String) -> Next {
        let mut failures = Vec::new();
        for _ in 0..MOST_STEPS {
            let decision = {
                let reported: Vec<_> = failures
                    .iter()
                    .filter_map(|(failed, _)| failure(failed))
                    .collect();
                on.world().due(name, &reported, now())
            };
            match on.carry_out(decision.writes).await {
                WriteOutcome::Nothing if failures.is_empty() => return Next::SETTLED,
                WriteOutcome::Nothing => return failed(&failures),
                WriteOutcome::Written => {}
                WriteOutcome::Failed(refused) if decision.is_of_objects && failures.is_empty() => {
                    failures = refused;
                }
                WriteOutcome::Failed(refused) => return failed(&refused),
            }
        }
        never_settled(name)
    }

    fn begun(_: &Arc<Handle<Self>>) {
        tracing::info!(version = env!("CARGO_PKG_VERSION"), "the operator runs");
    }
}

/// A failure, as the ClusterManager reports it. What passes by itself is not reported.
fn failure(failure: &WriteFailure) -> Option<Failure> {
    if failure.code == 409 {
        return None;
    }
    let target = &failure.target;
    let mut kinds = objects::Kind::ALL.into_iter();
    let kind = kinds.find(|it| it.resource() == target.resource)?;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let object = id(kind, namespace, &target.name).shown();
    let message = format!("{object}: {}", failure.message);
    Some(Failure { kind, message })
}
