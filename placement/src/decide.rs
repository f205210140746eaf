//! The writes that bring the PlacementDecisions and the status of a placement to what is wanted.
//!
//! # Guarantees
//! - No write removes a cluster that stays selected from the only PlacementDecision that lists it. So a watcher of PlacementDecisions sees
//!   such a cluster at any time, whatever the order of the writes, and if the process is killed between any two of them.
//! - A write with an unknown outcome may be carried out later without harm: see [`crate::doubt`].
//! - Clusters are added before others are removed, except those that leave the object that is written.
//! - A PlacementDecision gets the labels of its group before it gets clusters.
//! - A consumer that reads the groups from the labels sees such a cluster at any time, too ([`crate::relabel`]).
//! - What is stored as it is wanted is not written.

use std::collections::{BTreeMap, HashMap, HashSet};

use berth_api::conditions::{FALSE, placement as reasons, with_condition};
use berth_api::labels;
use berth_api::names::label_value;
use berth_api::placement::DecisionGroupStatus;
use berth_api::plan::{Action, Plan, Target, Write};
use berth_placement_core::ConditionValue;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference, Time};
use serde_json::{Map, Value, json};

use crate::facts::{DecisionFacts, PlacementFacts};
use crate::kinds::Kind;
use crate::layout::{Layout, Owner, Place};
use crate::relabel::{Label, relabel};
use crate::wanted::Wanted;

/// The name of the reconciler, in metrics and logs.
pub(crate) const NAME: &str = "placements";

/// Which of the writes are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// Those that are due next: additions as long as some are due, then removals and the status.
    Next,
    /// Removals although additions fail, and the reason of the failure in the status, if users should know. What stays selected stays
    /// listed nevertheless.
    Failed(Option<&'a str>),
}

/// What is planned for a placement.
pub(crate) struct Due<'a> {
    pub(crate) placement: &'a PlacementFacts,
    pub(crate) wanted: &'a Wanted,
    /// The PlacementDecisions of the placement's namespace.
    pub(crate) decisions: &'a BTreeMap<String, DecisionFacts>,
}

// === impl Due ===

impl Due<'_> {
    /// The writes of a step.
    pub(crate) fn plan(&self, step: Step<'_>, now: Timestamp) -> Plan {
        let owner = self.owner();
        let mistakes = label_value(owner.name);
        if !mistakes.is_empty() {
            return self.unnameable(&mistakes, now);
        }
        let stored: Vec<_> = self.decisions.values().filter(|it| owner.has(it)).collect();
        let is_taken = |name: &str| self.decisions.contains_key(name);
        let layout = Layout::new(owner, &self.wanted.clusters, &stored, is_taken);
        let mut writes = Vec::new();
        if step == Step::Next {
            writes = self.relabelled(&layout, &stored);
        }
        if step == Step::Next && writes.is_empty() {
            writes = self.additions(&layout, now);
        }
        if writes.is_empty() {
            writes = self.removals(&layout, now);
            writes.extend(match step {
                Step::Next => self.status(Some(groups(owner, &layout)), None, now),
                Step::Failed(why) => why.and_then(|why| {
                    let message = format!("the decisions cannot be written: {why}");
                    self.status(None, Some(unsatisfied(message)), now)
                }),
            });
        }
        Plan {
            writes,
            again: None,
        }
    }

    fn owner(&self) -> Owner<'_> {
        self.placement.owner()
    }

    /// Labels of other groups.
    fn relabelled(&self, layout: &Layout<'_>, stored: &[&DecisionFacts]) -> Vec<Write> {
        let next = relabel(&layout.groups, stored).into_iter();
        let writes = next.map(|(stored, label)| {
            let mut metadata = precondition(&stored.uid, &stored.resource_version);
            metadata.insert("labels".to_owned(), self.labels(label));
            self.write(&stored.name, json!({"metadata": metadata}), None)
        });
        writes.collect()
    }

    /// New PlacementDecisions, labels, and clusters that are not listed where they belong.
    fn additions(&self, layout: &Layout<'_>, now: Timestamp) -> Vec<Write> {
        let place_of = layout.place_of();
        let writes = layout.places.iter().filter_map(|place| {
            let Some(stored) = place.stored else {
                return Some(self.create(layout, place));
            };
            let relabelled = self.metadata(layout, place, stored);
            relabelled.or_else(|| {
                let listed: HashSet<_> = stored.clusters().iter().collect();
                let is_complete = place.clusters.iter().all(|name| listed.contains(name));
                let clusters = || interim(layout, &place_of, Some(place), stored, now);
                (!is_complete).then(|| self.list(stored, &clusters()))
            })
        });
        writes.collect()
    }

    /// Clusters that are listed where they do not belong, and PlacementDecisions that are not needed.
    fn removals(&self, layout: &Layout<'_>, now: Timestamp) -> Vec<Write> {
        let place_of = layout.place_of();
        let mut writes = Vec::new();
        for place in &layout.places {
            let Some(stored) = place.stored else { continue };
            let clusters = interim(layout, &place_of, Some(place), stored, now);
            // Without the additions, it may lack some.
            let listed: HashSet<_> = stored.clusters().iter().collect();
            let clusters: Vec<_> = clusters
                .into_iter()
                .filter(|it| listed.contains(it))
                .collect();
            // The order counts when no cluster waits any more.
            let only_waits =
                clusters.len() > place.clusters.len() && clusters.len() == stored.clusters().len();
            if clusters != stored.clusters() && !only_waits {
                writes.push(self.list(stored, &clusters));
            }
        }
        let others = layout.others.iter().map(|stored| {
            let needed = interim(layout, &place_of, None, stored, now);
            (*stored, needed)
        });
        let others: Vec<_> = others.collect();
        // As long as one lists clusters that are missing elsewhere, none of the indexes may vanish.
        let are_needless = layout.places.iter().all(|place| layout.is_visible(place))
            && others.iter().all(|(_, needed)| needed.is_empty());
        for (stored, needed) in others.into_iter().filter(|(it, _)| !it.is_deleting) {
            if are_needless {
                writes.push(Write {
                    action: Action::Delete {
                        uid: stored.uid.clone(),
                        resource_version: Some(stored.resource_version.clone()),
                        why: "its clusters are not selected any more, or are listed in another PlacementDecision",
                    },
                    ..self.write(&stored.name, Value::Null, None)
                });
            } else if needed != stored.clusters() {
                writes.push(self.list(stored, &needed));
            }
        }
        writes
    }

    fn create(&self, layout: &Layout<'_>, place: &Place<'_>) -> Write {
        let owner = self.owner();
        let name = owner.decision(place.number);
        let body = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "PlacementDecision",
            "metadata": {
                "name": name,
                "namespace": owner.namespace,
                "labels": self.labels(layout.label(place)),
                "ownerReferences": [self.reference()],
            },
        });
        Write {
            action: Action::Create { body },
            ..self.write(&name, Value::Null, None)
        }
    }

    /// Writes the labels and the owner, if they are not as they should be. Other labels and owners stay.
    fn metadata(
        &self,
        layout: &Layout<'_>,
        place: &Place<'_>,
        stored: &DecisionFacts,
    ) -> Option<Write> {
        let labels = self.labels(layout.label(place));
        let has = |value: &Option<String>, key: &str| value.as_deref() == labels[key].as_str();
        let is_labelled = has(&stored.listed.placement, labels::PLACEMENT)
            && has(&stored.group_index, labels::DECISION_GROUP_INDEX)
            && has(&stored.group_name, labels::DECISION_GROUP_NAME);
        let is_owned = stored.controller().is_some();
        if is_labelled && is_owned {
            return None;
        }
        let mut metadata = precondition(&stored.uid, &stored.resource_version);
        if !is_labelled {
            metadata.insert("labels".to_owned(), labels);
        }
        if !is_owned {
            let uid = &self.placement.uid;
            let others = stored.owners.iter().filter(|it| it.uid != *uid).cloned();
            let owners: Vec<_> = others.chain([self.reference()]).collect();
            metadata.insert("ownerReferences".to_owned(), json!(owners));
        }
        Some(self.write(&stored.name, json!({"metadata": metadata}), None))
    }

    fn list(&self, stored: &DecisionFacts, clusters: &[String]) -> Write {
        let decisions = clusters.iter();
        let decisions = decisions.map(|name| json!({"clusterName": name, "reason": ""}));
        let body = json!({
            "metadata": precondition(&stored.uid, &stored.resource_version),
            "status": {"decisions": decisions.collect::<Vec<_>>()},
        });
        self.write(&stored.name, body, Some("status"))
    }

    fn labels(&self, label: Label<'_>) -> Value {
        json!({
            labels::PLACEMENT: self.owner().name,
            labels::DECISION_GROUP_INDEX: label.index.to_string(),
            labels::DECISION_GROUP_NAME: label.name,
        })
    }

    fn reference(&self) -> OwnerReference {
        self.owner().reference()
    }

    /// A patch of a PlacementDecision.
    fn write(&self, name: &str, body: Value, subresource: Option<&'static str>) -> Write {
        Write {
            target: Target {
                resource: Kind::Decision.resource(),
                namespace: Some(self.owner().namespace.to_owned()),
                name: name.to_owned(),
            },
            action: Action::Patch { subresource, body },
            reconciler: NAME,
            events: Vec::new(),
        }
    }

    /// The label of a PlacementDecision cannot have the placement's name, so the placement has no decisions.
    fn unnameable(&self, mistakes: &[String], now: Timestamp) -> Plan {
        let message = format!(
            "no cluster is selected: the name of the Placement cannot be the value of a label, create it again with another name: {}",
            mistakes.join("; ")
        );
        let status = self.status(Some(Vec::new()), Some(unsatisfied(message)), now);
        Plan {
            writes: status.into_iter().collect(),
            again: None,
        }
    }

    /// Writes the status of the placement, if it differs. `groups`: `None` if they stay. `satisfied`: the condition, if it is not the
    /// wanted one.
    fn status(
        &self,
        groups: Option<Vec<DecisionGroupStatus>>,
        satisfied: Option<ConditionValue>,
        now: Timestamp,
    ) -> Option<Write> {
        let old = &self.placement.status;
        let wanted = &self.wanted.conditions;
        let mut status = old.clone();
        if let Some(groups) = groups {
            let counts = groups.iter().map(|group| group.cluster_count);
            status.number_of_selected_clusters = counts.sum();
            status.decision_groups = groups;
        }
        let satisfied = satisfied.as_ref().unwrap_or(&wanted.satisfied);
        for it in [satisfied, &wanted.misconfigured] {
            if let Some(changed) = with_condition(&status.conditions, condition(it, now)) {
                status.conditions = changed;
            }
        }
        let mut patch = Map::new();
        if status.conditions != old.conditions {
            patch.insert("conditions".to_owned(), json!(status.conditions));
        }
        if status.number_of_selected_clusters != old.number_of_selected_clusters {
            let number = status.number_of_selected_clusters;
            patch.insert("numberOfSelectedClusters".to_owned(), json!(number));
        }
        if status.decision_groups != old.decision_groups {
            patch.insert("decisionGroups".to_owned(), json!(status.decision_groups));
        }
        if patch.is_empty() {
            return None;
        }
        let owner = self.owner();
        let body = json!({
            "metadata": precondition(owner.uid, &self.placement.resource_version),
            "status": patch,
        });
        let mut write = self.write(owner.name, body, Some("status"));
        write.target.resource = Kind::Placement.resource();
        Some(write)
    }
}

fn unsatisfied(message: String) -> ConditionValue {
    ConditionValue {
        type_: reasons::SATISFIED,
        status: FALSE,
        reason: reasons::NOT_ALL_DECISIONS_SCHEDULED,
        message,
    }
}

/// The clusters that an object lists until all others are complete: its own, and those that stay selected and are not surely listed in
/// their place yet. Without a place, only the latter.
fn interim(
    layout: &Layout<'_>,
    place_of: &HashMap<&str, usize>,
    place: Option<&Place<'_>>,
    stored: &DecisionFacts,
    now: Timestamp,
) -> Vec<String> {
    let mut clusters = place.map_or_else(Vec::new, |place| place.clusters.clone());
    let own: HashSet<_> = clusters.iter().cloned().collect();
    let mut waiting: Vec<_> = stored
        .clusters()
        .iter()
        .filter(|name| {
            let Some(index) = place_of.get(name.as_str()) else {
                return false;
            };
            let there = &layout.places[*index];
            let lists = |it: &DecisionFacts| it.surely_lists(name, now);
            let is_there = there.stored.is_some_and(lists) && layout.is_visible(there);
            !own.contains(*name) && !is_there
        })
        .cloned()
        .collect();
    waiting.sort_unstable();
    waiting.dedup();
    clusters.extend(waiting);
    clusters
}

/// The groups, for the status.
fn groups(owner: Owner<'_>, layout: &Layout<'_>) -> Vec<DecisionGroupStatus> {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let groups = layout.groups.iter().enumerate().map(|(index, group)| {
        let places = layout.places.iter().filter(|place| place.group == index);
        DecisionGroupStatus {
            cluster_count: count(group.clusters.len()),
            decision_group_index: count(index),
            decision_group_name: group.name.clone(),
            decisions: places.map(|place| owner.decision(place.number)).collect(),
        }
    });
    groups.collect()
}

fn condition(wanted: &ConditionValue, now: Timestamp) -> Condition {
    Condition {
        type_: wanted.type_.to_owned(),
        status: wanted.status.to_owned(),
        reason: wanted.reason.to_owned(),
        message: wanted.message.clone(),
        last_transition_time: Time(now),
        observed_generation: None,
    }
}

/// The metadata with which a patch fails if the object is another one, or has changed.
pub(crate) fn precondition(uid: &str, resource_version: &str) -> Map<String, Value> {
    let fields = [("uid", uid), ("resourceVersion", resource_version)];
    let fields = fields.map(|(name, value)| (name.to_owned(), json!(value)));
    fields.into_iter().collect()
}

#[cfg(test)]
mod tests;
