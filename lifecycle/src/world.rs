//! The lifecycle as a [`World`]: the keys that a change wakes, and the work on each key.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use berth_api::Now;
use berth_api::plan::{Plan, WriteFailure};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, LabelKeys, Lane, Meta, Report, Wake, WatchError, World};
use futures::lock::Mutex;

use super::kinds::{Fact, Kind};
use super::metrics::Metrics;
use super::view::{Key, View};
use super::work;
use berth_lifecycle_core::clusters::{self, Turn};
use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::{bindings, common_roles, csrs, default_sets, failures, profiles, sets};

/// Minimum interval of writes to the status of a set: it contains a number that changes with every cluster.
const SET_PAUSE: Duration = Duration::from_millis(500);

/// The view of the hub, with configuration and metrics.
pub(crate) struct Lifecycle {
    view: View,
    config: Arc<Config>,
    metrics: Metrics,
    /// The keys of ManagedClusters' labels that selectors of sets read.
    labels: LabelKeys,
    /// The turn of objects that are too large for two at a time.
    large: Arc<Mutex<()>>,
    /// The clusters that are worked on, and their keys that came up meanwhile in another lane.
    busy: HashMap<Box<str>, Option<Key>>,
}

// === impl Lifecycle ===

impl Lifecycle {
    pub(crate) fn new(config: Arc<Config>, metrics: Metrics) -> Self {
        let labels = LabelKeys::default();
        labels.need([berth_api::labels::CLUSTER_SET]);
        Self {
            view: View::new(config.clone()),
            config,
            metrics,
            labels,
            large: Arc::default(),
            busy: HashMap::new(),
        }
    }

    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn labels(&self) -> &LabelKeys {
        &self.labels
    }

    /// Held while a large object is worked on.
    pub(crate) fn large(&self) -> Arc<Mutex<()>> {
        self.large.clone()
    }

    /// The key of a cluster in the lane of its turn.
    pub(crate) fn key_of(&self, name: &str) -> Key {
        match self.view.with_cluster(name, None, clusters::turn) {
            None | Some(Turn::Prompt) => Key::Cluster(name.into()),
            Some(turn) => Key::Apart(turn, name.into()),
        }
    }

    /// Notes that a cluster is worked on. Returns false if it already is, in another lane.
    pub(crate) fn begin(&mut self, key: &Key, name: &str) -> bool {
        let is_free = !self.busy.contains_key(name);
        let later = (!is_free).then(|| key.clone());
        self.busy.insert(name.into(), later);
        is_free
    }

    /// Notes the end of the work on a cluster. Returns its key that came up meanwhile.
    pub(crate) fn end(&mut self, name: &str) -> Option<Key> {
        self.busy.remove(name).flatten()
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn view_mut(&mut self) -> &mut View {
        &mut self.view
    }

    /// Lists the clusters again if a set reads labels that were not kept (of clusters with very many labels).
    fn need_labels_of(&self, set: &str, wakes: &mut Wake<Self>) {
        let Some((set, _)) = self.view.set(set) else {
            return;
        };
        let selector = set.selector.label_selector.as_ref();
        let equal = selector.and_then(|it| it.match_labels.as_ref());
        let expressions = selector.and_then(|it| it.match_expressions.as_ref());
        let equal = equal.into_iter().flat_map(|it| it.keys());
        let expressions = expressions.into_iter().flatten().map(|it| &it.key);
        if self
            .labels
            .need(equal.chain(expressions).map(String::as_str))
        {
            wakes.list_anew(Kind::Cluster);
        }
    }
}

impl World for Lifecycle {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    /// Rare and small work does not wait behind ten thousand clusters. An accepted cluster has up to four concurrent requests.
    const LANES: &'static [Lane] = &[
        Lane {
            name: "clusters",
            at_once: 24,
        },
        Lane {
            name: "csrs",
            at_once: 16,
        },
        Lane {
            name: "sets",
            at_once: 2,
        },
        Lane {
            name: "bindings",
            at_once: 8,
        },
        Lane {
            name: "profiles",
            at_once: 8,
        },
        // The writes of these keep the API server busy.
        Lane {
            name: "large_clusters",
            at_once: 2,
        },
        Lane {
            name: "waiting_clusters",
            at_once: 4,
        },
    ];

    fn lane(key: &Key) -> usize {
        match key {
            Key::Cluster(_) => 0,
            Key::Csr(_) => 1,
            Key::CommonRoles | Key::DefaultSets | Key::Set(_) => 2,
            Key::Binding(..) => 3,
            Key::Profile(..) => 4,
            Key::Apart(Turn::Prompt | Turn::Large, _) => 5,
            Key::Apart(Turn::Waiting, _) => 6,
        }
    }

    fn reconciler(key: &Key) -> &'static str {
        match key {
            Key::Cluster(_) | Key::Apart(..) => "clusters",
            Key::Csr(_) => csrs::NAME,
            Key::CommonRoles => common_roles::NAME,
            Key::DefaultSets => default_sets::NAME,
            Key::Set(_) => sets::NAME,
            Key::Binding(..) => bindings::NAME,
            Key::Profile(..) => profiles::NAME,
        }
    }

    fn apply(&mut self, kind: Kind, _: &Meta, fact: Fact, sight: Report, wakes: &mut Wake<Self>) {
        let Report { source, now, .. } = sight;
        self.view.lists_leases = kind == Kind::Lease && sight.is_listing;
        match &fact {
            Fact::Object(object) => self.view.apply(kind, object, source, now),
            Fact::Renewal(lease) => self.view.apply_lease(lease, source, now),
        }
        wakes.extend(self.view.wakes());
        if let (Kind::Set, Fact::Object(set)) = (kind, &fact) {
            self.need_labels_of(set.name(), wakes);
        }
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        self.view.remove(kind, namespace, name);
        wakes.extend(self.view.wakes());
    }

    fn all(&self) -> Vec<Key> {
        self.view.all()
    }

    fn listed(&mut self, kind: Kind, now: Now, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Lease => self.view.sees_leases(now),
            Kind::Profile => self.view.profiles_are_listed(),
            _ => return,
        }
        wakes.extend(self.view.wakes());
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, now: Now, _: &mut Wake<Self>) {
        self.view.lost_sight(kind, now);
        let is_missing = kind == Kind::Profile && error.code == 404;
        if is_missing && self.view.profiles_are_missing() {
            tracing::warn!(
                "feature gate ClusterProfile is on, but the hub does not serve ClusterProfiles; to serve them: \
                 kubectl apply -k manifests/crds/inventory"
            );
        }
    }

    fn unreadable(&mut self, kind: Kind, object: &Meta, error: &serde_json::Error) {
        tracing::warn!(?kind, namespace = object.namespace, name = object.name, %error, "an object cannot be parsed and is skipped");
    }

    fn begun(on: &Arc<Handle<Self>>) {
        on.world().metrics.begun(on);
    }

    fn over(on: &Handle<Self>) {
        on.world().metrics.over();
    }

    fn is_transient(failure: &WriteFailure) -> bool {
        failures::is_transient(failure)
    }

    fn pause(key: &Key) -> Duration {
        match key {
            Key::Set(_) => SET_PAUSE,
            _ => Duration::ZERO,
        }
    }

    /// Plans the writes for a key. Empty for keys with work of their own: see [`work`].
    fn decide(&self, key: &Key, now: Now) -> Plan {
        let view = &self.view;
        let plan = match key {
            Key::CommonRoles => {
                let (any, registration, work) = view.common_roles();
                Some(common_roles::decide(&self.config, any, registration, work))
            }
            Key::DefaultSets => {
                let set = |name| view.set(name).map(|(set, _)| set);
                let (default, global) = (
                    set(berth_api::labels::DEFAULT_SET),
                    set(berth_api::labels::GLOBAL_SET),
                );
                Some(default_sets::decide(&self.config, default, global))
            }
            Key::Set(name) => view
                .set(name)
                .map(|(set, members)| sets::decide(set, members, now)),
            Key::Binding(namespace, name) => view.binding(namespace, name).map(|binding| {
                let exists = view.set(&binding.cluster_set).is_some();
                let cluster = view.cluster(namespace);
                let accepted = cluster.is_some_and(|cluster| cluster.accepted);
                bindings::decide(namespace, name, binding, exists, accepted, now)
            }),
            Key::Profile(namespace, name) => {
                view.with_profile(namespace, name, |facts| profiles::decide(facts, now))
            }
            Key::Cluster(_) | Key::Apart(..) | Key::Csr(_) => None,
        };
        plan.unwrap_or_default()
    }

    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        match key {
            Key::Cluster(name) | Key::Apart(_, name) => {
                work::cluster::reconcile(on, key, name).await
            }
            Key::Csr(name) => work::csr::reconcile(on, name).await,
            Key::CommonRoles => work::common_roles(on).await,
            Key::Profile(namespace, _) => work::profile(on, key, namespace).await,
            Key::DefaultSets | Key::Set(_) | Key::Binding(..) => on.settle(key).await,
        }
    }
}
