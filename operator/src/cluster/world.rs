//! The operator as a [`World`].

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use berth_api::Now;
use berth_api::operator::Klusterlet;
use berth_api::plan::{Plan, Write};
use berth_operator_core::cluster::{
    AppliedWork, Connection, Facts, RECONCILER, Renderer, Settings, asked_for, can_have_an_agent,
    choice, decide, namespace,
};
use berth_operator_core::objects::{self, Id, Stored};
use berth_operator_core::{Decision, Failure};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Lane, Meta, Report, Wake, WatchError, World, now};

use super::connection::{Asked, look};
use super::kinds::{Fact, Kind, OWN, SECRETS, SHARED, works};
use crate::settle::{Installs, id, kind_of, settle};
use crate::sight::Sight;

/// When a connection that does not work is looked at again, at first and at last. It changes without a sign: on the hub.
const AGAIN: Duration = Duration::from_secs(30);
const AGAIN_AT_LAST: Duration = Duration::from_secs(480);

/// What is worked on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// What a Klusterlet asks for.
    Klusterlet(String),
    /// Whether its agent can reach the hub.
    Connection(String),
}

/// What the operator knows of its cluster.
pub(super) struct Operator {
    settings: Settings,
    renderer: Renderer,
    klusterlets: BTreeMap<String, Klusterlet>,
    /// Klusterlets that cannot be read: nothing is written for them.
    unreadable: BTreeSet<String>,
    stored: BTreeMap<Id, Stored>,
    connections: BTreeMap<String, Looked>,
    works: BTreeMap<String, AppliedWork>,
    sight: Sight<Kind>,
}

/// What was seen of a connection.
struct Looked {
    asked: Asked,
    connection: Connection,
    /// How often it did not work in a row.
    times: u32,
}

// === impl Operator ===

impl Operator {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            renderer: Renderer::new(env!("CARGO_PKG_VERSION")),
            klusterlets: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            stored: BTreeMap::new(),
            connections: BTreeMap::new(),
            works: BTreeMap::new(),
            sight: Sight::new(),
        }
    }

    /// Returns whether everything has been seen that decides.
    fn is_ready(&self) -> bool {
        let own = OWN.into_iter().map(Kind::Object);
        let shared = (0..SHARED.len()).map(Kind::Shared);
        let mut kinds = own.chain(shared).chain([Kind::Klusterlet]);
        kinds.all(|it| self.sight.is_listed(&it)) && self.sight.is_known(&Kind::Tls)
    }

    /// The Klusterlet, if it can be read.
    fn klusterlet(&self, name: &str) -> Option<&Klusterlet> {
        let klusterlet = self.klusterlets.get(name);
        klusterlet.filter(|_| !self.unreadable.contains(name))
    }

    /// What decides about a Klusterlet; `None` while that is not known.
    fn facts<'a>(&'a self, name: &str, failures: &'a [Failure]) -> Option<Facts<'a>> {
        let klusterlet = self.klusterlet(name).filter(|_| self.is_ready())?;
        Some(Facts {
            klusterlet,
            elder: elder(&self.klusterlets, klusterlet),
            has_others: self.klusterlets.len() > 1,
            stored: &self.stored,
            works: self.sight.is_known(&Kind::Work).then_some(&self.works),
            connection: self.connections.get(name).map(|it| &it.connection),
            settings: &self.settings,
            failures,
        })
    }

    /// What is to be looked at of the connection of a Klusterlet; `None` if it has no agent.
    fn asked(&self, name: &str) -> Option<Asked> {
        let klusterlet = self.klusterlet(name)?;
        let metadata = &klusterlet.metadata;
        let has_agent = metadata.deletion_timestamp.is_none()
            && can_have_an_agent(klusterlet)
            && elder(&self.klusterlets, klusterlet).is_none();
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
    fn looked(&mut self, name: &str, asked: Asked, connection: Connection) -> Option<Duration> {
        let before = self.connections.remove(name);
        let times = before.filter(|it| it.asked == asked);
        let times = times.map_or(0, |it| it.times.saturating_add(1));
        let is_functional = connection.is_functional();
        let looked = Looked {
            asked,
            connection,
            times,
        };
        self.connections.insert(name.to_owned(), looked);
        (!is_functional).then(|| {
            let wait = AGAIN.saturating_mul(1 << times.min(8));
            spread(wait.min(AGAIN_AT_LAST))
        })
    }

    fn has_deleted(&self) -> bool {
        let mut all = self.klusterlets.values();
        all.any(|it| it.metadata.deletion_timestamp.is_some())
    }

    fn wake(&self, wakes: &mut Wake<Self>) {
        wakes.extend(self.klusterlets.keys().cloned().map(Key::Klusterlet));
    }

    fn wake_connections(&mut self, wakes: &mut Wake<Self>) {
        for looked in self.connections.values_mut() {
            looked.times = 0;
        }
        wakes.extend(self.klusterlets.keys().cloned().map(Key::Connection));
    }
}

/// A duration that many operators do not wait alike: at most a quarter longer.
fn spread(wait: Duration) -> Duration {
    let millis = u64::try_from(wait.as_millis() / 4)
        .unwrap_or(u64::MAX)
        .max(1);
    wait + Duration::from_millis(RandomState::new().hash_one(0) % millis)
}

/// The Klusterlet with the same namespace that came before this one, by the time and then by the name, of those that can have an agent.
fn elder<'a>(
    klusterlets: &'a BTreeMap<String, Klusterlet>,
    klusterlet: &Klusterlet,
) -> Option<&'a str> {
    let age = |it: &Klusterlet| {
        let created = it.metadata.creation_timestamp.as_ref();
        (created.map(|it| it.0), it.metadata.name.clone())
    };
    let place = namespace(klusterlet);
    let able = klusterlets.values().filter(|it| can_have_an_agent(it));
    let oldest = able
        .filter(|it| namespace(it) == place)
        .min_by_key(|it| age(it))?;
    let name = oldest.metadata.name.as_deref();
    name.filter(|_| age(oldest) < age(klusterlet))
}

/// The place among what Klusterlets share.
fn place_of(id: &Id) -> Option<usize> {
    SHARED.iter().position(|it| it == id)
}

impl Installs for Operator {
    fn due(&mut self, name: &str, failures: &[Failure], now: Now) -> Decision {
        let mut renderer = mem::take(&mut self.renderer);
        let facts = self.facts(name, failures);
        let decision = facts.map(|it| decide(&it, &mut renderer, now));
        self.renderer = renderer;
        decision.unwrap_or_default()
    }

    fn unknown(&mut self, name: &str) -> Vec<Id> {
        let mut renderer = mem::take(&mut self.renderer);
        let facts = self.facts(name, &[]);
        let ids = facts.map(|it| asked_for(&it, &mut renderer));
        self.renderer = renderer;
        let mut ids = ids.unwrap_or_default();
        ids.retain(|id| {
            let stored = self.stored.get(id);
            stored.is_none_or(|it| it.created_by.is_none())
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
    ];

    fn lane(key: &Key) -> usize {
        match key {
            Key::Klusterlet(_) => 0,
            Key::Connection(_) => 1,
        }
    }

    fn apply(&mut self, kind: Kind, it: &Meta, fact: Fact, _: Report, wakes: &mut Wake<Self>) {
        match (kind, fact) {
            (_, Fact::Klusterlet(klusterlet)) => {
                let before = self.asked(&it.name);
                self.unreadable.remove(&it.name);
                self.klusterlets.insert(it.name.clone(), *klusterlet);
                if before != self.asked(&it.name) {
                    wakes.wake(Key::Connection(it.name.clone()));
                }
            }
            (Kind::Object(kind), Fact::Object(stored)) => {
                let id = id(kind, &it.namespace, &it.name);
                if place_of(&id).is_some() {
                    return;
                }
                self.stored.insert(id, *stored);
            }
            (Kind::Shared(place), Fact::Object(stored)) => {
                if let Some(id) = SHARED.get(place) {
                    self.stored.insert(id.clone(), *stored);
                }
            }
            (_, Fact::Secret) => return self.wake_connections(wakes),
            (_, Fact::Work(work)) => {
                self.works.insert(it.name.clone(), *work);
                return;
            }
            (_, Fact::Tls(profile)) => self.settings.tls = Some(profile),
            _ => return,
        }
        self.wake(wakes);
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Klusterlet => {
                self.unreadable.remove(name);
                self.klusterlets.remove(name);
                self.connections.remove(name);
                // The next one in its namespace.
                self.wake_connections(wakes);
            }
            Kind::Object(kind) => {
                let id = id(kind, namespace, name);
                if place_of(&id).is_none() {
                    self.stored.remove(&id);
                }
            }
            Kind::Shared(place) => {
                if let Some(id) = SHARED.get(place) {
                    self.stored.remove(id);
                }
            }
            Kind::Secret(_) => return self.wake_connections(wakes),
            Kind::Work => {
                self.works.remove(name);
            }
            Kind::Tls => self.settings.tls = None,
        }
        self.wake(wakes);
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
        if self.sight.listed(kind) {
            self.wake(wakes);
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, wakes: &mut Wake<Self>) {
        // Without the definition there are no works; and TLS settings need not be there.
        let is_missing = match kind {
            Kind::Work => error.code == 404,
            Kind::Tls => matches!(error.code, 403 | 404),
            _ => false,
        };
        if is_missing && self.sight.missing(kind) {
            self.wake(wakes);
        }
        if kind == Kind::Klusterlet && error.code == 404 {
            tracing::info!(
                "the cluster does not serve Klusterlets: waiting for their CustomResourceDefinition"
            );
        }
    }

    fn all(&self) -> Vec<Key> {
        let names = self.klusterlets.keys();
        let keys = names.flat_map(|it| [Key::Klusterlet(it.clone()), Key::Connection(it.clone())]);
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
        }
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
        world.looked(name, asked, connection)
    });
    Next::Settled {
        again: wait.map(|wait| now().instant + wait),
        pause: None,
    }
}
