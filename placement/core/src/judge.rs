//! The evaluation of a placement cluster by cluster, for a caller that keeps what it learned: after the change of one cluster, only that
//! one is judged again.
//!
//! It is possible for placements whose verdict on a cluster depends on this cluster only, and on the number [`Hub::most_foreign`]: not
//! with CEL expressions, prioritizers of allocatable amounts, spread constraints or `PreferNoSelect`. The result equals that of
//! [`schedule`](crate::schedule()).

use std::collections::HashSet;

use jiff::Timestamp;

use crate::facts::Cluster;
use crate::hub::Hub;
use crate::ranking::Ranked;
use crate::rules::{Rules, Spec};
use crate::schedule::{Counts, Scene, Schedule};
use crate::scoring::{Scoring, Sources};
use crate::taints::Untolerated;

/// Upper bound on `numberOfClusters`. To write more decisions takes longer than to compute them.
const LARGEST_NUMBER: usize = 256;

/// Judges the clusters of a placement one by one.
pub struct Judge<'a> {
    spec: &'a Spec,
    scoring: Scoring<'a>,
    sources: Sources<'a>,
    number: usize,
}

/// What a placement makes of one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It matches no predicate.
    Unmatched,
    /// It has a taint that is not tolerated.
    Tainted,
    /// It passes the filters, with this sum of weighted scores.
    Feasible(i64),
    /// It passes the filters, and this, or its scores, can change by time alone.
    Timed,
}

// === impl Rules ===

impl Rules {
    /// Judges clusters one by one. `None` if the placement cannot be evaluated so, or not at all.
    #[must_use]
    pub fn judge<'a>(
        &'a self,
        hub: &'a dyn Hub,
        previous: &'a HashSet<String>,
        now: Timestamp,
    ) -> Option<Judge<'a>> {
        let spec = self.spec.as_ref().ok()?;
        let number = spec.number.filter(|it| *it <= LARGEST_NUMBER)?;
        let is_excluded = self.settings.gates.prefer_no_select
            || !spec.spread.is_empty()
            || spec.predicates.use_cel()
            || spec.weights.iter().any(|(it, _)| it.is_relative());
        if is_excluded {
            return None;
        }
        let sources = Sources { hub, previous, now };
        Some(Judge {
            spec,
            scoring: Scoring::new(&spec.weights, sources, std::iter::empty()),
            sources,
            number,
        })
    }

    /// Returns whether a cluster matches the predicates, which read its labels and claims. CEL expressions are not evaluated: `None` if there
    /// are some, or if the spec is invalid.
    #[must_use]
    pub fn matches(&self, cluster: &Cluster) -> Option<bool> {
        let spec = self.spec.as_ref().ok()?;
        let predicates = Some(&spec.predicates).filter(|it| !it.use_cel())?;
        Some(predicates.matches_without_cel(cluster))
    }

    /// Returns whether the cluster passes the filters, and until when at least. `is_selected` is asked only if it has taints. CEL expressions
    /// are not evaluated: `None` if there are some, or if the spec is invalid.
    #[must_use]
    pub fn passes(
        &self,
        cluster: &Cluster,
        is_selected: &dyn Fn() -> bool,
        now: Timestamp,
    ) -> Option<Result<Option<Timestamp>, Rejected>> {
        let spec = self.spec.as_ref().ok()?;
        Some(if !self.matches(cluster)? {
            Err(Rejected::Anyhow)
        } else if cluster.taints.is_empty() {
            Ok(None)
        } else {
            let judged = spec.tolerations.judge(cluster, is_selected(), now);
            judged.map_err(|_| match self.records_scores() {
                true => Rejected::Tainted,
                false => Rejected::Anyhow,
            })
        })
    }
}

/// The filters reject the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// By a predicate, or by a taint if rejected clusters are not counted in the status ([`Gates::scores`](crate::Gates::scores)).
    Anyhow,
    /// By a taint, and rejected clusters are counted.
    Tainted,
}

// === impl Judge ===

impl Judge<'_> {
    /// The number of clusters that the placement wants.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Judges a cluster that the placement may select.
    #[must_use]
    pub fn verdict(&self, cluster: &Cluster) -> Verdict {
        let Sources { hub, previous, now } = self.sources;
        if !self.spec.predicates.matches_without_cel(cluster) {
            return Verdict::Unmatched;
        }
        let is_selected = previous.contains(&cluster.name);
        match (self.spec.tolerations).judge(cluster, is_selected, now) {
            Ok(Some(_)) | Err(Untolerated { again: Some(_), .. }) => return Verdict::Timed,
            Err(_) => return Verdict::Tainted,
            Ok(None) => {}
        }
        let ends = |resource| {
            let scores = hub.scores(&cluster.name, resource);
            scores.is_some_and(|it| it.valid_until.is_some())
        };
        let mut scorers = self.scoring.scorers().iter();
        if scorers.any(|it| it.resource().is_some_and(ends)) {
            return Verdict::Timed;
        }
        Verdict::Feasible(self.score(cluster))
    }

    /// The score of a cluster that passes the filters.
    #[must_use]
    pub fn score(&self, cluster: &Cluster) -> i64 {
        self.scoring.total(cluster, self.sources)
    }
}

/// The schedule of a placement whose clusters were judged one by one. `selected`: the best clusters, the best one first. `scene` needs no
/// candidates: `counts` has their number. Of other clusters, the schedule knows no [`ClusterOutcome`](crate::ClusterOutcome).
#[must_use]
pub fn judged<'a>(
    rules: &'a Rules,
    scene: Scene<'a>,
    counts: Counts,
    selected: Vec<Ranked<'a>>,
) -> Schedule<'a> {
    Schedule::concluded(rules, scene, counts, selected)
}
