//! The reason why a cluster is selected or not, computed on request for one cluster.

use std::collections::HashMap;
use std::fmt;

use berth_api::cluster::Taint;
use jiff::Timestamp;

use crate::facts::Cluster;
use crate::misconfigured::Part;
use crate::predicates::Mismatch;
use crate::prioritizers::Prioritizer;
use crate::ranking::Ranked;
use crate::schedule::{Decisions, Schedule};
use crate::taints::Untolerated;

/// What a placement makes of a cluster.
#[derive(Clone, Debug)]
pub enum ClusterOutcome<'a> {
    /// A step rejected it.
    Rejected(Rejection<'a>),
    /// It passed every filter.
    Ranked(Standing<'a>),
    /// The placement cannot be evaluated.
    Undecided {
        /// The cluster's previous decision is kept.
        is_kept: bool,
    },
}

/// The first step that rejected a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection<'a> {
    /// The cluster is being deleted.
    Deleting,
    /// The cluster belongs to none of the sets that the placement may select from.
    NotInSets {
        /// The sets.
        sets: Vec<&'a str>,
    },
    /// The cluster matches no predicate.
    Unmatched(Vec<Mismatch>),
    /// The cluster has a taint that the placement does not tolerate.
    Tainted {
        /// The taint, the first of them.
        taint: &'a Taint,
        /// What the placement tolerates of it.
        tolerance: Tolerance,
    },
}

/// What a placement tolerates of a taint that rejected a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerance {
    /// No toleration matches the taint.
    None,
    /// The last toleration that matches it ended at this time.
    Ended(Timestamp),
    /// The tolerations that match it have a time limit, and the taint does not say when it was added.
    Unknown,
}

/// The place of a cluster among those that passed the filters.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    /// The place, from 1.
    pub rank: usize,
    /// How many clusters passed the filters.
    pub of: usize,
    /// The sum of the weighted scores.
    pub score: i64,
    /// The scores.
    pub parts: Vec<ScorePart<'a>>,
    /// A taint with the effect `PreferNoSelect` puts it behind all clusters without one.
    pub is_avoided: bool,
    /// The cluster is selected.
    pub is_selected: bool,
    /// The last cluster that is selected; `None` if no cluster is.
    pub cut: Option<Cut<'a>>,
    /// Spread constraints keep the cluster from being selected: a place is free, or a cluster of lower rank is selected.
    pub is_spread: bool,
}

/// The score that one prioritizer gives a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScorePart<'a> {
    /// The prioritizer.
    pub prioritizer: &'a Prioritizer,
    /// Its weight.
    pub weight: i32,
    /// The score; `None` if the cluster lacks what is scored, or its score expired. It then counts as 0.
    pub score: Option<i64>,
}

/// The last of the selected clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut<'a> {
    /// Its score.
    pub score: i64,
    /// Its name.
    pub cluster: &'a str,
}

// === impl Schedule ===

impl<'a> Schedule<'a> {
    /// Returns what the placement makes of a cluster of the hub.
    #[must_use]
    pub fn outcome(&self, cluster: &'a Cluster) -> ClusterOutcome<'a> {
        if let Some(rejection) = self.rejection(cluster) {
            return ClusterOutcome::Rejected(rejection);
        }
        let name = cluster.name.as_str();
        let found = self.ranked.iter().position(|it| it.cluster.name == name);
        match found {
            Some(position) => {
                let it = self.ranked[position];
                let better = |other: &&Ranked<'_>| other.order(&it).is_lt();
                let rank = 1 + self.ranked.iter().filter(better).count();
                ClusterOutcome::Ranked(self.standing(position, rank, self.last()))
            }
            None => self.undecided(name),
        }
    }

    /// Returns what the placement makes of each of these clusters. Faster than [`Self::outcome`] for each of them.
    #[must_use]
    pub fn outcomes(
        &self,
        clusters: impl IntoIterator<Item = &'a Cluster>,
    ) -> Vec<(&'a Cluster, ClusterOutcome<'a>)> {
        let mut order: Vec<usize> = (0..self.ranked.len()).collect();
        order.sort_unstable_by(|one, other| self.ranked[*one].order(&self.ranked[*other]));
        let places = order.into_iter().enumerate();
        let places: HashMap<&str, (usize, usize)> = places
            .map(|(index, position)| {
                let name = self.ranked[position].cluster.name.as_str();
                (name, (position, index + 1))
            })
            .collect();
        let last = self.last();
        let outcome = |cluster: &'a Cluster| {
            if let Some(rejection) = self.rejection(cluster) {
                return ClusterOutcome::Rejected(rejection);
            }
            match places.get(cluster.name.as_str()) {
                Some((position, rank)) => {
                    ClusterOutcome::Ranked(self.standing(*position, *rank, last))
                }
                None => self.undecided(&cluster.name),
            }
        };
        let clusters = clusters.into_iter();
        clusters
            .map(|cluster| (cluster, outcome(cluster)))
            .collect()
    }

    fn undecided(&self, name: &str) -> ClusterOutcome<'a> {
        ClusterOutcome::Undecided {
            is_kept: matches!(&self.decisions, Decisions::Kept(names) if names.contains(&name)),
        }
    }

    /// The last of the selected clusters.
    fn last(&self) -> Option<&Ranked<'a>> {
        self.selected().iter().max_by(|one, other| one.order(other))
    }

    fn rejection(&self, cluster: &'a Cluster) -> Option<Rejection<'a>> {
        let eligible = &self.scene.eligible;
        if cluster.is_deleting {
            return Some(Rejection::Deleting);
        }
        if !eligible.has(cluster) && eligible.broken().is_none() {
            let sets = eligible.sets.iter().map(|set| set.name).collect();
            return Some(Rejection::NotInSets { sets });
        }
        let spec = self.rules.spec.as_ref().ok();
        let spec = spec.filter(|_| self.fault.is_none())?;
        let scores = |cluster: &str, name: &str| self.scene.hub.scores(cluster, name);
        let mismatches = spec.predicates.mismatches(cluster, &scores);
        if !mismatches.is_empty() {
            return Some(Rejection::Unmatched(mismatches));
        }
        let is_selected = self.scene.is_selected(cluster);
        let judged = spec.tolerations.judge(cluster, is_selected, self.scene.now);
        let Untolerated { taint, ended, .. } = judged.err()?;
        let tolerance = match ended {
            None => Tolerance::None,
            Some(_) if taint.time_added.is_none() => Tolerance::Unknown,
            Some(ended) => Tolerance::Ended(ended),
        };
        Some(Rejection::Tainted { taint, tolerance })
    }

    fn standing(&self, position: usize, rank: usize, last: Option<&Ranked<'a>>) -> Standing<'a> {
        let it = self.ranked[position];
        let is_selected = position < self.selected().len();
        let is_passed_over =
            last.is_some_and(|last| it.order(last).is_lt()) || self.unscheduled > 0;
        let sources = self.scene.sources();
        let parts = self.scoring.scorers().iter().map(|scorer| ScorePart {
            prioritizer: scorer.prioritizer,
            weight: scorer.weight,
            score: scorer.score(it.cluster, sources),
        });
        Standing {
            rank,
            of: self.ranked.len(),
            score: it.score,
            parts: parts.collect(),
            is_avoided: it.is_avoided,
            is_selected,
            cut: last.map(|last| Cut {
                score: last.score,
                cluster: &last.cluster.name,
            }),
            is_spread: !is_selected && is_passed_over,
        }
    }
}

// === impl ClusterOutcome ===

impl fmt::Display for ClusterOutcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Ranked(standing) => standing.fmt(f),
            Self::Undecided { is_kept: true } => {
                f.write_str("the placement cannot be evaluated; the previous decision is kept")
            }
            Self::Undecided { is_kept: false } => f.write_str("the placement cannot be evaluated"),
        }
    }
}

// === impl Rejection ===

impl fmt::Display for Rejection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleting => f.write_str("the cluster is being deleted"),
            Self::NotInSets { sets } if sets.is_empty() => {
                f.write_str("no set that the placement may select from is bound to its namespace")
            }
            Self::NotInSets { sets } => {
                write!(
                    f,
                    "the cluster belongs to none of the sets {}",
                    sets.join(", ")
                )
            }
            Self::Unmatched(mismatches) => {
                for (index, mismatch) in mismatches.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{mismatch}")?;
                }
                Ok(())
            }
            Self::Tainted { taint, tolerance } => {
                write!(f, "taint {}", taint.key)?;
                if !taint.value.is_empty() {
                    write!(f, "={}", taint.value)?;
                }
                match tolerance {
                    Tolerance::None => f.write_str(" is not tolerated"),
                    Tolerance::Ended(ended) => write!(f, " was tolerated until {ended}"),
                    Tolerance::Unknown => {
                        f.write_str(" is not tolerated any more: it does not say when it was added")
                    }
                }
            }
        }
    }
}

// === impl Mismatch ===

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (predicate, requirement) = (self.predicate, &self.requirement);
        write!(f, "predicate {predicate}: ")?;
        let found = || match (&self.key, &self.found) {
            (None, _) => String::new(),
            (Some(key), None) => format!(" (the cluster has no {key})"),
            (Some(key), Some(value)) => format!(" (the cluster has {key}={value})"),
        };
        match (self.part, &self.error) {
            (Part::Labels, _) => write!(f, "the labels do not match {requirement}{}", found()),
            (Part::Claims, _) => write!(f, "the claims do not match {requirement}{}", found()),
            (Part::Cel, None) => write!(f, "the expression is false: {requirement}"),
            (Part::Cel, Some(error)) => write!(f, "the expression fails ({error}): {requirement}"),
        }
    }
}

// === impl Standing ===

impl fmt::Display for Standing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, of, score) = (self.rank, self.of, self.score);
        let verb = if self.is_selected {
            "selected"
        } else {
            "not selected"
        };
        write!(f, "{verb}: rank {rank} of {of}, score {score}")?;
        for (index, part) in self.parts.iter().enumerate() {
            let separator = if index == 0 { " = " } else { " + " };
            write!(f, "{separator}{part}")?;
        }
        if self.is_avoided {
            f.write_str(", behind clusters without a taint PreferNoSelect")?;
        }
        match self.cut {
            Some(_) if self.is_spread => f.write_str(", kept out by spread constraints"),
            Some(cut) if !self.is_selected => {
                write!(
                    f,
                    "; the last selected cluster is {} with score {}",
                    cut.cluster, cut.score
                )
            }
            _ => Ok(()),
        }
    }
}

// === impl ScorePart ===

impl fmt::Display for ScorePart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prioritizer, weight) = (self.prioritizer, self.weight);
        match self.score {
            Some(score) => write!(f, "{prioritizer} {score}")?,
            None => write!(f, "{prioritizer} unknown")?,
        }
        match weight {
            1 => Ok(()),
            weight => write!(f, " x {weight}"),
        }
    }
}
