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
//! - Scores, reasons and counts alone are written at most once in the time of `spec.scoreRateLimit` ([`crate::recorded`]).

mod status;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use berth_api::names::label_value;
use berth_api::plan::{Action, Plan, Target, Write};
use berth_api::{Now, labels};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value, json};

use self::status::{Scores, groups};
use crate::facts::{DecisionFacts, Owner, PlacementFacts};
use crate::kinds::Kind;
use crate::layout::{Layout, Place};
use crate::recorded::{Recorded, Turn};
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

/// The writes that follow the additions.
struct Removals<'a> {
    due: Vec<Write>,
    /// The PlacementDecisions that list the wanted clusters with other scores or reasons, or in another order by score, and the clusters
    /// in their order.
    rescored: Vec<(&'a DecisionFacts, Vec<String>)>,
}

// === impl Due ===

impl Due<'_> {
    /// The writes of a step.
    pub(crate) fn plan(&self, step: Step<'_>, now: Now) -> Plan {
        let wall = now.wall;
        let owner = self.owner();
        let mistakes = label_value(owner.name);
        if !mistakes.is_empty() {
            return Plan {
                writes: self.unnameable(&mistakes, wall).into_iter().collect(),
                again: None,
            };
        }
        let stored: Vec<_> = self.decisions.values().filter(|it| owner.has(it)).collect();
        let is_taken = |name: &str| self.decisions.contains_key(name);
        let layout = Layout::new(owner, &self.wanted.clusters, &stored, is_taken);
        let mut writes = Vec::new();
        if step == Step::Next {
            writes = self.relabelled(&layout, &stored);
        }
        if step == Step::Next && writes.is_empty() {
            writes = self.additions(&layout, wall);
        }
        let mut later = None;
        if writes.is_empty() {
            let removals = self.removals(&layout, wall);
            writes = removals.due;
            match step {
                Step::Next => {
                    let scores = self.scores(!removals.rescored.is_empty(), wall);
                    if scores.is_some_and(|it| it.turn == Turn::Now) {
                        let rescored = removals.rescored.iter();
                        writes
                            .extend(rescored.map(|(stored, clusters)| self.list(stored, clusters)));
                    }
                    let status = self.status(groups(owner, &layout), scores, wall);
                    writes.extend(status.write);
                    later = status.later;
                }
                Step::Failed(why) => writes.extend(why.and_then(|why| self.failed(why, wall))),
            }
        }
        Plan {
            writes,
            again: later.and_then(|later| {
                let wait = Duration::try_from(later.duration_since(wall)).unwrap_or_default();
                now.instant.checked_add(wait)
            }),
        }
    }

    /// What is to be written about scores. `None` without the gate.
    fn scores(&self, are_outdated: bool, now: Timestamp) -> Option<Scores> {
        let last = self.placement.status.last_score_update_time.as_ref();
        let limit = self.placement.score_limit?;
        Some(Scores {
            turn: limit.turn(last.map(|it| it.0), now),
            are_outdated,
        })
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

    /// Clusters that are listed where they do not belong, and PlacementDecisions that are not needed. Also the PlacementDecisions that
    /// only have other scores.
    fn removals<'l>(&self, layout: &Layout<'l>, now: Timestamp) -> Removals<'l> {
        let place_of = layout.place_of();
        let (mut writes, mut rescored) = (Vec::new(), Vec::new());
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
            let clusters = if only_waits {
                stored.clusters()
            } else {
                clusters.as_slice()
            };
            let is_rescored = if clusters == stored.clusters() {
                self.is_outdated(stored)
            } else {
                // The scores order them.
                self.placement.score_limit.is_some() && are_same(clusters, stored.clusters())
            };
            if is_rescored {
                rescored.push((stored, clusters.to_vec()));
            } else if clusters != stored.clusters() {
                writes.push(self.list(stored, clusters));
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
        Removals {
            due: writes,
            rescored,
        }
    }

    /// Returns whether other scores or reasons are stored than those of this evaluation.
    fn is_outdated(&self, stored: &DecisionFacts) -> bool {
        stored.records().any(|(name, recorded)| {
            let wanted = self.wanted.records.get(name);
            wanted.is_some_and(|it| !it.agrees(recorded))
        })
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
        let kept = self.kept(clusters);
        let decisions = clusters.iter().map(|name| {
            let wanted = self.wanted.records.get(name);
            let recorded = wanted.or_else(|| kept.get(name.as_str()).copied());
            let mut decision = json!({
                "clusterName": name,
                "reason": recorded.map_or("", |it| &it.reason),
            });
            if let Some(score) = recorded.and_then(|it| it.score) {
                decision["score"] = json!(score);
            }
            decision
        });
        let body = json!({
            "metadata": precondition(&stored.uid, &stored.resource_version),
            "status": {"decisions": decisions.collect::<Vec<_>>()},
        });
        self.write(&stored.name, body, Some("status"))
    }

    /// What is stored of clusters, if some of these were not evaluated.
    fn kept(&self, clusters: &[String]) -> HashMap<&str, &Recorded> {
        let is_evaluated = |name: &String| self.wanted.records.contains_key(name);
        if clusters.iter().all(is_evaluated) {
            return HashMap::new();
        }
        let owner = self.owner();
        let stored = self.decisions.values().filter(|it| owner.has(it));
        let records = stored.flat_map(DecisionFacts::records);
        records.map(|(name, it)| (name.as_str(), it)).collect()
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

/// Returns whether both lists have the same clusters.
fn are_same(one: &[String], other: &[String]) -> bool {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names
    };
    one.len() == other.len() && sorted(one) == sorted(other)
}

/// The metadata with which a patch fails if the object is another one, or has changed.
pub(crate) fn precondition(uid: &str, resource_version: &str) -> Map<String, Value> {
    let fields = [("uid", uid), ("resourceVersion", resource_version)];
    let fields = fields.map(|(name, value)| (name.to_owned(), json!(value)));
    fields.into_iter().collect()
}

#[cfg(test)]
mod tests;
