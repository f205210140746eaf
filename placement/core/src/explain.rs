//! Why a placement selects the clusters that it selects, as values for people and programs.
//!
//! An [`Explanation`] is made of an [`Inventory`] by the scheduler itself, so it says what the controller would decide at that time with
//! these gates, and its other settings at their defaults. What is stored can differ from that; [`Explanation::stored`] says how.

mod cluster;
mod stored;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use berth_api::Placement;
use berth_api::names::label_value;
use jiff::Timestamp;
use serde::Serialize;

use crate::inventory::Inventory;
use crate::rules::{Gates, Rules, Settings};
use crate::schedule::{Counts, Decisions, Fault, Schedule};

pub use cluster::{
    ClusterResult, ExplainedCluster, ExplainedGroup, ExplainedMismatch, ExplainedScore,
    ExplainedTaint,
};
pub use stored::{Stored, StoredCondition};

/// Why a placement selects the clusters that it selects.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The placement's namespace.
    pub namespace: String,
    /// The placement's name.
    pub name: String,
    /// The conditions as they are computed.
    pub conditions: Vec<ExplainedCondition>,
    /// What keeps the placement from being evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The path of the field that keeps it from being evaluated, if it is one field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// All that a gate refuses about the placement, each with its field. What makes the explanation does not know the gate: see
    /// [`Self::refused`].
    pub faults: Vec<String>,
    /// Problems that do not prevent the evaluation.
    pub warnings: Vec<String>,
    /// The sets that it can select from.
    pub sets: ExplainedSets,
    /// How many clusters each step left.
    pub counts: ExplainedCounts,
    /// The groups of the selected clusters.
    pub groups: Vec<CountedGroup>,
    /// When the result can change by time alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// How the stored decisions and conditions differ.
    pub stored: Stored,
    /// What becomes of each cluster of the hub: the selected ones first, then those of lower rank, then the others, by name.
    pub clusters: Vec<ExplainedCluster>,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedCondition {
    /// The type.
    pub r#type: String,
    /// `True` or `False`.
    pub status: String,
    /// The reason.
    pub reason: String,
    /// The message.
    pub message: String,
}

/// The sets that a placement names, and those that are bound to its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedSets {
    /// Those in `spec.clusterSets`; if empty, all that are bound count.
    pub named: Vec<String>,
    /// Those that are bound and exist.
    pub bound: Vec<String>,
    /// Those that are bound and do not exist.
    pub missing: Vec<String>,
    /// Those that it selects from.
    pub eligible: Vec<String>,
}

/// How many clusters each step left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedCounts {
    /// The clusters of the hub.
    pub hub: usize,
    /// Those of the sets that it selects from, without those that are being deleted.
    pub candidates: usize,
    /// Those of them that match no predicate.
    pub unmatched: usize,
    /// Those of them with a taint that is not tolerated.
    pub tainted: usize,
    /// Those that passed both filters.
    pub feasible: usize,
    /// Those that are selected, or kept.
    pub selected: usize,
    /// `spec.numberOfClusters`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<i32>,
    /// How many clusters are missing.
    pub unscheduled: usize,
}

/// A group of selected clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CountedGroup {
    /// The position.
    pub index: usize,
    /// The name; empty for clusters that no group of the placement selects.
    pub name: String,
    /// The number of clusters.
    pub clusters: usize,
}

// === impl Explanation ===

impl Explanation {
    /// Names only the clusters of the sets that the placement selects from: as if the hub had no others.
    pub fn withhold_others(&mut self) {
        let of_sets = |it: &ExplainedCluster| {
            !matches!(
                it.result,
                ClusterResult::Deleting | ClusterResult::NotInSets
            )
        };
        self.clusters.retain(of_sets);
        self.counts.hub = self.clusters.len();
    }

    /// Explains a placement at a time, for a controller with these gates.
    #[must_use]
    pub fn new(inventory: &Inventory, placement: &Placement, gates: Gates, now: Timestamp) -> Self {
        let settings = Settings {
            gates,
            ..Settings::default()
        };
        let rules = Rules::new(placement, settings);
        let previous = inventory.snapshot.previous(rules.namespace(), rules.name());
        let view = inventory.snapshot.view(&rules);
        let schedule = view.schedule(&rules, &previous, now);
        let conditions = schedule.conditions();
        let conditions = [conditions.satisfied, conditions.misconfigured];
        let selected: BTreeSet<&str> = schedule.decisions.names().collect();
        let groups = groups_of(&schedule);
        let of_cluster = places(&schedule);
        let listing = listings(inventory, &rules);
        let all = inventory.snapshot.clusters.values();
        let outcomes = schedule.outcomes(all).into_iter();
        let mut clusters: Vec<_> = outcomes
            .map(|(cluster, outcome)| {
                let name = cluster.name.as_str();
                let group = of_cluster.get(name).map(|index| ExplainedGroup {
                    index: *index,
                    name: groups[*index].name.clone(),
                });
                let listed = listing.get(name).map(|it| (*it).to_owned());
                ExplainedCluster::new(cluster, &outcome, &placement.spec, group, listed)
            })
            .collect();
        clusters.sort_by(|one, other| one.order().cmp(&other.order()));
        Self {
            namespace: rules.namespace().to_owned(),
            name: rules.name().to_owned(),
            fault: fault(&schedule, &rules),
            field: match label_value(rules.name()).is_empty() {
                true => schedule.fault.as_ref().and_then(Fault::field),
                false => Some("metadata.name".to_owned()),
            },
            faults: Vec::new(),
            warnings: schedule.warnings.iter().map(ToString::to_string).collect(),
            sets: ExplainedSets::new(inventory, &rules, &schedule),
            counts: ExplainedCounts::new(inventory, placement, &schedule),
            groups,
            next: schedule.next,
            stored: Stored::new(inventory, placement, &rules, &conditions, &selected),
            conditions: conditions
                .into_iter()
                .map(|it| ExplainedCondition {
                    r#type: it.type_.to_owned(),
                    status: it.status.to_owned(),
                    reason: it.reason.to_owned(),
                    message: it.message,
                })
                .collect(),
            clusters,
        }
    }

    /// Adds what a gate says about the placement: all that it refuses, and its warnings.
    #[must_use]
    pub fn refused(mut self, faults: Vec<String>, warnings: Vec<String>) -> Self {
        self.faults = faults;
        self.warnings.extend(warnings);
        self
    }

    /// The faults besides [`Self::fault`].
    pub fn more_faults(&self) -> impl Iterator<Item = &str> {
        let first = self.fault.as_ref().and(self.field.as_deref());
        let faults = self.faults.iter().map(String::as_str);
        faults.filter(move |it| first.is_none_or(|field| !it.starts_with(field)))
    }

    /// The names of the clusters that are selected or kept, by name.
    #[must_use]
    pub fn selected(&self) -> BTreeSet<&str> {
        let clusters = self.clusters.iter();
        let selected = clusters.filter(|it| it.result.is_selected());
        selected.map(|it| it.name.as_str()).collect()
    }

    /// What becomes of a cluster, if it exists.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<&ExplainedCluster> {
        self.clusters.iter().find(|it| it.name == name)
    }

    /// The rank of the last selected cluster.
    #[must_use]
    pub fn cut(&self) -> Option<usize> {
        let clusters = self.clusters.iter();
        let selected = clusters.filter(|it| it.result == ClusterResult::Selected);
        selected.filter_map(|it| it.rank).max()
    }
}

fn fault(schedule: &Schedule<'_>, rules: &Rules) -> Option<String> {
    let mistakes = label_value(rules.name());
    if !mistakes.is_empty() {
        return Some(format!(
            "the name of the Placement cannot be the value of a label, so the controller selects no cluster: {}",
            mistakes.join("; ")
        ));
    }
    schedule.fault.as_ref().map(ToString::to_string)
}

fn groups_of(schedule: &Schedule<'_>) -> Vec<CountedGroup> {
    let Decisions::Groups(groups) = &schedule.decisions else {
        return Vec::new();
    };
    let groups = groups.iter().enumerate();
    let groups = groups.map(|(index, group)| CountedGroup {
        index,
        name: group.name.to_owned(),
        clusters: group.clusters.len(),
    });
    groups.collect()
}

/// The group of each selected cluster, by its index.
fn places<'a>(schedule: &Schedule<'a>) -> HashMap<&'a str, usize> {
    let Decisions::Groups(groups) = &schedule.decisions else {
        return HashMap::new();
    };
    let groups = groups.iter().enumerate();
    let places = groups.flat_map(|(index, group)| {
        let clusters = group.clusters.iter();
        clusters.map(move |it| (it.cluster.name.as_str(), index))
    });
    places.collect()
}

/// The PlacementDecision that lists each cluster, by its name.
fn listings<'a>(inventory: &'a Inventory, rules: &'a Rules) -> BTreeMap<&'a str, &'a str> {
    let decisions = inventory.decisions_of(rules);
    let listings = decisions.flat_map(|(name, it)| {
        let clusters = it.listed.clusters.iter();
        clusters.map(move |cluster| (cluster.as_str(), name))
    });
    listings.collect()
}

// === impl ExplainedSets ===

impl ExplainedSets {
    fn new(inventory: &Inventory, rules: &Rules, schedule: &Schedule<'_>) -> Self {
        let bindings = inventory.snapshot.bindings.get(rules.namespace());
        let bindings = bindings.into_iter().flatten().cloned();
        let (bound, missing) =
            bindings.partition(|name| inventory.snapshot.sets.contains_key(name));
        let eligible = schedule.scene.eligible.sets.iter();
        Self {
            named: rules.sets().to_vec(),
            bound,
            missing,
            eligible: eligible.map(|set| set.name.to_owned()).collect(),
        }
    }
}

// === impl ExplainedCounts ===

impl ExplainedCounts {
    fn new(inventory: &Inventory, placement: &Placement, schedule: &Schedule<'_>) -> Self {
        let Counts {
            candidates,
            unmatched,
            tainted,
            feasible,
            selected,
        } = schedule.counts;
        Self {
            hub: inventory.snapshot.clusters.len(),
            candidates,
            unmatched,
            tainted,
            feasible,
            selected,
            wanted: placement.spec.number_of_clusters,
            unscheduled: schedule.unscheduled,
        }
    }
}
