//! The view against the pure scheduler, over random histories of a small hub.

mod costs;
mod histories;
mod objects;
mod speed;
mod wakes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_api::cluster_set::Membership;
use berth_api::{ManagedCluster, Placement};
use berth_placement_core::{
    CelObject, Cluster, Decision, Gates, Rules, Scores, Settings, Snapshot,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Circumstances, Key, Known, View};
use crate::facts::{DecisionFacts, PlacementFacts};
use crate::kinds::{Fact, Kind};
use crate::wanted::Wanted;

/// A change of the hub.
#[derive(Clone, Debug)]
enum Change {
    /// Labels, claims, taints, cpu, or nothing.
    Cluster(String, Option<Value>),
    /// The selector of a set, or nothing.
    Set(String, Option<Value>),
    Binding(String, String, bool),
    /// The spec of a placement, or nothing.
    Placement(Key, Option<Value>),
    /// The value of the score `s`, and for how many seconds it is valid.
    Scores(String, Option<(i32, Option<i64>)>),
    /// A PlacementDecision without a label lists these clusters.
    Foreign(Vec<String>),
    /// So many seconds pass.
    Time(i64),
}

/// A hub, in the view and beside it.
struct Hub {
    view: View,
    snapshot: Snapshot,
    placements: BTreeMap<Key, Placement>,
    decisions: BTreeMap<(String, String), Decision>,
    now: Timestamp,
    /// The view keeps whole clusters.
    has_objects: bool,
    settings: Settings,
}

// === impl Hub ===

impl Hub {
    fn new() -> Self {
        Self {
            view: View::default(),
            snapshot: Snapshot::default(),
            placements: BTreeMap::new(),
            decisions: BTreeMap::new(),
            now: "2026-08-11T12:00:00Z".parse().expect("a time"),
            has_objects: false,
            settings: Settings::default(),
        }
    }

    /// A hub whose placements have these gates.
    fn gated(gates: Gates) -> Self {
        let mut hub = Self::new();
        hub.settings.gates = gates;
        hub
    }

    /// Applies a change to both. Returns the keys that it wakes.
    fn apply(&mut self, change: &Change) -> BTreeSet<Key> {
        match change {
            Change::Cluster(name, cluster) => {
                let cluster = cluster.as_ref().map(|cluster| {
                    let mut cluster = cluster.clone();
                    cluster["metadata"]["name"] = json!(name);
                    let cluster: ManagedCluster =
                        serde_json::from_value(cluster).expect("a cluster");
                    Cluster {
                        object: Some(Arc::new(CelObject::new(&json!(cluster)))),
                        ..Cluster::from(&cluster)
                    }
                });
                put(&mut self.snapshot.clusters, name, cluster.clone());
                self.tell(Kind::Cluster, "", name, cluster.map(Fact::Cluster));
            }
            Change::Set(name, selector) => {
                let membership = selector.as_ref().map(|selector| {
                    let selector = serde_json::from_value(selector.clone()).expect("a selector");
                    Membership::new(name, &selector)
                });
                put(&mut self.snapshot.sets, name, membership.clone());
                self.tell(Kind::Set, "", name, membership.map(Fact::Set));
            }
            Change::Binding(namespace, set, exists) => {
                let bindings = self.snapshot.bindings.entry(namespace.clone()).or_default();
                if *exists {
                    bindings.insert(set.clone());
                } else {
                    bindings.remove(set);
                }
                self.tell(
                    Kind::Binding,
                    namespace,
                    set,
                    exists.then_some(Fact::Binding),
                );
            }
            Change::Placement(key, spec) => {
                let placement = spec.as_ref().map(|spec| {
                    let metadata = json!({"namespace": *key.namespace, "name": *key.name, "uid": "u", "resourceVersion": "1"});
                    let placement = json!({"metadata": metadata, "spec": spec});
                    serde_json::from_value::<Placement>(placement).expect("a Placement")
                });
                put(&mut self.placements, key, placement.clone());
                let fact = placement.map(|it| PlacementFacts::new(it, self.settings));
                let fact = fact.map(|it| Fact::Placement(Box::new(it)));
                self.tell(Kind::Placement, &key.namespace, &key.name, fact);
            }
            Change::Scores(cluster, scores) => {
                let scores = scores.map(|(value, seconds)| Scores {
                    values: BTreeMap::from([("s".to_owned(), value)]),
                    valid_until: seconds.map(|it| self.now + SignedDuration::from_secs(it)),
                });
                let of_cluster = self.snapshot.scores.entry(cluster.clone()).or_default();
                put(of_cluster, &"r".to_owned(), scores.clone());
                self.tell(Kind::Scores, cluster, "r", scores.map(Fact::Scores));
            }
            Change::Foreign(clusters) => {
                let listed = Decision {
                    namespace: "other".to_owned(),
                    placement: None,
                    clusters: clusters.clone(),
                };
                self.decide("foreign", listed);
            }
            Change::Time(seconds) => self.now += SignedDuration::from_secs(*seconds),
        }
        if self.has_objects != self.view.needs_objects() {
            self.has_objects = !self.has_objects;
            self.list_clusters();
        }
        self.view.wakes().into_iter().collect()
    }

    /// Lists the clusters again after it changed whether their objects are needed, as the world does.
    fn list_clusters(&mut self) {
        if !self.has_objects {
            return self.view.drop_objects();
        }
        let by = Circumstances {
            is_listing: true,
            ..self.by(false)
        };
        for (name, cluster) in &self.snapshot.clusters {
            let fact = Fact::Cluster(cluster.clone());
            self.view.apply(("", name), fact, by);
        }
        self.view.wake_readers_of_objects();
    }

    /// Stores a PlacementDecision.
    fn decide(&mut self, name: &str, listed: Decision) {
        let namespace = listed.namespace.clone();
        let place = (namespace.clone(), name.to_owned());
        self.decisions.insert(place, listed.clone());
        let decision = DecisionFacts {
            name: name.to_owned(),
            listed,
            ..DecisionFacts::default()
        };
        let fact = Fact::Decision(decision);
        self.view.apply((&namespace, name), fact, self.by(true));
    }

    fn by(&self, is_own: bool) -> Circumstances {
        Circumstances {
            is_own,
            is_listing: false,
            now: self.now,
        }
    }

    fn tell(&mut self, kind: Kind, namespace: &str, name: &str, fact: Option<Fact>) {
        match fact {
            Some(fact) => self.view.apply((namespace, name), fact, self.by(false)),
            None => self.view.remove(kind, namespace, name, self.now),
        }
    }

    /// What the pure scheduler makes of a placement.
    fn reference(&mut self, key: &Key) -> Option<Wanted> {
        self.snapshot.decisions = self.decisions.values().cloned().collect();
        let rules = Rules::new(self.placements.get(key)?, self.settings);
        let previous = self.snapshot.previous(&key.namespace, &key.name);
        let seen = self.snapshot.view(&rules);
        let schedule = seen.schedule(&rules, &previous, self.now);
        Some(Wanted::new(&schedule))
    }

    /// Evaluates a placement, and stores its decisions.
    fn evaluate(&mut self, key: &Key) -> Option<Wanted> {
        let anew = self.view.evaluate(key, self.now);
        let known = matched(&self.view, key);
        self.view.most_steps.0 = 0;
        if self.view.is_large(key) {
            let apart = (self.view).apart(key, matched(&self.view, key), self.now);
            let apart = apart.map(|it| it.run().wanted);
            assert_eq!(apart, anew, "apart from the view");
        }
        let wanted = self.view.evaluate_kept(key, &known, self.now);
        let wanted = wanted.map(|it| (*it).clone());
        assert_eq!(wanted, anew, "from what was kept");
        if let Some(wanted) = &wanted {
            self.store(key, wanted);
        }
        wanted
    }

    /// Stores the wanted decisions of a placement.
    fn store(&mut self, key: &Key, wanted: &Wanted) {
        let listed = Decision {
            namespace: key.namespace.to_string(),
            placement: Some(key.name.to_string()),
            clusters: wanted.names(),
        };
        self.view.writes(key, &wanted.clusters);
        self.decide(&format!("{}-decision-1", key.name), listed);
        self.view.written(key);
    }
}

/// What the CEL expressions of a placement make of the clusters, found out apart from the view.
fn matched(view: &View, key: &Key) -> Known {
    let mut known = Known::default();
    if let Some(matching) = view.unmatched(key, &known) {
        known.add(matching.run().0);
    }
    assert!(view.unmatched(key, &known).is_none(), "{key:?}");
    known
}

fn put<K: Clone + Ord, V>(map: &mut BTreeMap<K, V>, key: &K, value: Option<V>) {
    match value {
        Some(value) => map.insert(key.clone(), value),
        None => map.remove(key),
    };
}
