//! The operator as a [`World`].

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use berth_api::Now;
use berth_api::operator::Klusterlet;
use berth_api::plan::{Plan, Write};
use berth_operator_core::cluster::{
    AppliedWork, Connection, Facts, Managed, RECONCILER, Renderer, Settings, asked_for,
    can_have_an_agent, choice, decide, kinds_here, namespace, report_failures,
};
use berth_operator_core::objects::{self, Id, Stored};
use berth_operator_core::{Decision, Failure, age};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Lane, Meta, Report, Wake, WatchError, World, now};

use super::changes::Change;
use super::connection::{Asked, look};
use super::errands::{Errand, run};
use super::kinds::{Fact, Kind, SHARED, works};
use super::secrets::SECRETS;
use crate::seen::Seen;
use crate::settle::{Installs, id, kind_of, settle};
use crate::sight::Sight;

/// What is worked on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// What a Klusterlet asks for.
    Klusterlet(String),
    /// Whether its agent can reach the hub.
    Connection(String),
    /// What it asks for on its managed cluster, if the agent runs on this one.
    Managed(String),
}

/// What the operator knows of its cluster.
pub(super) struct Operator {
    pub(super) settings: Settings,
    pub(super) renderer: Renderer,
    pub(super) klusterlets: BTreeMap<String, Klusterlet>,
    /// Klusterlets that cannot be read: nothing is written for them.
    unreadable: BTreeSet<String>,
    pub(super) stored: BTreeMap<Id, Stored>,
    pub(super) connections: BTreeMap<String, Seen<Asked, Connection>>,
    pub(super) managed: BTreeMap<String, Seen<Errand, Managed>>,
    works: BTreeMap<String, AppliedWork>,
    addon_spaces: BTreeSet<String>,
    /// The namespace of the operator.
    namespace: String,
    sight: Sight<Kind>,
}

// === impl Operator ===

impl Operator {
    pub(super) fn new(settings: Settings, namespace: String) -> Self {
        Self {
            settings,
            renderer: Renderer::new(env!("CARGO_PKG_VERSION")),
            klusterlets: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            stored: BTreeMap::new(),
            connections: BTreeMap::new(),
            managed: BTreeMap::new(),
            works: BTreeMap::new(),
            addon_spaces: BTreeSet::new(),
            namespace,
            sight: Sight::new(),
        }
    }

    /// Returns whether everything has been seen that decides.
    pub(super) fn is_ready(&self) -> bool {
        self.sight.is_listed(&Kind::Klusterlet) && needed().all(|it| self.sight.is_known(&it))
    }

    /// The Klusterlet, if it can be read.
    pub(super) fn klusterlet(&self, name: &str) -> Option<&Klusterlet> {
        let klusterlet = self.klusterlets.get(name);
        klusterlet.filter(|_| !self.unreadable.contains(name))
    }

    /// What decides about a Klusterlet; `None` while that is not known.
    fn facts<'a>(&'a self, name: &str, failures: &'a [Failure]) -> Option<Facts<'a>> {
        let klusterlet = self.klusterlet(name)?;
        Some(Facts {
            klusterlet,
            holder: self.holder(klusterlet),
            has_others: self.has_others(name),
            stored: &self.stored,
            works: self.sight.is_known(&Kind::Work).then_some(&self.works),
            connection: self.connection(name),
            managed: self.managed(name),
            addon_spaces: &self.addon_spaces,
            settings: &self.settings,
            failures,
        })
    }

    /// What was seen of the connection, if it is that of the agent as it is now.
    pub(super) fn connection(&self, name: &str) -> Option<&Connection> {
        let looked = self.connections.get(name)?;
        let is_of_now = self.asked(name).as_ref() == Some(&looked.of);
        is_of_now.then_some(&looked.what)
    }

    /// Returns whether there are other Klusterlets, also such as cannot be read.
    fn has_others(&self, name: &str) -> bool {
        let mut all = self.klusterlets.keys().chain(&self.unreadable);
        all.any(|it| it != name)
    }

    /// Another Klusterlet that has the namespace of this one: it made the namespace, or if none did it is older.
    pub(super) fn holder(&self, klusterlet: &Klusterlet) -> Option<&str> {
        let place = namespace(klusterlet);
        let is_able = |it: &&Klusterlet| can_have_an_agent(it) && namespace(it) == place;
        let maker = self.stored.get(&id(objects::Kind::Namespace, "", place));
        let maker = maker.and_then(|it| it.created_by.as_deref());
        let maker = maker.and_then(|it| self.klusterlets.get(it));
        let oldest = || {
            let able = self.klusterlets.values().filter(is_able);
            able.min_by_key(|it| age(&it.metadata))
        };
        let holder = maker.filter(is_able).or_else(oldest)?;
        let name = holder.metadata.name.as_deref();
        name.filter(|_| holder.metadata.name != klusterlet.metadata.name)
    }

    /// What is to be looked at of the connection of a Klusterlet; `None` if it has no agent.
    pub(super) fn asked(&self, name: &str) -> Option<Asked> {
        let klusterlet = self.klusterlet(name)?;
        let metadata = &klusterlet.metadata;
        let has_agent = metadata.deletion_timestamp.is_none()
            && can_have_an_agent(klusterlet)
            && self.holder(klusterlet).is_none();
        has_agent.then(|| Asked {
            namespace: namespace(klusterlet).to_owned(),
            cluster: klusterlet.spec.cluster_name.clone(),
            has_bootstrap: choice(klusterlet, &self.settings)
                .values
                .bootstrap
                .secrets
                .len()
                == 1,
        })
    }

    /// Notes what was seen of a connection, and returns when to look again.
    fn looked(&mut self, name: &str, asked: Asked, connection: Connection) -> Duration {
        let works = connection.is_functional();
        let before = self.connections.remove(name);
        let (seen, wait) = Seen::after(before, asked, connection, works);
        self.connections.insert(name.to_owned(), seen);
        wait
    }

    /// Returns whether a Klusterlet is being deleted.
    fn has_deleted(&self) -> bool {
        let mut all = self.klusterlets.values();
        all.any(|it| it.metadata.deletion_timestamp.is_some())
    }

    fn wake(&self, wakes: &mut Wake<Self>) {
        wakes.extend(self.klusterlets.keys().cloned().map(Key::Klusterlet));
    }
}

/// What must be known before anything is decided.
fn needed() -> impl Iterator<Item = Kind> {
    let own = kinds_here().map(Kind::Object);
    let shared = (0..SHARED.len()).map(Kind::Shared);
    let secrets = (0..SECRETS.len()).map(Kind::Secret);
    let settings = [Kind::Tls, Kind::Pull, Kind::Space];
    own.chain(shared).chain(secrets).chain(settings)
}

/// The place among what Klusterlets share.
fn place_of(id: &Id) -> Option<usize> {
    SHARED.iter().position(|it| it == id)
}

impl Installs for Operator {
    fn due(&mut self, name: &str, failures: &[Failure], now: Now) -> Decision {
        if !self.is_ready() {
            let forbidden = self.sight.failures();
            let facts = self
                .facts(name, &forbidden)
                .filter(|_| !forbidden.is_empty());
            return facts
                .map(|it| report_failures(&it, now))
                .unwrap_or_default();
        }
        let mut renderer = mem::take(&mut self.renderer);
        let facts = self.facts(name, failures);
        let decision = facts.map(|it| decide(&it, &mut renderer, now));
        self.renderer = renderer;
        decision.unwrap_or_default()
    }

    fn unknown(&mut self, name: &str) -> Vec<Id> {
        if !self.is_ready() {
            return Vec::new();
        }
        let mut renderer = mem::take(&mut self.renderer);
        let facts = self.facts(name, &[]);
        let ids = facts.map(|it| asked_for(&it, &mut renderer));
        self.renderer = renderer;
        let mut ids = ids.unwrap_or_default();
        ids.retain(|id| {
            let stored = self.stored.get(id);
            // Secrets are watched by their names.
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
        Lane::new("klusterlet-connection", 4),
        Lane::new("klusterlet-managed", 4),
    ];

    fn lane(key: &Key) -> usize {
        match key {
            Key::Klusterlet(_) => 0,
            Key::Connection(_) => 1,
            Key::Managed(_) => 2,
        }
    }

    fn apply(&mut self, kind: Kind, it: &Meta, fact: Fact, _: Report, wakes: &mut Wake<Self>) {
        match (kind, fact) {
            (_, Fact::Klusterlet(klusterlet)) => {
                self.change(&Change::Klusterlet(&it.name), wakes, |world| {
                    world.unreadable.remove(&it.name);
                    world.klusterlets.insert(it.name.clone(), *klusterlet);
                });
            }
            (Kind::Object(kind), Fact::Object(stored)) => {
                let id = id(kind, &it.namespace, &it.name);
                if place_of(&id).is_none() {
                    self.change(&Change::Object(&id), wakes, |world| {
                        world.stored.insert(id.clone(), *stored);
                    });
                }
            }
            (Kind::Secret(place), Fact::Object(stored)) => {
                let id = id(objects::Kind::Secret, &it.namespace, &it.name);
                self.stored.insert(id, *stored);
                self.wake_readers(place, &it.namespace, wakes);
            }
            (Kind::Shared(place), Fact::Object(stored)) => {
                if let Some(id) = SHARED.get(place) {
                    self.stored.insert(id.clone(), *stored);
                    self.wake(wakes);
                }
            }
            (_, Fact::Work(work)) => {
                self.works.insert(it.name.clone(), *work);
            }
            (_, Fact::Pull(stored, secret)) => self.change(&Change::All, wakes, |world| {
                if it.namespace == world.namespace {
                    world.settings.pull = Some(secret);
                } else {
                    let id = id(objects::Kind::Secret, &it.namespace, &it.name);
                    world.stored.insert(id, *stored);
                }
            }),
            (_, Fact::Space(is_live)) => self.change(&Change::All, wakes, |world| {
                if is_live {
                    world.addon_spaces.insert(it.name.clone());
                } else {
                    world.addon_spaces.remove(&it.name);
                }
            }),
            (_, Fact::Tls(profile)) => self.change(&Change::All, wakes, |world| {
                world.settings.tls = Some(profile);
            }),
            _ => {}
        }
    }

    fn gone(&mut self, kind: Kind, space: &str, name: &str, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Klusterlet => {
                // The next one in its namespace; and nobody may need AppliedManifestWorks any more.
                self.change(&Change::Klusterlet(name), wakes, |world| {
                    world.unreadable.remove(name);
                    world.klusterlets.remove(name);
                    world.connections.remove(name);
                    world.managed.remove(name);
                });
            }
            Kind::Object(kind) => {
                let id = id(kind, space, name);
                // Also what a read has not found: then nothing has changed.
                if place_of(&id).is_none() && self.stored.contains_key(&id) {
                    self.change(&Change::Object(&id), wakes, |world| {
                        world.stored.remove(&id);
                    });
                }
            }
            Kind::Shared(place) => {
                let known = SHARED.get(place).and_then(|id| self.stored.remove(id));
                if known.is_some() {
                    self.wake(wakes);
                }
            }
            Kind::Secret(place) => {
                self.stored.remove(&id(objects::Kind::Secret, space, name));
                self.wake_readers(place, space, wakes);
            }
            Kind::Work => {
                self.works.remove(name);
                self.wake(wakes);
            }
            Kind::Tls => self.change(&Change::All, wakes, |world| world.settings.tls = None),
            Kind::Pull => self.change(&Change::All, wakes, |world| {
                if space == world.namespace {
                    world.settings.pull = None;
                } else {
                    world.stored.remove(&id(objects::Kind::Secret, space, name));
                }
            }),
            Kind::Space => self.change(&Change::All, wakes, |world| {
                world.addon_spaces.remove(name);
            }),
        }
    }

    fn unreadable(&mut self, kind: Kind, object: &Meta, error: &serde_json::Error) {
        let Meta {
            namespace, name, ..
        } = object;
        tracing::warn!(?kind, namespace, name, %error, "an object cannot be read");
        if kind == Kind::Klusterlet {
            self.unreadable.insert(name.clone());
        }
    }

    fn listed(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        // A watch that ends may report once more.
        let is_over = kind == Kind::Work && !self.sight.is_watched(&kind);
        if !is_over && self.sight.listed(kind, kind.name()) {
            wakes.extend(self.all());
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, wakes: &mut Wake<Self>) {
        // Without the definition there are no works; and TLS settings need not be there.
        let is_missing = match kind {
            Kind::Work => error.code == 404 && self.sight.is_watched(&kind),
            Kind::Tls | Kind::Pull | Kind::Space => matches!(error.code, 403 | 404),
            _ => false,
        };
        let is_news = match error.code {
            _ if is_missing => self.sight.missing(kind),
            403 => self.sight.forbidden(kind.name(), error),
            _ => false,
        };
        if is_news {
            wakes.extend(self.all());
        }
        if kind == Kind::Klusterlet && error.code == 404 {
            tracing::info!(
                "the cluster does not serve Klusterlets: waiting for their CustomResourceDefinition"
            );
        }
    }

    fn all(&self) -> Vec<Key> {
        let names = self.klusterlets.keys();
        let keys = names.flat_map(|it| {
            [Key::Klusterlet, Key::Connection, Key::Managed].map(|key| key(it.clone()))
        });
        keys.collect()
    }

    /// What failed is part of the decision: see [`World::reconcile`].
    fn decide(&self, _: &Key, _: Now) -> Plan {
        Plan::default()
    }

    fn kind(write: &Write) -> Option<Kind> {
        let target = &write.target;
        let kind = kind_of(target)?;
        let namespace = target.namespace.as_deref().unwrap_or_default();
        if kind == objects::Kind::Secret {
            let place = SECRETS.iter().position(|it| *it == target.name);
            return Some(place.map_or(Kind::Pull, Kind::Secret));
        }
        let place = place_of(&id(kind, namespace, &target.name));
        Some(place.map_or(Kind::Object(kind), Kind::Shared))
    }

    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        match key {
            Key::Klusterlet(name) => {
                follow_works(on);
                settle(on, name).await
            }
            Key::Connection(name) => connection(on, name).await,
            Key::Managed(name) => run(on, name).await,
        }
    }

    fn unprimed(&self) -> Vec<&'static str> {
        let unknown = needed().filter(|it| !self.sight.is_known(it));
        unknown.map(Kind::name).collect()
    }

    fn begun(_: &Arc<Handle<Self>>) {
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            secrets = SECRETS.join(", "),
            "the operator runs"
        );
    }
}

/// Watches AppliedManifestWorks while a Klusterlet is being deleted, and only then: each report of an agent would be read.
fn follow_works(on: &Handle<Operator>) {
    let (is_wanted, is_watched) = {
        let world = on.world();
        (world.has_deleted(), world.sight.is_watched(&Kind::Work))
    };
    if is_wanted && !is_watched {
        on.world().sight.watched(Kind::Work);
        on.watch(Kind::Work, works());
    } else if !is_wanted && is_watched {
        on.unwatch(Kind::Work);
        on.world().sight.forget(&Kind::Work);
    }
}

async fn connection(on: &Handle<Operator>, name: &str) -> Next {
    let Some(asked) = on.world().asked(name) else {
        return Next::SETTLED;
    };
    let connection = look(on, &asked).await;
    let wait = on.change(|world, wakes| {
        let is_asked = world.asked(name).as_ref() == Some(&asked);
        if !is_asked {
            // It changed meanwhile, which woke this key.
            return None;
        }
        wakes.wake(Key::Klusterlet(name.to_owned()));
        Some(world.looked(name, asked, connection))
    });
    Next::Settled {
        again: wait.map(|wait| now().instant + wait),
        pause: None,
    }
}
