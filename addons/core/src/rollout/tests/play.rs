//! The objects of an add-on `a` with a config `n/d` of the kind `g/r`, played through.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::plan::{Action, Write};
use berth_rollout::RolloutGroup;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::cluster;
use crate::config::Configs;
use crate::facts::{AddOn, OnCluster, Placed, PlacedState, Selection, Work};
use crate::install::{self, Grace};
use crate::rollout::{Facts, decide};
use crate::works::config_hashes;

const GRACE: Grace = Grace {
    left: Duration::from_secs(10),
    missing: Duration::from_secs(60),
};

/// Upper bound on rounds: more are a decider whose writes do not last.
const ROUNDS: usize = 50;

pub(super) struct Play {
    add_on: Value,
    clusters: BTreeMap<String, Value>,
    pub(super) placed: Vec<Placed>,
    works: BTreeMap<String, Work>,
    configs: Configs,
    pub(super) now: Timestamp,
    /// When the rollout asked to be decided again.
    pub(super) next: Option<Timestamp>,
}

/// A placement `p1`, `p2`, ... with this rollout strategy and these configs.
pub(super) fn placement(name: &str, strategy: &Value, configs: Value) -> Value {
    json!({"namespace": "n", "name": name, "rolloutStrategy": strategy, "configs": configs})
}

/// A config of the add-on's kind.
pub(super) fn config(name: &str) -> Value {
    json!({"group": "g", "resource": "r", "namespace": "n", "name": name})
}

/// What a placement selects: a group per word, clusters separated by commas.
pub(super) fn settled(groups: &str) -> Placed {
    let groups = groups.split_whitespace().zip(0..);
    let groups = groups.map(|(clusters, index)| RolloutGroup {
        index,
        name: String::new(),
        clusters: clusters.split(',').map(str::to_owned).collect(),
    });
    Placed {
        groups: groups.collect(),
        clusters_per_group: None,
        state: PlacedState::Settled,
    }
}

impl Play {
    /// An add-on with the default config `d`, on as many clusters, which are all up to date with the hash `0`.
    pub(super) fn new(placements: &[Value], placed: Vec<Placed>, clusters: &[&str]) -> Self {
        let strategy = match placements {
            [] => json!({"type": "Manual"}),
            _ => json!({"type": "Placements", "placements": placements}),
        };
        let mut play = Self {
            add_on: json!({
                "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn",
                "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
                "spec": {"defaultConfigs": [config("d")], "installStrategy": strategy},
            }),
            clusters: clusters
                .iter()
                .map(|it| ((*it).to_owned(), on(it)))
                .collect(),
            placed,
            works: BTreeMap::new(),
            configs: Configs::default(),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            next: None,
        };
        play.settle();
        play.publish("0");
        play.settle();
        for _ in clusters {
            for cluster in clusters {
                play.report(cluster, true);
            }
            play.settle();
            // They soak.
            play.pass(9_999);
            play.settle();
        }
        play
    }

    /// The manager of the add-on writes the hash of all configs.
    pub(super) fn publish(&mut self, hash: &str) {
        let set = |references: &mut Value| {
            for reference in references.as_array_mut().into_iter().flatten() {
                reference["desiredConfig"]["specHash"] = json!(hash);
            }
        };
        let status = &mut self.add_on["status"];
        set(&mut status["defaultConfigReferences"]);
        let progressions = status["installProgressions"].as_array_mut();
        for progression in progressions.into_iter().flatten() {
            set(&mut progression["configReferences"]);
        }
    }

    /// The cluster applies what its ManagedClusterAddOn says, with or without success.
    pub(super) fn report(&mut self, cluster: &str, succeeds: bool) {
        let on = self.on(cluster);
        let work = Work {
            hashes: Some(config_hashes(&on.references)),
            is_ready: succeeds,
            failed: (!succeeds).then(|| "refused".to_owned()),
            ..Work::default()
        };
        self.works.insert(cluster.to_owned(), work);
    }

    /// Time passes.
    pub(super) fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Names a config in the spec of a ManagedClusterAddOn.
    pub(super) fn own_config(&mut self, cluster: &str, name: &str) {
        let object = self.clusters.get_mut(cluster).unwrap();
        object["spec"]["configs"] = json!([config(name)]);
    }

    /// Decides and writes until nothing is due. Returns the number of writes.
    pub(super) fn settle(&mut self) -> usize {
        let mut count = 0;
        for _ in 0..ROUNDS {
            let writes = [self.of_add_on(), self.of_clusters()].concat();
            if writes.is_empty() {
                return count;
            }
            count += writes.len();
            // The add-on's writes were decided first: those that a former one made stale are refused.
            let mut written = BTreeSet::new();
            for write in writes {
                if written.insert(write.target.clone().namespace) {
                    self.write(write);
                }
            }
        }
        panic!("the writes do not last");
    }

    fn now(&self) -> Now {
        Now {
            wall: self.now,
            instant: Instant::now(),
        }
    }

    fn add_on(&self) -> AddOn {
        AddOn::read(&self.add_on.to_string()).unwrap()
    }

    fn on(&self, cluster: &str) -> OnCluster {
        OnCluster::read(&self.clusters[cluster].to_string()).unwrap()
    }

    fn of_add_on(&mut self) -> Vec<Write> {
        let clusters = self.clusters.keys().map(|it| (it.clone(), self.on(it)));
        let works = |cluster: &str| self.works.get(cluster).into_iter().collect();
        let facts = Facts {
            add_on: &self.add_on(),
            placed: &self.placed,
            clusters: &clusters.collect(),
            works: &works,
            configs: &self.configs,
            grace: GRACE.missing,
        };
        let decision = decide(&facts, self.now());
        self.next = decision.next;
        decision.writes
    }

    fn of_clusters(&self) -> Vec<Write> {
        let add_on = self.add_on();
        let writes = self.clusters.keys().flat_map(|cluster| {
            let facts = install::Facts {
                add_on: &add_on,
                cluster,
                annotations: None,
                selection: Selection::InDoubt,
                since: Duration::ZERO,
                existing: Some(&self.on(cluster)),
            };
            let works = self.works.get(cluster).into_iter();
            match cluster::decide(&facts, works, None, GRACE, self.now()) {
                cluster::Due::Plan(plan) => plan.writes,
                cluster::Due::Make(_) => panic!("there is no template"),
            }
        });
        writes.collect()
    }

    fn write(&mut self, write: Write) {
        let Action::Patch { body, .. } = write.action else {
            panic!("{write:?}");
        };
        let object = match &write.target.namespace {
            Some(cluster) => self.clusters.get_mut(cluster).unwrap(),
            None => &mut self.add_on,
        };
        json_patch::merge(object, &body);
    }

    /// The clusters with a hash of their config, as `c1=0 c2=1`; `?` while they wait.
    pub(super) fn hashes(&self) -> String {
        let shown = self.clusters.keys().map(|cluster| {
            let on = self.on(cluster);
            let hash = on
                .references
                .first()
                .and_then(|it| it.desired_config.as_ref());
            let hash = hash.map_or("-", |it| &it.spec_hash);
            let configured = self.condition(cluster, "Configured");
            let waits = if configured.starts_with("False") {
                "?"
            } else {
                ""
            };
            format!("{cluster}={hash}{waits}")
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// The name of the config of a cluster.
    pub(super) fn config_of(&self, cluster: &str) -> String {
        let on = self.on(cluster);
        let config = on
            .references
            .first()
            .and_then(|it| it.desired_config.clone());
        config.unwrap_or_default().name
    }

    /// Status and reason of a condition of a ManagedClusterAddOn.
    pub(super) fn condition(&self, cluster: &str, type_: &str) -> String {
        let on = self.on(cluster);
        let found = on.conditions.iter().find(|it| it.type_ == type_);
        found.map_or(String::new(), |it| format!("{} {}", it.status, it.reason))
    }

    /// Reason and message of a placement's progression.
    pub(super) fn said(&self, index: usize) -> String {
        let add_on = self.add_on();
        let progression = &add_on.status.install_progressions[index];
        let [condition] = &progression.conditions[..] else {
            return String::new();
        };
        format!("{}: {}", condition.reason, condition.message)
    }

    /// The hash that a placement's progression reports as applied everywhere.
    pub(super) fn applied(&self, index: usize) -> String {
        let add_on = self.add_on();
        let reference = &add_on.status.install_progressions[index].config_references[0];
        assert_eq!(
            reference.last_applied_config,
            reference.last_known_good_config
        );
        reference
            .last_applied_config
            .clone()
            .unwrap_or_default()
            .spec_hash
    }
}

fn on(cluster: &str) -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "a", "namespace": cluster, "uid": format!("m-{cluster}"), "resourceVersion": "1"},
        "spec": {},
        "status": {
            "supportedConfigs": [{"group": "g", "resource": "r"}],
            "conditions": [{
                "type": "ManifestApplied", "status": "True", "reason": "AddonManifestApplied", "message": "",
                "lastTransitionTime": "2025-01-01T00:00:00Z",
            }],
        },
    })
}
