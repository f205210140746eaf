//! The placements that add-ons name, by their PlacementDecisions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use berth_addons_core::facts::{Placed, PlacedState};
use berth_rollout::RolloutGroup;

use super::keys::Place;
use super::kinds::{DecisionFact, PlacementFact};

/// The Placements of the hub, and what they select.
#[derive(Debug, Default)]
pub(super) struct Placements {
    placements: HashMap<Place, PlacementFact>,
    /// The PlacementDecisions of each Placement, by their names.
    decisions: HashMap<Place, BTreeMap<String, DecisionFact>>,
    /// The decision groups of each Placement, until one of its PlacementDecisions changes.
    groups: HashMap<Place, Arc<[RolloutGroup]>>,
    placement_of: HashMap<Place, Place>,
    /// How many PlacementDecisions list each cluster of a Placement: two while the cluster moves.
    listed: HashMap<Place, HashMap<String, usize>>,
    /// When a Placement that an add-on names was first found missing.
    missing: HashMap<Place, Instant>,
    unreadable_placements: HashSet<Place>,
    unreadable_decisions: HashSet<Place>,
}

/// A Placement, and the clusters that a change of its PlacementDecisions concerns.
pub(super) type Changed = (Place, BTreeSet<String>);

// === impl Placements ===

impl Placements {
    /// Applies a Placement, or its end. Returns whether something changed.
    pub(super) fn set(&mut self, at: &Place, placement: Option<PlacementFact>) -> bool {
        let was_unreadable = self.unreadable_placements.remove(at);
        let new = placement.clone();
        let old = match placement {
            Some(placement) => {
                self.missing.remove(at);
                self.placements.insert(at.clone(), placement)
            }
            None => self.placements.remove(at),
        };
        old != new || was_unreadable
    }

    /// Applies a PlacementDecision, or its end. Returns what that concerns.
    pub(super) fn decide(&mut self, at: &Place, decision: Option<DecisionFact>) -> Vec<Changed> {
        let was_unreadable = self.unreadable_decisions.remove(at);
        let of = decision
            .as_ref()
            .map(|it| (at.0.clone(), it.placement.clone()));
        let old = match &of {
            Some(of) => self.placement_of.insert(at.clone(), of.clone()),
            None => self.placement_of.remove(at),
        };
        let known = old.as_ref().and_then(|old| {
            let decisions = self.decisions.get_mut(old)?;
            let known = decisions.remove(&at.1);
            if decisions.is_empty() {
                self.decisions.remove(old);
            }
            known
        });
        let is_same = known.is_some() && known == decision && !was_unreadable;
        let mut changed: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
        if let (Some(old), Some(known)) = (old, known) {
            let listed = self.listed.entry(old.clone()).or_default();
            for cluster in &known.clusters {
                if let Some(count) = listed.get_mut(cluster) {
                    *count -= 1;
                    if *count == 0 {
                        listed.remove(cluster);
                    }
                }
            }
            if listed.is_empty() {
                self.listed.remove(&old);
            }
            changed.entry(old).or_default().extend(known.clusters);
        }
        if let (Some(of), Some(decision)) = (of, decision) {
            let listed = self.listed.entry(of.clone()).or_default();
            for cluster in &decision.clusters {
                *listed.entry(cluster.clone()).or_default() += 1;
            }
            let clusters = changed.entry(of.clone()).or_default();
            clusters.extend(decision.clusters.iter().cloned());
            let decisions = self.decisions.entry(of).or_default();
            decisions.insert(at.1.clone(), decision);
        }
        if is_same {
            return Vec::new();
        }
        for placement in changed.keys() {
            self.groups.remove(placement);
        }
        changed.into_iter().collect()
    }

    /// Notes an object that cannot be read.
    pub(super) fn unreadable(&mut self, at: Place, is_decision: bool) {
        if is_decision {
            self.unreadable_decisions.insert(at);
        } else {
            self.unreadable_placements.insert(at);
        }
    }

    /// Returns whether a PlacementDecision of this name could not be read.
    pub(super) fn is_unreadable_decision(&self, at: &Place) -> bool {
        self.unreadable_decisions.contains(at)
    }

    /// The time since which Placements are missing begins anew.
    pub(super) fn forget_missing(&mut self) {
        self.missing.clear();
    }

    /// Returns whether a Placement lists a cluster.
    pub(super) fn lists(&self, placement: &Place, cluster: &str) -> bool {
        self.placements.contains_key(placement)
            && (self.listed.get(placement)).is_some_and(|it| it.contains_key(cluster))
    }

    /// The clusters that a Placement lists.
    pub(super) fn clusters(&self, placement: &Place) -> impl Iterator<Item = &String> {
        self.listed
            .get(placement)
            .into_iter()
            .flat_map(HashMap::keys)
    }

    /// Returns whether the clusters of a Placement are known.
    ///
    /// While the placement controller evaluates a placement, its PlacementDecisions exist and are not complete, until the status agrees.
    /// Nobody writes the status of one that is paused: its PlacementDecisions count as they are.
    pub(super) fn state(&mut self, at: &Place, now: Instant) -> PlacedState {
        // A PlacementDecision that cannot be read may be one of any Placement in its namespace.
        let is_unreadable = self.unreadable_placements.contains(at)
            || self.unreadable_decisions.iter().any(|it| it.0 == at.0);
        let Some(placement) = self.placements.get(at) else {
            if is_unreadable {
                return PlacedState::InDoubt;
            }
            let since = *self.missing.entry(at.clone()).or_insert(now);
            return PlacedState::Missing(now.saturating_duration_since(since));
        };
        let is_decided = placement.is_paused && self.decisions.contains_key(at);
        let listed = self.listed.get(at).map_or(0, HashMap::len);
        let is_settled = placement.is_evaluated && placement.selected == listed;
        if !is_unreadable && (is_decided || is_settled) {
            PlacedState::Settled
        } else {
            PlacedState::InDoubt
        }
    }

    /// What is known of a Placement.
    pub(super) fn placed(&mut self, at: &Place, now: Instant) -> Placed {
        let state = self.state(at, now);
        let Some(placement) = self.placements.get(at) else {
            return Placed {
                state,
                ..Placed::default()
            };
        };
        let groups = match self.groups.get(at) {
            Some(groups) => Arc::clone(groups),
            None => {
                let groups = grouped(self.decisions.get(at));
                self.groups.insert(at.clone(), Arc::clone(&groups));
                groups
            }
        };
        Placed {
            groups,
            clusters_per_group: placement.clusters_per_group.clone(),
            state,
        }
    }
}

/// The decision groups of PlacementDecisions.
fn grouped(decisions: Option<&BTreeMap<String, DecisionFact>>) -> Arc<[RolloutGroup]> {
    let mut groups: BTreeMap<(i32, &str), BTreeSet<String>> = BTreeMap::new();
    for decision in decisions.into_iter().flat_map(BTreeMap::values) {
        let group = (decision.group_index, &*decision.group_name);
        let clusters = groups.entry(group).or_default();
        clusters.extend(decision.clusters.iter().cloned());
    }
    let groups = groups.into_iter();
    let groups = groups.map(|((index, name), clusters)| RolloutGroup {
        index,
        name: name.to_owned(),
        clusters,
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::place;

    fn decision(index: i32, clusters: &[&str]) -> DecisionFact {
        DecisionFact {
            placement: "p".to_owned(),
            group_index: index,
            group_name: String::new(),
            clusters: clusters.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn the_groups_are_those_of_the_latest_decisions() {
        let mut placements = Placements::default();
        let placement = place("n", "p");
        placements.set(&placement, Some(PlacementFact::default()));
        for (at, new, expected) in [
            ("d1", Some(decision(0, &["c1"])), "0 c1"),
            ("d2", Some(decision(1, &["c3", "c2"])), "0 c1, 1 c2 c3"),
            ("d3", Some(decision(1, &["c4"])), "0 c1, 1 c2 c3 c4"),
            ("d1", Some(decision(0, &["c5"])), "0 c5, 1 c2 c3 c4"),
            ("d2", None, "0 c5, 1 c4"),
        ] {
            placements.decide(&place("n", at), new);
            let groups = placements.placed(&placement, Instant::now()).groups;
            let shown = groups.iter().map(|it| {
                let clusters: Vec<_> = it.clusters.iter().map(String::as_str).collect();
                format!("{} {}", it.index, clusters.join(" "))
            });
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected, "{at}");
        }
    }
}
