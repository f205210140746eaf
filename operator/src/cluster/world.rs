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
    choice, decide, namespace, report_failures,
};
use berth_operator_core::objects::{self, Id, Stored};
use berth_operator_core::{Decision, Failure, age};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Lane, Meta, Report, Wake, WatchError, World, now};

use super::connection::{Asked, look};
use super::kinds::{Fact, Kind, OWN, SECRETS, SHARED, works};
use crate::settle::{Installs, id, kind_of, settle};
use crate::sight::Sight;

/// When a connection that does not work is looked at again, in seconds. It changes without a sign, on the hub: soon after the agent has got its
/// certificate, as a rule.
const AGAIN: [u64; 7] = [2, 5, 10, 30, 60, 120, 480];

/// When one that works is looked at again.
const WHILE_IT_WORKS: Duration = Duration::from_secs(600);

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
    /// How often it did not work in a row. `None`: something has changed since.
    times: Option<usize>,
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
        self.sight.is_listed(&Kind::Klusterlet) && needed().all(|it| self.sight.is_known(&it))
    }

    /// The Klusterlet, if it can be read.
    fn klusterlet(&self, name: &str) -> Option<&Klusterlet> {
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
            settings: &self.settings,
            failures,
        })
    }

    /// What was seen of the connection, if it is that of the agent as it is now.
    fn connection(&self, name: &str) -> Option<&Connection> {
        let looked = self.connections.get(name)?;
        let is_of_now = self.asked(name).as_ref() == Some(&looked.asked);
        is_of_now.then_some(&looked.connection)
    }

    /// Returns whether there are other Klusterlets, also such as cannot be read.
    fn has_others(&self, name: &str) -> bool {
        let mut all = self.klusterlets.keys().chain(&self.unreadable);
        all.any(|it| it != name)
    }

    /// Another Klusterlet that has the namespace of this one: it made the namespace, or if none did it is older.
    fn holder(&self, klusterlet: &Klusterlet) -> Option<&str> {
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

    /// What is to be looked at of all connections.
    fn all_asked(&self) -> BTreeMap<String, Option<Asked>> {
        let names = self.klusterlets.keys();
        names.map(|it| (it.clone(), self.asked(it))).collect()
    }

    /// What is to be looked at of the connection of a Klusterlet; `None` if it has no agent.
    fn asked(&self, name: &str) -> Option<Asked> {
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
        let before = self.connections.remove(name);
        let before = before.filter(|it| it.asked == asked);
        let times = before.and_then(|it| it.times);
        let times = times
            .map_or(0, |it| it.saturating_add(1))
            .min(AGAIN.len() - 1);
        let is_functional = connection.is_functional();
        let looked = Looked {
            asked,
            connection,
            times: Some(times),
        };
        self.connections.insert(name.to_owned(), looked);
        spread(if is_functional {
            WHILE_IT_WORKS
        } else {
            Duration::from_secs(AGAIN[times])
        })
    }

    fn has_deleted(&self) -> bool {
        let mut all = self.klusterlets.values();
        all.any(|it| it.metadata.deletion_timestamp.is_some())
    }

    fn wake(&self, wakes: &mut Wake<Self>) {
        wakes.extend(self.klusterlets.keys().cloned().map(Key::Klusterlet));
    }

    /// Wakes the connections whose question has changed.
    fn wake_asked(&self, before: &BTreeMap<String, Option<Asked>>, wakes: &mut Wake<Self>) {
        for (name, asked) in self.all_asked() {
            if before.get(&name) != Some(&asked) {
                wakes.wake(Key::Connection(name));
            }
        }
    }

    /// Wakes the connections of the agents in a namespace, where a Secret changed.
    fn wake_connections(&mut self, of: &str, wakes: &mut Wake<Self>) {
        let all = self.klusterlets.iter();
        let of_namespace = all.filter(|(_, it)| namespace(it) == of);
        for (name, _) in of_namespace {
            if let Some(looked) = self.connections.get_mut(name) {
                looked.times = None;
            }
            wakes.wake(Key::Connection(name.clone()));
        }
    }
}

/// A duration that many operators do not wait alike: at most a quarter longer.
fn spread(wait: Duration) -> Duration {
    let millis = u64::try_from(wait.as_millis() / 4)
        .unwrap_or(u64::MAX)
        .max(1);
    wait + Duration::from_millis(RandomState::new().hash_one(0) % millis)
}

/// What must be known before anything is decided.
fn needed() -> impl Iterator<Item = Kind> {
    let own = OWN.into_iter().map(Kind::Object);
    let shared = (0..SHARED.len()).map(Kind::Shared);
    let secrets = (0..SECRETS.len()).map(Kind::Secret);
    own.chain(shared).chain(secrets).chain([Kind::Tls])
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
                let before = self.all_asked();
                self.unreadable.remove(&it.name);
                self.klusterlets.insert(it.name.clone(), *klusterlet);
                self.wake_asked(&before, wakes);
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
            (_, Fact::Secret) => return self.wake_connections(&it.namespace, wakes),
            (_, Fact::Work(work)) => {
                self.works.insert(it.name.clone(), *work);
                return;
            }
            (_, Fact::Tls(profile)) => self.settings.tls = Some(profile),
            _ => return,
        }
        self.wake(wakes);
    }

    fn gone(&mut self, kind: Kind, space: &str, name: &str, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Klusterlet => {
                let before = self.all_asked();
                self.unreadable.remove(name);
                self.klusterlets.remove(name);
                self.connections.remove(name);
                // The next one in its namespace; and nobody may need AppliedManifestWorks any more.
                self.wake_asked(&before, wakes);
                wakes.wake(Key::Klusterlet(name.to_owned()));
            }
            Kind::Object(kind) => {
                let id = id(kind, space, name);
                if place_of(&id).is_none() {
                    self.stored.remove(&id);
                }
            }
            Kind::Shared(place) => {
                if let Some(id) = SHARED.get(place) {
                    self.stored.remove(id);
                }
            }
            Kind::Secret(_) => return self.wake_connections(space, wakes),
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
        // A watch that ends may report once more.
        let is_over = kind == Kind::Work && !self.sight.is_watched(&kind);
        if !is_over && self.sight.listed(kind, kind.name()) {
            self.wake(wakes);
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, wakes: &mut Wake<Self>) {
        // Without the definition there are no works; and TLS settings need not be there.
        let is_missing = match kind {
            Kind::Work => error.code == 404 && self.sight.is_watched(&kind),
            Kind::Tls => matches!(error.code, 403 | 404),
            _ => false,
        };
        let is_news = match error.code {
            _ if is_missing => self.sight.missing(kind),
            403 => self.sight.forbidden(kind.name(), error),
            _ => false,
        };
        if is_news {
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
