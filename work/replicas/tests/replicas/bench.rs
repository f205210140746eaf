//! A hub that carries out decisions.

use std::collections::{BTreeMap, BTreeSet};

use berth_rollout::RolloutGroup;
use berth_work_replicas::{Change, Facts, FailedChange, Placed, ReplicaSet, Work, decide};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Map, Value, json};

const SET: &str = "work.open-cluster-management.io/manifestworkreplicaset";
const PLACEMENT: &str = "work.open-cluster-management.io/placementname";

/// A hub with the replica set `ns/set`, and its ManifestWorks.
#[derive(Clone)]
pub struct Hub {
    pub set: Value,
    /// The ManifestWorks, by cluster and name.
    pub works: BTreeMap<(String, String), Value>,
    pub placed: BTreeMap<String, Placed>,
    pub taken: BTreeSet<String>,
    pub failures: Vec<FailedChange>,
    pub now: Timestamp,
    /// The time of the next decision.
    pub next: Option<Timestamp>,
    events: Vec<String>,
    uids: u32,
}

pub fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

// === impl Hub ===

impl Hub {
    /// A replica set of these placements, with the finalizer. `strategy` is that of each.
    pub fn new(placements: &[&str], strategy: &Value) -> Self {
        let refs = placements
            .iter()
            .map(|name| json!({"name": name, "rolloutStrategy": strategy}));
        Self {
            set: json!({
                "metadata": {
                    "name": "set", "namespace": "ns", "uid": "s", "resourceVersion": "1", "generation": 1,
                    "finalizers": ["work.open-cluster-management.io/manifest-work-cleanup"],
                },
                "spec": {
                    "placementRefs": refs.collect::<Vec<_>>(),
                    "manifestWorkTemplate": {"workload": {"manifests": [{"kind": "ConfigMap", "version": 1}]}},
                },
            }),
            works: BTreeMap::new(),
            placed: placements
                .iter()
                .map(|it| ((*it).to_owned(), Placed::default()))
                .collect(),
            taken: BTreeSet::new(),
            failures: Vec::new(),
            now: start(),
            next: None,
            events: Vec::new(),
            uids: 0,
        }
    }

    /// Has a placement select these clusters, in one group.
    pub fn select(&mut self, placement: &str, clusters: &[&str]) {
        let clusters = clusters.iter().map(|it| (*it).to_owned()).collect();
        let groups = vec![RolloutGroup {
            clusters,
            ..RolloutGroup::default()
        }];
        let placed = Placed {
            groups,
            ..Placed::default()
        };
        self.placed.insert(placement.to_owned(), placed);
    }

    /// Changes the template.
    pub fn template(&mut self, version: u32) {
        let manifests = json!([{"kind": "ConfigMap", "version": version}]);
        self.set["spec"]["manifestWorkTemplate"]["workload"]["manifests"] = manifests;
    }

    pub fn after(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Makes one decision, and carries out the first `most` changes. Returns how many there were.
    pub fn step(&mut self, most: usize) -> usize {
        let set = ReplicaSet::read(&self.set.to_string()).unwrap();
        let works = self.works.iter().filter_map(|(at, work)| {
            let work = Work::read(&work.to_string()).unwrap()?;
            Some((at.clone(), work))
        });
        let works = works.collect();
        let (placed, taken, failures) = (
            self.placed.clone(),
            self.taken.clone(),
            self.failures.clone(),
        );
        let facts = Facts {
            set: &set,
            placed: &placed,
            works: &works,
            taken: &taken,
            failures: &failures,
        };
        let decision = decide(&facts, self.now);
        let count = decision.changes.len();
        for change in decision.changes.iter().take(most) {
            self.carry_out(&set, change);
        }
        if count == 0 {
            let has_changed = self.set["status"] != json!(decision.status);
            assert!(
                has_changed || decision.events.is_empty(),
                "an Event without a write"
            );
            self.set["status"] = json!(decision.status);
            let events = decision.events.iter();
            self.events.extend(events.map(|it| {
                let type_ = if it.warning { "Warning" } else { "Normal" };
                format!("{type_} {}: {}", it.reason, it.note)
            }));
        }
        self.next = decision.next;
        count
    }

    /// Decides and carries out until nothing is due. Returns the number of changes.
    pub fn settle(&mut self) -> usize {
        let mut changes = 0;
        for _ in 0..20 {
            match self.step(usize::MAX) {
                0 => return changes,
                count => changes += count,
            }
        }
        panic!("it does not settle");
    }

    fn carry_out(&mut self, set: &ReplicaSet, change: &Change<'_>) {
        if let Some(finalizers) = change.finalizers(set) {
            self.set["metadata"]["finalizers"] = json!(finalizers);
            return;
        }
        let (cluster, name) = change.work().unwrap();
        let at = (cluster.to_owned(), name.to_owned());
        let body = change
            .body(set)
            .map(|it| serde_json::from_str::<Value>(&it).unwrap());
        match change {
            Change::Create { .. } => {
                assert!(!self.works.contains_key(&at), "{at:?} exists");
                self.uids += 1;
                let mut work = body.unwrap();
                work["metadata"]["uid"] = json!(self.uids.to_string());
                work["metadata"]["generation"] = json!(1);
                self.works.insert(at.clone(), work);
                self.wrote(&at);
            }
            Change::Update { .. } => {
                let work = self.works.get_mut(&at).unwrap();
                let before = work["spec"].clone();
                json_patch::merge(work, &body.unwrap());
                if work["spec"] != before {
                    let generation = work["metadata"]["generation"].as_i64().unwrap();
                    work["metadata"]["generation"] = json!(generation + 1);
                }
                self.wrote(&at);
            }
            Change::Delete { .. } => {
                let work = self.works.get_mut(&at).unwrap();
                if work["metadata"]["finalizers"].is_array() {
                    work["metadata"]["deletionTimestamp"] = json!(self.now);
                } else {
                    self.works.remove(&at);
                }
            }
            Change::AddFinalizer | Change::RemoveFinalizer => unreachable!(),
        }
    }

    /// Notes the controller as the manager of all labels that are not `theirs/...`.
    fn wrote(&mut self, at: &(String, String)) {
        let metadata = &mut self.works.get_mut(at).unwrap()["metadata"];
        let labels = metadata["labels"].as_object().unwrap().keys();
        let own = labels.filter(|it| !it.starts_with("theirs/"));
        let own: Map<_, _> = own.map(|it| (format!("f:{it}"), json!({}))).collect();
        metadata["managedFields"] = json!([{
            "manager": "any", "operation": "Update", "time": self.now,
            "fieldsV1": {"f:metadata": {"f:labels": own}},
        }]);
    }

    /// Reports conditions of the ManifestWorks in a cluster, at their generation: `A+` is Applied True, `P-` Progressing False. As the agent
    /// does, keeps the time of a condition whose status is the same.
    pub fn report(&mut self, cluster: &str, conditions: &str) {
        let now = self.now;
        for ((namespace, _), work) in &mut self.works {
            if namespace != cluster {
                continue;
            }
            let generation = work["metadata"]["generation"].clone();
            let stored = work["status"]["conditions"].as_array().cloned();
            let stored = stored.unwrap_or_default();
            let reported = conditions.split_whitespace().map(|it| {
                let (type_, status) = it.split_at(1);
                let type_ = match type_ {
                    "A" => "Applied",
                    "V" => "Available",
                    "P" => "Progressing",
                    "D" => "Degraded",
                    other => panic!("{other}"),
                };
                let status = match status {
                    "+" => "True",
                    "-" => "False",
                    _ => "Unknown",
                };
                let same = |it: &&Value| it["type"] == type_ && it["status"] == status;
                let same = stored.iter().find(same);
                let since = same.map_or(json!(now), |it| it["lastTransitionTime"].clone());
                json!({
                    "type": type_, "status": status, "reason": "R", "message": "",
                    "observedGeneration": generation, "lastTransitionTime": since,
                })
            });
            work["status"] = json!({"conditions": reported.collect::<Vec<_>>()});
        }
    }

    /// Adds a ManifestWork with the labels of the replica set, as OCM makes it.
    pub fn add(&mut self, cluster: &str, name: &str, placement: &str) {
        let spec = self.set["spec"]["manifestWorkTemplate"].clone();
        self.uids += 1;
        let work = json!({
            "metadata": {
                "name": name, "namespace": cluster, "uid": self.uids.to_string(), "generation": 1,
                "labels": {SET: "ns.set", PLACEMENT: placement},
            },
            "spec": spec,
        });
        self.works
            .insert((cluster.to_owned(), name.to_owned()), work);
    }

    /// A ManifestWork.
    pub fn work(&mut self, cluster: &str, name: &str) -> &mut Value {
        let at = (cluster.to_owned(), name.to_owned());
        self.works.get_mut(&at).unwrap()
    }

    /// The ManifestWorks as `cluster/name`, with `=` if they have the template and `x` if they are being deleted.
    pub fn made(&self) -> String {
        let template = &self.set["spec"]["manifestWorkTemplate"];
        let made = self.works.iter().map(|((cluster, name), work)| {
            let is = if work["metadata"]["deletionTimestamp"].is_string() {
                "x"
            } else if work["spec"] == *template {
                "="
            } else {
                ""
            };
            format!("{cluster}/{name}{is}")
        });
        made.collect::<Vec<_>>().join(" ")
    }

    /// The clusters whose ManifestWorks have the template.
    pub fn current(&self) -> String {
        let made = self.made();
        let current = made.split(' ').filter(|it| it.ends_with('='));
        let clusters = current.filter_map(|it| it.split('/').next());
        clusters.collect::<Vec<_>>().join(" ")
    }

    /// The Events since the last call, as type, reason and note.
    pub fn events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events)
    }

    /// A condition as status, reason and message.
    pub fn condition(&self, type_: &str) -> String {
        let conditions = &self.set["status"]["conditions"];
        let conditions: Vec<Condition> =
            serde_json::from_value(conditions.clone()).unwrap_or_default();
        let found = conditions.iter().find(|it| it.type_ == type_);
        found.map_or_else(String::new, |it| {
            format!("{} {}: {}", it.status, it.reason, it.message)
        })
    }
}
