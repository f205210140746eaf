//! The writes that bring the slices of a placement to what is wanted.
//!
//! # Guarantees
//! - No write removes a cluster that stays selected from the only slice that lists it. So a watcher of the slices sees such a cluster at
//!   any time, whatever the order of the writes, and if the process is killed between any two of them.
//! - A write with an unknown outcome may be carried out later without harm: see [`crate::doubt`].
//! - No slice ever lists more than 100 clusters, which the schema forbids.
//! - What is stored as it is wanted is not written. Objects that another object controls are never written.

use std::collections::{BTreeMap, HashSet};

use berth_api::inventory::{
    DECISION_INDEX, DECISION_KEY, MANAGER, OPEN_CLUSTER_MANAGEMENT, PLACEMENT_KEY,
};
use berth_api::names::label_value;
use berth_api::plan::{Action, Plan, Target, Write};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::layout::{LIMIT, Layout, Place};
use super::slice::SliceFacts;
use crate::decide::{Step, precondition};
use crate::facts::Owner;
use crate::kinds::Kind;

/// The name of the reconciler, in metrics and logs.
const NAME: &str = "sig_placement_decisions";

/// What is planned for the slices of a placement.
pub(crate) struct DueSlices<'a> {
    pub(crate) owner: Owner<'a>,
    /// The selected clusters, in their order.
    pub(crate) wanted: &'a [&'a str],
    /// The slices of the placement's namespace.
    pub(crate) stored: &'a BTreeMap<String, SliceFacts>,
}

/// The clusters of a slice that it keeps for now.
struct Kept<'a> {
    /// Those that are to stay, in their order.
    own: Vec<&'a str>,
    /// Those of other slices that are not surely listed there yet.
    waiting: Vec<&'a str>,
}

/// The clusters that the body of a write leaves in a slice. `None` if it does not write them.
pub(crate) fn clusters_in(body: &Value) -> Option<HashSet<String>> {
    let listed = body["decisions"].as_array()?.iter();
    let names = listed.filter_map(|it| it["clusterProfileRef"]["name"].as_str());
    Some(names.map(str::to_owned).collect())
}

// === impl DueSlices ===

impl DueSlices<'_> {
    /// The writes of a step.
    pub(crate) fn plan(&self, step: Step<'_>, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        // The labels cannot have the name. The placement's status says so.
        if !label_value(self.owner.name).is_empty() {
            return plan;
        }
        let layout = Layout::new(self.owner, self.wanted, self.stored);
        if step == Step::Next {
            plan.writes = self.additions(&layout, now);
        }
        if plan.writes.is_empty() {
            plan.writes = self.removals(&layout, now);
        }
        plan
    }

    /// New slices, labels, owners, and clusters that are not listed where they belong.
    fn additions(&self, layout: &Layout<'_>, now: Timestamp) -> Vec<Write> {
        let writes = layout
            .places
            .iter()
            .enumerate()
            .filter_map(|(index, place)| {
                let Some(stored) = place.stored else {
                    return Some(self.create(index, place));
                };
                let kept = self.kept(layout, Some(index), stored, now);
                let own: HashSet<_> = kept.own.iter().collect();
                let mut room = 0..LIMIT.saturating_sub(kept.own.len() + kept.waiting.len());
                let mut clusters = place.clusters.clone();
                clusters.retain(|it| own.contains(it) || room.next().is_some());
                let metadata = self.metadata(index, stored);
                if metadata.is_empty() && clusters.len() == kept.own.len() {
                    return None;
                }
                clusters.extend(&kept.waiting);
                Some(self.patch(stored, metadata, &clusters))
            });
        writes.collect()
    }

    /// Clusters that are listed where they do not belong, and slices that are not needed.
    fn removals(&self, layout: &Layout<'_>, now: Timestamp) -> Vec<Write> {
        let places = layout.places.iter().enumerate();
        let places = places.filter_map(|(index, place)| Some((Some(index), place.stored?)));
        let others = layout.others.iter().filter(|it| !it.is_deleting);
        let others = others.map(|stored| (None, *stored));
        let writes = places.chain(others).filter_map(|(index, stored)| {
            let kept = self.kept(layout, index, stored, now);
            if index.is_none() && kept.waiting.is_empty() {
                return Some(self.delete(stored));
            }
            let clusters = [&kept.own[..], &kept.waiting].concat();
            // The order counts when no cluster waits any more.
            let is_same = if kept.waiting.is_empty() {
                clusters == stored.clusters
            } else {
                clusters.len() == stored.clusters.len()
            };
            (!is_same || !stored.is_exact).then(|| self.patch(stored, Map::new(), &clusters))
        });
        writes.collect()
    }

    /// The clusters that a slice keeps until all others are complete. `index`: its place; `None` if it is not needed.
    fn kept<'a>(
        &self,
        layout: &Layout<'a>,
        index: Option<usize>,
        stored: &'a SliceFacts,
        now: Timestamp,
    ) -> Kept<'a> {
        let listed: HashSet<_> = stored.clusters.iter().map(String::as_str).collect();
        let place = index.and_then(|index| layout.places.get(index));
        let own = place.into_iter().flat_map(|place| &place.clusters);
        let own = own.copied().filter(|name| listed.contains(name));
        let is_there = |name: &str, there: usize| {
            let stored = layout.places[there].stored;
            let labels = self.labels(there);
            stored.is_some_and(|it| it.surely_lists(name, now) && it.is_labelled(&labels))
        };
        let waiting = listed.iter().copied().filter(|name| {
            let there = layout.place_of.get(name).copied();
            there.is_some_and(|there| index != Some(there) && !is_there(name, there))
        });
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_unstable();
        Kept {
            own: own.collect(),
            waiting,
        }
    }

    fn labels(&self, index: usize) -> BTreeMap<&'static str, String> {
        let placement = || self.owner.name.to_owned();
        BTreeMap::from([
            (MANAGER, OPEN_CLUSTER_MANAGEMENT.to_owned()),
            (PLACEMENT_KEY, placement()),
            (DECISION_KEY, placement()),
            (DECISION_INDEX, index.to_string()),
        ])
    }

    /// The labels and the owner, if they are not as they should be. Other labels and owners stay.
    fn metadata(&self, index: usize, stored: &SliceFacts) -> Map<String, Value> {
        let mut metadata = Map::new();
        let labels = self.labels(index);
        if !stored.is_labelled(&labels) {
            metadata.insert("labels".to_owned(), json!(labels));
        }
        if stored.controller().is_none() {
            let others = stored.owners.iter().filter(|it| it.uid != self.owner.uid);
            let owners: Vec<_> = others.cloned().chain([self.owner.reference()]).collect();
            metadata.insert("ownerReferences".to_owned(), json!(owners));
        }
        metadata
    }

    fn create(&self, index: usize, place: &Place<'_>) -> Write {
        let body = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "PlacementDecision",
            "metadata": {
                "name": place.name,
                "namespace": self.owner.namespace,
                "labels": self.labels(index),
                "ownerReferences": [self.owner.reference()],
            },
            "decisions": self.decisions(&place.clusters),
            "schedulerName": OPEN_CLUSTER_MANAGEMENT,
        });
        self.write(&place.name, Action::Create { body })
    }

    fn patch(
        &self,
        stored: &SliceFacts,
        mut metadata: Map<String, Value>,
        clusters: &[&str],
    ) -> Write {
        metadata.extend(precondition(&stored.uid, &stored.resource_version));
        let body = json!({
            "metadata": metadata,
            "decisions": self.decisions(clusters),
            "schedulerName": OPEN_CLUSTER_MANAGEMENT,
        });
        let patch = Action::Patch {
            subresource: None,
            body,
        };
        self.write(&stored.name, patch)
    }

    fn delete(&self, stored: &SliceFacts) -> Write {
        let delete = Action::Delete {
            uid: stored.uid.clone(),
            resource_version: Some(stored.resource_version.clone()),
            why: "its clusters are not selected any more, or are listed in another PlacementDecision",
        };
        self.write(&stored.name, delete)
    }

    fn decisions(&self, clusters: &[&str]) -> Vec<Value> {
        let decisions = clusters.iter().map(
            |name| json!({"clusterProfileRef": {"name": name, "namespace": self.owner.namespace}}),
        );
        decisions.collect()
    }

    fn write(&self, name: &str, action: Action) -> Write {
        Write {
            target: Target {
                resource: Kind::Slice.resource(),
                namespace: Some(self.owner.namespace.to_owned()),
                name: name.to_owned(),
            },
            action,
            reconciler: NAME,
            events: Vec::new(),
        }
    }
}
