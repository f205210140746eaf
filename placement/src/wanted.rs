//! What a placement is to have: the result of an evaluation, independent of the view.

use berth_placement_core::{Conditions, Counts, Decisions, Schedule};
use jiff::Timestamp;

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) clusters: WantedClusters,
    pub(crate) conditions: Conditions,
    /// When the result can change by time alone.
    pub(crate) next: Option<Timestamp>,
    pub(crate) counts: Counts,
}

/// The clusters that the decisions are to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WantedClusters {
    /// These, in groups: at least one.
    Groups(Vec<WantedGroup>),
    /// Of those that are listed these, in the groups that they are listed in.
    Kept(Vec<String>),
}

/// A group of selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WantedGroup {
    /// The name; empty for clusters that no group of the placement selects.
    pub(crate) name: String,
    /// The clusters, in the order in which they are listed.
    pub(crate) clusters: Vec<String>,
}

// === impl Wanted ===

impl Wanted {
    pub(crate) fn new(schedule: &Schedule<'_>) -> Self {
        let clusters = match &schedule.decisions {
            Decisions::Kept(names) => {
                WantedClusters::Kept(names.iter().map(|it| (*it).to_owned()).collect())
            }
            Decisions::Groups(groups) => {
                let groups = groups.iter().map(|group| WantedGroup {
                    name: group.name.to_owned(),
                    clusters: group
                        .clusters
                        .iter()
                        .map(|it| it.cluster.name.clone())
                        .collect(),
                });
                WantedClusters::Groups(groups.collect())
            }
        };
        Self {
            clusters,
            conditions: schedule.conditions(),
            next: schedule.next,
            counts: schedule.counts,
        }
    }

    /// The names of all clusters.
    pub(crate) fn names(&self) -> Vec<String> {
        match &self.clusters {
            WantedClusters::Groups(groups) => {
                groups.iter().flat_map(|it| it.clusters.clone()).collect()
            }
            WantedClusters::Kept(names) => names.clone(),
        }
    }
}
