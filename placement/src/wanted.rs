//! What a placement is to have: the result of an evaluation, independent of the view.

use std::collections::HashMap;

use berth_placement_core::{Conditions, Counts, Decisions, Fault, Schedule};
use jiff::Timestamp;

use crate::recorded::Recorded;

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) clusters: WantedClusters,
    pub(crate) conditions: Conditions,
    /// What decisions are to record of the selected clusters, by name. Empty without the gate `scores`.
    pub(crate) records: HashMap<String, Recorded>,
    /// When the result can change by time alone.
    pub(crate) next: Option<Timestamp>,
    pub(crate) counts: Counts,
    /// Whole ManagedClusters that it reads are being listed. Until then nothing is written.
    pub(crate) is_unread: bool,
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
        let records = schedule.records().into_iter().map(|it| {
            let recorded = Recorded {
                score: Some(it.score),
                reason: it.reason,
            };
            (it.cluster.to_owned(), recorded)
        });
        Self {
            clusters,
            conditions: schedule.conditions(),
            records: records.collect(),
            next: schedule.next,
            counts: schedule.counts,
            is_unread: schedule.fault == Some(Fault::NotRead),
        }
    }

    /// The names of all clusters.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<String> {
        self.clusters.names().cloned().collect()
    }
}

// === impl WantedClusters ===

impl WantedClusters {
    /// The names of all clusters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        let (groups, kept) = match self {
            Self::Groups(groups) => (groups.as_slice(), &[][..]),
            Self::Kept(names) => (&[][..], names.as_slice()),
        };
        groups.iter().flat_map(|it| &it.clusters).chain(kept)
    }
}
