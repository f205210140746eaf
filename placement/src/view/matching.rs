//! CEL expressions are evaluated apart from the view, which nothing else may wait for: on the clusters as they were when it began.
//!
//! # Guarantees
//! - A result counts as long as the cluster and its scores are those that it was found out from. So an evaluation that has the results of
//!   all clusters equals one that evaluates the expressions itself.
//! - More steps than the budget of the placement are not taken, apart from those of one predicate on one cluster.

use std::collections::HashMap;
use std::sync::Arc;

use berth_placement_core::{Cluster, Matched, Rules, Scores, Settings};

use super::{Key, View};

/// The AddOnPlacementScores, by namespace (the cluster's name) and name.
pub(crate) type AllScores = HashMap<String, Arc<HashMap<String, Scores>>>;

/// Clusters that are to be matched with the predicates of a placement.
pub(crate) struct Matching {
    rules: Arc<Rules>,
    clusters: Vec<Arc<Cluster>>,
    scores: Arc<AllScores>,
}

/// Clusters that were matched with the predicates of a placement.
#[derive(Default)]
pub(crate) struct Known {
    rules: Option<Arc<Rules>>,
    of: HashMap<String, Result>,
    /// The budget of the placement was exceeded before all clusters were matched.
    is_beyond_budget: bool,
}

/// The result for a cluster, and what it was found out from.
struct Result {
    cluster: Arc<Cluster>,
    scores: Option<Arc<HashMap<String, Scores>>>,
    matched: Matched,
}

// === impl View ===

impl View {
    /// The clusters that must be matched before the placement can be evaluated without evaluating CEL expressions. `None` without any.
    pub(crate) fn unmatched(&self, key: &Key, known: &Known) -> Option<Matching> {
        let placement = self.placement(key).filter(|it| !it.is_left_alone())?;
        let rules = &placement.rules;
        let is_known = known.is_of(rules);
        if !rules.uses_cel() || (is_known && known.is_beyond_budget) {
            return None;
        }
        let eligible = self.chosen_sets(rules);
        if eligible.broken().is_some() {
            return None;
        }
        let members = self.members_of(&eligible)?;
        let mut clusters = Vec::new();
        for slot in members.iter() {
            let Some(cluster) = self.clusters.shared(slot) else {
                continue;
            };
            // Without one of the objects, no expression is evaluated.
            cluster.object.as_ref().filter(|it| it.limit().is_none())?;
            let scores = self.scores.get(&cluster.name);
            if !is_known || !known.has(cluster, scores) {
                clusters.push(cluster.clone());
            }
        }
        (!clusters.is_empty()).then(|| Matching {
            rules: rules.clone(),
            clusters,
            scores: self.scores.clone(),
        })
    }
}

// === impl Matching ===

impl Matching {
    /// The settings of the placement.
    pub(crate) fn settings(&self) -> Settings {
        self.rules.settings()
    }

    /// The names of the clusters.
    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<&str> {
        self.clusters.iter().map(|it| it.name.as_str()).collect()
    }

    /// Matches the clusters, which may take seconds. Returns also the steps that it took.
    pub(crate) fn run(self) -> (Known, u64) {
        let Self {
            rules,
            clusters,
            scores,
        } = self;
        let find = |cluster: &str, name: &str| scores.get(cluster)?.get(name);
        let mut known = Known::default();
        let budget = rules.settings().cel_budget;
        let mut steps = 0_u64;
        for cluster in clusters {
            let Some(matched) = rules.matched(&cluster, &find) else {
                break;
            };
            steps = steps.saturating_add(matched.steps);
            let scores = scores.get(&cluster.name).cloned();
            let result = Result {
                scores,
                matched,
                cluster,
            };
            known.of.insert(result.cluster.name.clone(), result);
            if steps > budget {
                known.is_beyond_budget = true;
                break;
            }
        }
        known.rules = Some(rules);
        (known, steps)
    }
}

// === impl Known ===

impl Known {
    /// Adds later results. Those of other rules are dropped.
    pub(crate) fn add(&mut self, later: Self) {
        let is_same = later.rules.as_ref().is_some_and(|it| self.is_of(it));
        if is_same {
            self.of.extend(later.of);
            self.is_beyond_budget |= later.is_beyond_budget;
        } else {
            *self = later;
        }
    }

    /// The result for a cluster.
    pub(crate) fn matched(&self, cluster: &str) -> Option<Matched> {
        let found = self.of.get(cluster).map(|it| it.matched);
        found.or_else(|| self.is_beyond_budget.then(Matched::beyond_budget))
    }

    /// Returns whether the results are those of these rules.
    pub(crate) fn is_of(&self, rules: &Arc<Rules>) -> bool {
        let own = self.rules.as_ref();
        own.is_some_and(|own| Arc::ptr_eq(own, rules))
    }

    fn has(&self, cluster: &Arc<Cluster>, scores: Option<&Arc<HashMap<String, Scores>>>) -> bool {
        self.of.get(&cluster.name).is_some_and(|it| {
            let has_scores = match (&it.scores, scores) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
            has_scores && Arc::ptr_eq(&it.cluster, cluster)
        })
    }
}
