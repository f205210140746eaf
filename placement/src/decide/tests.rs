//! The writes, carried out on a model of the hub: one at a time, in any order, as a watcher sees them.

mod doubts;
mod laws;
mod layouts;
mod scores;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use berth_api::plan::{Action, Plan, Write};
use berth_api::{Now, Placement, PlacementDecision};
use berth_placement_core::{ConditionValue, Conditions, Counts, Gates, Settings};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Due, Step};
use crate::doubt::Removal;
use crate::facts::{DecisionFacts, Doubt, PlacementFacts};
use crate::wanted::{Wanted, WantedClusters, WantedGroup};

/// A namespace with one placement `p`, as an API server stores it.
#[derive(Clone, Debug)]
struct Model {
    placement: Value,
    decisions: BTreeMap<String, Value>,
    version: u64,
    /// By PlacementDecision.
    doubts: BTreeMap<String, Doubt>,
    /// The gate `scores`.
    has_scores: bool,
    now: Timestamp,
}

// === impl Model ===

impl Model {
    fn new() -> Self {
        Self::named("p")
    }

    fn named(name: &str) -> Self {
        let metadata =
            json!({"name": name, "namespace": "ns", "uid": "p-uid", "resourceVersion": "1"});
        Self {
            placement: json!({"metadata": metadata, "spec": {}}),
            decisions: BTreeMap::new(),
            version: 1,
            doubts: BTreeMap::new(),
            has_scores: false,
            now: now(),
        }
    }

    /// With the gate `scores`.
    fn scoring(self) -> Self {
        Self {
            has_scores: true,
            ..self
        }
    }

    /// Adds a PlacementDecision as OCM's controller writes it.
    fn decision(mut self, number: usize, (index, group): (usize, &str), clusters: &[&str]) -> Self {
        self.version += 1;
        let name = format!("p-decision-{number}");
        let listed = clusters.iter();
        let listed: Vec<_> = listed
            .map(|it| json!({"clusterName": it, "reason": ""}))
            .collect();
        let object = json!({
            "metadata": {
                "name": name, "namespace": "ns", "uid": format!("uid-{}", self.version),
                "resourceVersion": self.version.to_string(),
                "labels": {
                    "cluster.open-cluster-management.io/placement": "p",
                    "cluster.open-cluster-management.io/decision-group-index": index.to_string(),
                    "cluster.open-cluster-management.io/decision-group-name": group,
                },
                "ownerReferences": [{
                    "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "p",
                    "uid": "p-uid", "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "status": {"decisions": listed},
        });
        self.decisions.insert(name, object);
        self
    }

    /// Changes a PlacementDecision.
    fn with(mut self, name: &str, patch: Value) -> Self {
        json_patch::merge(self.decisions.get_mut(name).expect(name), &patch);
        self
    }

    fn plan(&self, wanted: &Wanted, step: Step<'_>) -> Vec<Write> {
        self.plan_at(wanted, step, self.now)
    }

    fn plan_at(&self, wanted: &Wanted, step: Step<'_>, now: Timestamp) -> Vec<Write> {
        let instant = Instant::now();
        self.plan_with_timer(wanted, step, Now { instant, wall: now })
            .writes
    }

    fn plan_with_timer(&self, wanted: &Wanted, step: Step<'_>, now: Now) -> Plan {
        let placement: Placement =
            serde_json::from_value(self.placement.clone()).expect("a Placement");
        let settings = Settings {
            gates: Gates {
                scores: self.has_scores,
                ..Gates::default()
            },
            ..Settings::default()
        };
        let placement = PlacementFacts::new(placement, settings);
        let decisions = self.facts();
        let due = Due {
            placement: &placement,
            wanted,
            decisions: &decisions,
        };
        due.plan(step, now)
    }

    /// The PlacementDecisions, as the controller sees them.
    fn facts(&self) -> BTreeMap<String, DecisionFacts> {
        let decisions = self.decisions.iter().map(|(name, object)| {
            let object = serde_json::from_value::<PlacementDecision>(object.clone());
            let mut facts =
                DecisionFacts::new(object.expect("a PlacementDecision"), self.has_scores);
            facts.doubt = self.doubts.get(name).cloned();
            (name.clone(), facts)
        });
        decisions.collect()
    }

    /// Carries out a write, as an API server does.
    fn carry_out(&mut self, write: &Write) {
        self.version += 1;
        let name = &write.target.name;
        match &write.action {
            Action::Create { body } => {
                let mut object = body.clone();
                object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                assert!(
                    self.decisions.insert(name.clone(), object).is_none(),
                    "{name} exists"
                );
            }
            Action::Patch { subresource, body } => {
                let is_placement = write.target.resource.resource == "placements";
                let object = if is_placement {
                    &mut self.placement
                } else {
                    self.decisions.get_mut(name).expect(name)
                };
                for field in ["uid", "resourceVersion"] {
                    assert_eq!(body["metadata"][field], object["metadata"][field], "{name}");
                }
                assert_eq!(
                    subresource.is_some(),
                    body.get("status").is_some(),
                    "{body}"
                );
                json_patch::merge(object, body);
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            }
            Action::Delete {
                uid,
                resource_version,
                ..
            } => {
                let object = self.decisions.remove(name).expect(name);
                assert_eq!(object["metadata"]["uid"], **uid);
                let version = json!(resource_version);
                assert_eq!(object["metadata"]["resourceVersion"], version);
            }
            other => panic!("{other:?}"),
        }
    }

    /// Writes until nothing is due. Returns the writes, as text, round by round.
    fn settle(&mut self, wanted: &Wanted) -> Vec<Vec<String>> {
        let mut rounds = Vec::new();
        for _ in 0..berth_reconcile::ROUNDS {
            let writes = self.plan(wanted, Step::Next);
            if writes.is_empty() {
                return rounds;
            }
            rounds.push(writes.iter().map(text).collect());
            for write in &writes {
                self.carry_out(write);
            }
        }
        panic!("it does not settle: {rounds:#?}");
    }

    /// All clusters that a watcher sees.
    fn listed(&self) -> BTreeSet<String> {
        self.decisions
            .keys()
            .flat_map(|name| self.clusters(name))
            .collect()
    }

    /// The clusters that a consumer of decision groups sees, as OCM's does: it walks as many indexes from 0 on as there are different
    /// ones. Of two names for an index it sees either. `None` if an index is no number: then it does nothing.
    fn seen(&self) -> Option<BTreeSet<String>> {
        let mut groups: BTreeMap<usize, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (name, object) in &self.decisions {
            let label = |key: &str| {
                let key = format!("cluster.open-cluster-management.io/{key}");
                object["metadata"]["labels"][key].as_str()
            };
            if label("placement") != Some("p") {
                continue;
            }
            let index = label("decision-group-index")?.parse().ok()?;
            let group = label("decision-group-name").unwrap_or_default();
            let group = groups.entry(index).or_default().entry(group.to_owned());
            group.or_default().extend(self.clusters(name));
        }
        let walked = (0..groups.len()).filter_map(|index| groups.get(&index));
        let sure = walked.map(|names| {
            let mut names = names.values().cloned();
            let first = names.next().unwrap_or_default();
            names.fold(first, |both, name| &both & &name)
        });
        Some(sure.flatten().collect())
    }

    /// The clusters in PlacementDecisions of the placement.
    fn own_listed(&self) -> BTreeSet<String> {
        let own = self.decisions.iter().filter(|(_, object)| {
            let metadata = &object["metadata"];
            let label = &metadata["labels"]["cluster.open-cluster-management.io/placement"];
            *label == "p" || metadata["ownerReferences"][0]["uid"] == "p-uid"
        });
        own.flat_map(|(name, _)| self.clusters(name)).collect()
    }

    /// The clusters of a PlacementDecision.
    fn clusters(&self, name: &str) -> Vec<String> {
        let listed = self.decisions[name]["status"]["decisions"].as_array();
        let listed = listed.into_iter().flatten();
        listed
            .map(|it| it["clusterName"].as_str().expect("a name").to_owned())
            .collect()
    }

    /// The PlacementDecisions as `number index/group clusters`.
    fn layout(&self) -> Vec<String> {
        let layout = self.decisions.iter().map(|(name, object)| {
            let label = |key: &str| {
                let key = format!("cluster.open-cluster-management.io/decision-group-{key}");
                object["metadata"]["labels"][key]
                    .as_str()
                    .unwrap_or("-")
                    .to_owned()
            };
            let number = name.rsplit('-').next().expect("a part");
            let (index, group) = (label("index"), label("name"));
            format!("{number} {index}/{group} {}", self.clusters(name).join(" "))
        });
        layout.collect()
    }
}

/// What is wanted: groups, each `name:cluster cluster`.
fn wanted(groups: &[&str]) -> Wanted {
    let groups = groups.iter().map(|group| {
        let (name, clusters) = group.split_once(':').expect("a colon");
        WantedGroup {
            name: name.to_owned(),
            clusters: clusters.split_whitespace().map(str::to_owned).collect(),
        }
    });
    wants(WantedClusters::Groups(groups.collect()))
}

/// The clusters that are kept although the placement cannot be evaluated.
fn kept(clusters: &str) -> Wanted {
    wants(WantedClusters::Kept(
        clusters.split_whitespace().map(str::to_owned).collect(),
    ))
}

fn wants(clusters: WantedClusters) -> Wanted {
    let condition = |type_| ConditionValue {
        type_,
        status: "True",
        reason: "Because",
        message: String::new(),
        counts: String::new(),
    };
    Wanted {
        clusters,
        conditions: Conditions {
            satisfied: condition("PlacementSatisfied"),
            misconfigured: condition("PlacementMisconfigured"),
        },
        records: HashMap::new(),
        next: None,
        counts: Counts::default(),
        is_unread: false,
    }
}

fn now() -> Timestamp {
    "2026-08-11T12:00:00Z".parse().expect("a time")
}

/// A write, as text.
fn text(write: &Write) -> String {
    let name = &write.target.name;
    match &write.action {
        Action::Create { .. } => format!("create {name}"),
        Action::Delete { .. } => format!("delete {name}"),
        Action::Patch {
            subresource: None, ..
        } => format!("label {name}"),
        Action::Patch { body, .. } => match body["status"]["decisions"].as_array() {
            None => format!("status of {name}"),
            Some(listed) => {
                let listed = listed.iter().filter_map(|it| it["clusterName"].as_str());
                format!("list {name}: {}", listed.collect::<Vec<_>>().join(" "))
            }
        },
        other => format!("{other:?}"),
    }
}
