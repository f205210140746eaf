//! A placement of an add-on, and which clusters it selects.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use berth_rollout::RolloutGroup;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// What is known of a Placement that an add-on names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// Its clusters, by decision group.
    pub groups: Arc<[RolloutGroup]>,
    /// `clustersPerDecisionGroup` of the Placement.
    pub clusters_per_group: Option<IntOrString>,
    /// Whether the groups are all.
    pub state: PlacedState,
}

/// Whether the clusters of a placement are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacedState {
    /// The PlacementDecisions agree with the status of the Placement.
    Settled,
    /// The Placement has no status, its status and its PlacementDecisions do not agree, or one of these cannot be read. Clusters that
    /// are listed are selected, others may be.
    #[default]
    InDoubt,
    /// The Placement does not exist, for as long as this.
    Missing(Duration),
}

/// Whether an add-on's placements select a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// One of them does.
    Selected,
    /// All exist and agree with their status, and none of them does.
    NotSelected,
    /// A Placement does not exist, and no other selects the cluster.
    Missing,
    /// It is not known.
    InDoubt,
}

// === impl Placed ===

impl Placed {
    /// The clusters that it lists.
    pub(crate) fn clusters(&self) -> HashSet<&str> {
        let clusters = self.groups.iter().flat_map(|it| &it.clusters);
        clusters.map(String::as_str).collect()
    }

    /// Returns whether a cluster that it does not list may be one of its clusters. A Placement that is missing for longer than `grace`
    /// has no clusters.
    #[must_use]
    pub fn may_select(&self, grace: Duration) -> bool {
        match self.state {
            PlacedState::Settled => false,
            PlacedState::InDoubt => true,
            PlacedState::Missing(since) => since < grace,
        }
    }
}

/// Returns whether an add-on's placements select a cluster. Of each: whether it lists the cluster, and whether its clusters are known.
#[must_use]
pub fn selection(placements: impl Iterator<Item = (bool, PlacedState)>) -> Selection {
    let mut found = Selection::NotSelected;
    for (is_listed, state) in placements {
        found = match (is_listed, state, found) {
            (true, ..) => return Selection::Selected,
            (_, PlacedState::InDoubt, _) | (_, _, Selection::InDoubt) => Selection::InDoubt,
            (_, PlacedState::Missing(_), _) => Selection::Missing,
            (_, PlacedState::Settled, found) => found,
        };
    }
    found
}
