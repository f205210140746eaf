//! The writes, carried out on a model of the hub: one at a time, in any order, as a watcher sees them. A slice lists at most three
//! clusters here.

mod laws;
mod layouts;

use std::collections::{BTreeMap, BTreeSet};

use berth_api::inventory::PlacementDecision;
use berth_api::plan::{Action, Write};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{DueSlices, SliceFacts};
use crate::decide::Step;
use crate::doubt::Removal;
use crate::facts::{Doubt, Owner};

/// A namespace with slices of a placement `p`, as an API server stores them.
#[derive(Clone, Debug, Default)]
struct Model {
    slices: BTreeMap<String, Value>,
    version: u64,
    /// By slice.
    doubts: BTreeMap<String, Doubt>,
}

// === impl Model ===

impl Model {
    /// Adds a slice as this controller writes it.
    fn slice(mut self, number: usize, index: usize, clusters: &str) -> Self {
        self.version += 1;
        let name = format!("p-decision-{number}");
        let object = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "PlacementDecision",
            "metadata": {
                "name": name, "namespace": "ns", "uid": format!("uid-{}", self.version),
                "resourceVersion": self.version.to_string(),
                "labels": labels(index),
                "ownerReferences": [reference()],
            },
            "decisions": decisions(clusters),
            "schedulerName": "open-cluster-management",
        });
        self.slices.insert(name, object);
        self
    }

    /// Changes a slice.
    fn with(mut self, number: usize, patch: Value) -> Self {
        let name = format!("p-decision-{number}");
        json_patch::merge(self.slices.get_mut(&name).expect("a slice"), &patch);
        self
    }

    /// What the controller keeps of the slices.
    fn facts(&self) -> BTreeMap<String, SliceFacts> {
        let slices = self.slices.iter().map(|(name, object)| {
            let object = serde_json::from_value::<PlacementDecision>(object.clone());
            let mut facts = SliceFacts::from(object.expect("a PlacementDecision"));
            facts.doubt = self.doubts.get(name).cloned();
            (name.clone(), facts)
        });
        slices.collect()
    }

    fn plan(&self, wanted: &[&str], step: Step<'_>, now: Timestamp) -> Vec<Write> {
        let due = DueSlices {
            owner: owner(),
            wanted,
            stored: &self.facts(),
        };
        due.plan(step, now).writes
    }

    /// Carries out a write, as an API server does. Returns whether the preconditions hold.
    fn carry_out(&mut self, write: &Write) -> bool {
        let name = &write.target.name;
        let has = |model: &Self, uid: &Value, version: &Value| {
            let metadata = model.slices.get(name).map(|it| &it["metadata"]);
            metadata.is_some_and(|it| it["uid"] == *uid && it["resourceVersion"] == *version)
        };
        self.version += 1;
        let version = self.version.to_string();
        match &write.action {
            Action::Create { body } => {
                if self.slices.contains_key(name) {
                    return false;
                }
                let mut object = body.clone();
                object["metadata"]["uid"] = json!(format!("uid-{version}"));
                object["metadata"]["resourceVersion"] = json!(version);
                self.slices.insert(name.clone(), object);
            }
            Action::Patch { subresource, body } => {
                assert_eq!(*subresource, None);
                let metadata = &body["metadata"];
                if !has(self, &metadata["uid"], &metadata["resourceVersion"]) {
                    return false;
                }
                let object = self.slices.get_mut(name).expect("it exists");
                json_patch::merge(object, body);
                object["metadata"]["resourceVersion"] = json!(version);
            }
            Action::Delete {
                uid,
                resource_version,
                ..
            } => {
                if !has(self, &json!(uid), &json!(resource_version)) {
                    return false;
                }
                self.slices.remove(name);
            }
            other => panic!("{other:?}"),
        }
        // A later state of the object has no doubt.
        self.doubts.remove(name);
        if let Some(object) = self.slices.get(name) {
            let listed = object["decisions"].as_array().expect("a list").len();
            assert!(listed <= super::layout::LIMIT, "{object}");
        }
        true
    }

    /// Loses the response to a write: its outcome is unknown.
    fn lose(&mut self, write: &Write, now: Timestamp) {
        let facts = self.facts();
        if let (Some(removal), Some(slice)) = (Removal::of(write), facts.get(&write.target.name)) {
            let doubt = Doubt::new(&slice.clusters, &removal, now);
            self.doubts.insert(slice.name.clone(), doubt);
        }
    }

    /// Writes until nothing is due. Returns the writes, as text, round by round.
    fn settle(&mut self, wanted: &[&str]) -> Vec<Vec<String>> {
        let mut rounds = Vec::new();
        for _ in 0..berth_reconcile::ROUNDS {
            let writes = self.plan(wanted, Step::Next, now());
            if writes.is_empty() {
                return rounds;
            }
            rounds.push(writes.iter().map(text).collect());
            for write in &writes {
                assert!(self.carry_out(write), "{write:?}");
            }
        }
        panic!("it does not settle: {rounds:#?}");
    }

    /// The slices that are the placement's, by its labels, unless another object controls them.
    fn own(&self) -> impl Iterator<Item = &Value> {
        self.slices.values().filter(|object| {
            let metadata = &object["metadata"];
            let controller = &metadata["ownerReferences"][0]["uid"];
            let label = |key: &str| metadata["labels"][key].as_str();
            label("multicluster.x-k8s.io/decision-key") == Some("p")
                && label("multicluster.x-k8s.io/placement-key") == Some("p")
                && label("x-k8s.io/cluster-manager") == Some("open-cluster-management")
                && (controller.is_null() || controller == "p-uid")
        })
    }

    /// All clusters that a watcher of the placement sees.
    fn seen(&self) -> BTreeSet<String> {
        self.own().flat_map(clusters_of).collect()
    }

    /// The slices as `number: index clusters`.
    fn slices(&self) -> Vec<String> {
        let slices = self.slices.iter().map(|(name, object)| {
            let number = name.rsplit('-').next().expect("a part");
            format!(
                "{number}: {} {}",
                index_of(object),
                clusters_of(object).join(" ")
            )
        });
        slices.collect()
    }
}

fn owner() -> Owner<'static> {
    Owner {
        namespace: "ns",
        name: "p",
        uid: "p-uid",
    }
}

fn reference() -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "p",
        "uid": "p-uid", "controller": true, "blockOwnerDeletion": true,
    })
}

fn labels(index: usize) -> Value {
    json!({
        "x-k8s.io/cluster-manager": "open-cluster-management",
        "multicluster.x-k8s.io/placement-key": "p",
        "multicluster.x-k8s.io/decision-key": "p",
        "multicluster.x-k8s.io/decision-index": index.to_string(),
    })
}

fn decisions(clusters: &str) -> Value {
    let clusters = clusters.split_whitespace();
    let refs = clusters.map(|it| json!({"clusterProfileRef": {"name": it, "namespace": "ns"}}));
    Value::Array(refs.collect())
}

fn index_of(object: &Value) -> &str {
    let label = &object["metadata"]["labels"]["multicluster.x-k8s.io/decision-index"];
    label.as_str().unwrap_or("-")
}

fn clusters_of(object: &Value) -> Vec<String> {
    let listed = object["decisions"].as_array().expect("a list").iter();
    let names = listed.filter_map(|it| it["clusterProfileRef"]["name"].as_str());
    names.map(str::to_owned).collect()
}

fn now() -> Timestamp {
    "2026-08-11T12:00:00Z".parse().expect("a time")
}

/// A write, as text.
fn text(write: &Write) -> String {
    let name = &write.target.name;
    let number = name.rsplit('-').next().expect("a part");
    match &write.action {
        Action::Create { body } => {
            format!(
                "create {number}: {} {}",
                index_of(body),
                clusters_of(body).join(" ")
            )
        }
        Action::Patch { body, .. } => {
            let labelled = if body["metadata"]["labels"].is_object() {
                format!(" {}", index_of(body))
            } else {
                String::new()
            };
            format!("patch {number}:{labelled} {}", clusters_of(body).join(" "))
        }
        Action::Delete { .. } => format!("delete {number}"),
        other => format!("{other:?}"),
    }
}
