//! Evaluations that take long, apart from the view, which nothing else may wait for: on the hub as it was when they began.
//!
//! # Guarantees
//! - The result equals that of an evaluation on the view when it began. What changes later wakes the placement again.
//! - An evaluation on the view takes at most [`LARGE`] steps, and those of its CEL expressions are taken before it (`matching.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use berth_api::cluster_set::Membership;
use berth_placement_core::{
    Cluster, Eligible, EligibleSet, Hub, Matched, Rules, Scene, Scores, Settings, schedule,
};
use jiff::Timestamp;

use super::evaluation::SeenBy;
use super::matching::AllScores;
use super::{Key, Known, View};
use crate::wanted::Wanted;

/// The steps of an evaluation that may be taken while others wait: some 20 ms.
pub(super) const LARGE: u64 = 500_000;

/// [`LARGE`], or less in tests.
#[derive(Debug)]
pub(super) struct MostSteps(pub(super) u64);

impl Default for MostSteps {
    fn default() -> Self {
        Self(LARGE)
    }
}

/// The evaluation of a placement, and what it reads of the hub.
pub(crate) struct Apart {
    rules: Arc<Rules>,
    /// The steps that it takes at most, as estimated.
    steps: u64,
    bindings: usize,
    sets: Vec<(String, Arc<Result<Membership, String>>)>,
    clusters: Vec<Arc<Cluster>>,
    previous: HashSet<String>,
    seen: Seen,
    now: Timestamp,
}

/// The hub as the placement saw it. It has only clusters that the placement may select.
struct Seen {
    foreign: HashMap<String, u64>,
    most_foreign: u64,
    scores: Arc<AllScores>,
    known: Known,
}

/// The result of an evaluation that was made apart.
pub(crate) struct Evaluated {
    pub(crate) wanted: Wanted,
    /// The steps that it is charged.
    pub(crate) steps: u64,
    rules: Arc<Rules>,
}

// === impl View ===

impl View {
    /// Returns whether an evaluation of the placement takes too many steps to make it on the view.
    pub(crate) fn is_large(&self, key: &Key) -> bool {
        let placement = self.placement(key).filter(|it| !it.is_left_alone());
        let Some(rules) = placement.map(|it| &it.rules) else {
            return false;
        };
        let is_large = |(clusters, taints)| {
            let steps = rules.steps(clusters, taints);
            steps.saturating_add(rules.most_spread_steps(clusters)) > self.most_steps.0
        };
        // Most placements end here.
        if !is_large(self.clusters.size()) {
            return false;
        }
        let eligible = self.chosen_sets(rules);
        let members = self.members_of(&eligible);
        members.is_some_and(|members| {
            let clusters = members.iter().filter_map(|slot| self.clusters.at(slot));
            let count = |(number, taints), it: &Cluster| (number + 1, taints + it.taints.len());
            eligible.broken().is_none() && is_large(clusters.fold((0, 0), count))
        })
    }

    /// What an evaluation of the placement reads. `known`: what CEL expressions make of the clusters. `None` if it does not exist, is to be
    /// left alone, or may select no cluster.
    pub(crate) fn apart(&self, key: &Key, known: Known, now: Timestamp) -> Option<Apart> {
        let placement = self.placement(key).filter(|it| !it.is_left_alone())?;
        let rules = placement.rules.clone();
        let eligible = self.chosen_sets(&rules);
        let members = self.members_of(&eligible)?;
        let clusters = members.iter().filter_map(|slot| self.clusters.shared(slot));
        let clusters: Vec<_> = clusters.cloned().collect();
        let sets = eligible.sets.iter().filter_map(|it| {
            let set = self.sets.get(it.name)?;
            Some((it.name.to_owned(), set.membership.clone()))
        });
        let seen = SeenBy::new(self, key, &rules);
        let foreign = clusters.iter().map(|it| (&it.name, seen.foreign(&it.name)));
        let foreign = foreign.filter(|(_, number)| *number > 0);
        Some(Apart {
            steps: rules.steps(
                clusters.len(),
                clusters.iter().map(|it| it.taints.len()).sum(),
            ),
            bindings: eligible.bindings,
            sets: sets.collect(),
            previous: self.listed_for(&key.namespace, &key.name).clone(),
            seen: Seen {
                foreign: foreign
                    .map(|(name, number)| (name.clone(), number))
                    .collect(),
                most_foreign: seen.most_foreign(),
                scores: self.scores.clone(),
                known: if known.is_of(&rules) {
                    known
                } else {
                    Known::default()
                },
            },
            clusters,
            rules,
            now,
        })
    }
}

// === impl Apart ===

impl Apart {
    /// The settings of the placement.
    pub(crate) fn settings(&self) -> Settings {
        self.rules.settings()
    }

    /// Evaluates the placement, which may take seconds.
    pub(crate) fn run(self) -> Evaluated {
        let sets = self
            .sets
            .iter()
            .map(|(name, membership)| EligibleSet { name, membership });
        let scene = Scene {
            eligible: Eligible {
                bindings: self.bindings,
                sets: sets.collect(),
                candidates: self.clusters.iter().map(Arc::as_ref).collect(),
            },
            previous: &self.previous,
            hub: &self.seen,
            now: self.now,
        };
        let schedule = schedule(&self.rules, scene);
        let (wanted, spread) = (Wanted::new(&schedule), schedule.spread_steps);
        drop(schedule);
        Evaluated {
            wanted,
            steps: self.steps.saturating_add(spread),
            rules: self.rules,
        }
    }
}

// === impl Evaluated ===

impl Evaluated {
    /// Returns whether these are the rules of the placement that was evaluated.
    pub(crate) fn is_of(&self, rules: &Arc<Rules>) -> bool {
        Arc::ptr_eq(&self.rules, rules)
    }
}

// === impl Seen ===

impl Hub for Seen {
    /// Only a placement with a broken set asks for clusters that it may not select. It is not evaluated apart.
    fn cluster(&self, _: &str) -> Option<&Cluster> {
        None
    }

    fn foreign(&self, cluster: &str) -> u64 {
        self.foreign.get(cluster).copied().unwrap_or_default()
    }

    fn most_foreign(&self) -> u64 {
        self.most_foreign
    }

    fn scores(&self, cluster: &str, name: &str) -> Option<&Scores> {
        self.scores.get(cluster)?.get(name)
    }

    fn matched(&self, cluster: &str) -> Option<Matched> {
        self.known.matched(cluster)
    }
}
