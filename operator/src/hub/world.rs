//! The operator as a [`World`].

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use berth_api::Now;
use berth_api::operator::ClusterManager;
use berth_api::plan::{Plan, Write};
use berth_operator_core::hub::{
    Facts, RECONCILER, Renderer, Settings, asked_for, can_have_a_hub, decide, report_failures,
};
use berth_operator_core::objects::{self, Id, Stored};
use berth_operator_core::{Decision, Failure, PULL_SECRET, age};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Lane, Meta, Report, Wake, WatchError, World};

use super::kinds::{CONTROL_PLANE, Fact, Kind};
use super::migration::Pending;
use super::{hosted, migration};
use crate::seen::Seen;
use crate::settle::{Installs, id, kind_of, settle};
use crate::sight::Sight;

/// What is worked on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// What a ClusterManager asks for on this cluster.
    Here(String),
    /// What it asks for on another one.
    Elsewhere(String),
    /// Objects on this cluster that are to be written anew.
    Anew(String),
}

/// What the operator knows of the hub.
pub(super) struct Operator {
    pub(super) settings: Settings,
    pub(super) renderer: Renderer,
    pub(super) managers: BTreeMap<String, ClusterManager>,
    /// ClusterManagers that cannot be read: nothing is written for them.
    unreadable: BTreeSet<String>,
    pub(super) stored: BTreeMap<Id, Stored>,
    nodes: [BTreeSet<String>; CONTROL_PLANE.len()],
    sight: Sight<Kind>,
    /// What was seen of hubs that are other clusters: the generation of the ClusterManager then.
    pub(super) hosted: BTreeMap<String, Seen<Option<i64>, ()>>,
    /// Whose hubs have objects that are to be written anew.
    pub(super) pending: BTreeMap<String, Pending>,
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
            sight: Sight::new(),
            hosted: BTreeMap::new(),
            pending: BTreeMap::new(),
        }
    }

    /// Returns whether everything has been seen that decides. Nodes, NetworkPolicies, TLS settings and credentials of the registry need not be there.
    pub(super) fn is_ready(&self) -> bool {
        self.sight.is_listed(&Kind::Manager) && needed().all(|it| self.sight.is_known(&it))
    }

    pub(super) fn known_nodes(&self) -> usize {
        self.nodes.iter().flatten().collect::<BTreeSet<_>>().len()
    }

    /// What decides about a ClusterManager; `None` while that is not known.
    pub(super) fn facts<'a>(
        &'a self,
        name: &str,
        nodes: usize,
        failures: &'a [Failure],
    ) -> Option<Facts<'a>> {
        let readable = (self.managers.get(name)).filter(|_| !self.unreadable.contains(name));
        let manager = readable?;
        Some(Facts {
            manager,
            elder: elder(&self.managers, &self.stored, manager),
            nodes,
            stored: &self.stored,
            settings: &self.settings,
            failures,
            unmigrated: (self.pending.get(name)).map_or(&[], |it| &it.failures),
            hosted: None,
        })
    }

    /// The keys of all ClusterManagers.
    fn keys(&self, of: &[fn(String) -> Key]) -> Vec<Key> {
        let names = self.managers.keys();
        let keys = names.flat_map(|name| of.iter().map(|key| key(name.clone())));
        keys.collect()
    }

    /// Wakes what is decided with an object of this kind. Hubs elsewhere are looked at for their ClusterManager's sake, and for settings.
    fn wake(&self, kind: Kind, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Tls | Kind::Pull => wakes.extend(self.all()),
            Kind::Object(objects::Kind::Definition) => {
                wakes.extend(self.keys(&[Key::Here, Key::Anew]));
            }
            _ => wakes.extend(self.keys(&[Key::Here])),
        }
    }
}

/// What must be known before anything is decided.
fn needed() -> impl Iterator<Item = Kind> {
    let objects = objects::Kind::ALL.into_iter().map(Kind::Object);
    let nodes = (0..CONTROL_PLANE.len()).map(Kind::Node);
    let settings = [Kind::Tls, Kind::Pull, Kind::PullCopy];
    objects.chain(nodes).chain(settings)
}

/// The ClusterManager that came before this one, by the time and then by the name, of those that can have a hub.
fn elder<'a>(
    managers: &'a BTreeMap<String, ClusterManager>,
    stored: &BTreeMap<Id, Stored>,
    manager: &ClusterManager,
) -> Option<&'a str> {
    let age = |it: &ClusterManager| age(&it.metadata);
    let able = managers.values().filter(|it| can_have_a_hub(it, stored));
    let oldest = able.min_by_key(|it| age(it))?;
    let name = oldest.metadata.name.as_deref();
    name.filter(|_| age(oldest) < age(manager))
}

impl Installs for Operator {
    fn due(&mut self, name: &str, failures: &[Failure], now: Now) -> Decision {
        if !self.is_ready() {
            let forbidden = self.sight.failures();
            let facts = self
                .facts(name, 0, &forbidden)
                .filter(|_| !forbidden.is_empty());
            return facts
                .map(|it| report_failures(&it, now))
                .unwrap_or_default();
        }
        let mut renderer = mem::take(&mut self.renderer);
        let facts = self.facts(name, self.known_nodes(), failures);
        let decision = facts.map(|it| decide(&it, &mut renderer, now));
        self.renderer = renderer;
        decision.unwrap_or_default()
    }

    fn unknown(&mut self, name: &str) -> Vec<Id> {
        if !self.is_ready() {
            return Vec::new();
        }
        let mut renderer = mem::take(&mut self.renderer);
        let facts = self.facts(name, self.known_nodes(), &[]);
        let ids = facts.map(|it| asked_for(&it, &mut renderer));
        self.renderer = renderer;
        let mut ids = ids.unwrap_or_default();
        ids.retain(|id| {
            let stored = self.stored.get(id);
            // The Secret is watched by its name.
            id.kind != objects::Kind::Secret && stored.is_none_or(|it| it.created_by.is_none())
        });
        ids
    }

    fn row(kind: objects::Kind) -> Kind {
        Kind::Object(kind)
    }
}

impl World for Operator {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[
        Lane::new(RECONCILER, 1),
        Lane::new("clustermanager-hosted", 4),
        Lane::new("clustermanager-migration", 1),
    ];

    fn lane(key: &Key) -> usize {
        match key {
            Key::Here(_) => 0,
            Key::Elsewhere(_) => 1,
            Key::Anew(_) => 2,
        }
    }

    fn apply(&mut self, kind: Kind, it: &Meta, fact: Fact, _: Report, wakes: &mut Wake<Self>) {
        match (kind, fact) {
            (_, Fact::Manager(manager)) => {
                self.unreadable.remove(&it.name);
                self.managers.insert(it.name.clone(), *manager);
                wakes.wake(Key::Elsewhere(it.name.clone()));
                wakes.wake(Key::Anew(it.name.clone()));
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
            (Kind::PullCopy, Fact::Object(stored)) => {
                let id = id(objects::Kind::Secret, &it.namespace, &it.name);
                self.stored.insert(id, *stored);
            }
            (_, Fact::Tls(profile)) => self.settings.tls = Some(profile),
            (_, Fact::Pull(secret)) => self.settings.pull = Some(secret),
            _ => return,
        }
        self.wake(kind, wakes);
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Manager => {
                self.unreadable.remove(name);
                self.managers.remove(name);
                self.hosted.remove(name);
                self.pending.remove(name);
            }
            Kind::Node(place) => {
                if let Some(nodes) = self.nodes.get_mut(place) {
                    nodes.remove(name);
                }
            }
            // Also what a read has not found: then nothing has changed.
            Kind::Object(kind) => {
                if self.stored.remove(&id(kind, namespace, name)).is_none() {
                    return;
                }
            }
            Kind::PullCopy => {
                self.stored
                    .remove(&id(objects::Kind::Secret, namespace, name));
            }
            Kind::Tls => self.settings.tls = None,
            Kind::Pull => self.settings.pull = None,
        }
        self.wake(kind, wakes);
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
        if self.sight.listed(kind, kind.name()) {
            wakes.extend(self.all());
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, wakes: &mut Wake<Self>) {
        let may_miss = matches!(
            kind,
            Kind::Node(_)
                | Kind::Tls
                | Kind::Pull
                | Kind::PullCopy
                | Kind::Object(objects::Kind::NetworkPolicy)
        );
        let is_news = match error.code {
            403 | 404 if may_miss => self.sight.missing(kind),
            403 => self.sight.forbidden(kind.name(), error),
            _ => false,
        };
        if is_news {
            wakes.extend(self.all());
        }
        if kind == Kind::Manager && error.code == 404 {
            tracing::info!(
                "the hub does not serve ClusterManagers: waiting for their CustomResourceDefinition"
            );
        }
    }

    fn all(&self) -> Vec<Key> {
        self.keys(&[Key::Here, Key::Elsewhere, Key::Anew])
    }

    /// What failed is part of the decision: see [`World::reconcile`].
    fn decide(&self, _: &Key, _: Now) -> Plan {
        Plan::default()
    }

    fn kind(write: &Write) -> Option<Kind> {
        let kind = kind_of(&write.target)?;
        let is_copy = kind == objects::Kind::Secret && write.target.name == PULL_SECRET;
        Some(if is_copy {
            Kind::PullCopy
        } else {
            Kind::Object(kind)
        })
    }

    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        match key {
            Key::Here(name) if on.world().is_hosted(name) => Next::SETTLED,
            Key::Here(name) => settle(on, name).await,
            Key::Elsewhere(name) => hosted::run(on, name).await,
            Key::Anew(name) => migration::run(on, name).await,
        }
    }

    fn unprimed(&self) -> Vec<&'static str> {
        let unknown = needed().filter(|it| !self.sight.is_known(it));
        unknown.map(Kind::name).collect()
    }

    fn begun(_: &Arc<Handle<Self>>) {
        tracing::info!(version = env!("CARGO_PKG_VERSION"), "the operator runs");
    }
}
