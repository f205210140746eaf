//! The scores of clusters.
//!
//! The arithmetic is OCM's: floating point in its order of operations, and truncated towards zero.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use crate::facts::{Cluster, Resource, Scores};
use crate::hub::Hub;
use crate::prioritizers::{Prioritizer, ScoreSource, Weights};

/// The best score of a prioritizer; the worst is its negative.
const BEST: i64 = 100;

/// The prioritizers of a placement, ready to score the clusters of a scene.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoring<'a>(Vec<Scorer<'a>>);

#[derive(Clone, Debug)]
pub(crate) struct Scorer<'a> {
    pub(crate) prioritizer: &'a Prioritizer,
    pub(crate) weight: i32,
    scale: Scale,
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    /// The most decisions of other placements that any cluster has.
    Balance {
        most: u64,
    },
    Steady,
    /// The least and the largest allocatable amount.
    Allocatable {
        resource: Resource,
        least: f64,
        largest: f64,
    },
    AddOn,
}

/// What scores are made of.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) hub: &'a dyn Hub,
    pub(crate) previous: &'a HashSet<String>,
    pub(crate) now: Timestamp,
}

// === impl Scoring ===

impl<'a> Scoring<'a> {
    /// Prepares to score these clusters, and no others.
    pub(crate) fn new<'c>(
        weights: &'a Weights,
        sources: Sources<'_>,
        feasible: impl Iterator<Item = &'c Cluster> + Clone,
    ) -> Self {
        let scorers = weights.iter().map(|(prioritizer, weight)| Scorer {
            prioritizer,
            weight,
            scale: Scale::new(prioritizer, sources, feasible.clone()),
        });
        Self(scorers.collect())
    }

    pub(crate) fn scorers(&self) -> &[Scorer<'a>] {
        &self.0
    }

    /// Returns the sum of the cluster's scores, each multiplied by its weight.
    pub(crate) fn total(&self, cluster: &Cluster, sources: Sources<'_>) -> i64 {
        let mut total: i64 = 0;
        for scorer in &self.0 {
            let score = scorer.score(cluster, sources).unwrap_or_default();
            total = total.saturating_add(score.saturating_mul(scorer.weight.into()));
        }
        total
    }
}

// === impl Scorer ===

impl<'a> Scorer<'a> {
    /// Returns the cluster's score; `None` if the cluster lacks what is scored. It then counts as 0.
    pub(crate) fn score(&self, cluster: &Cluster, sources: Sources<'_>) -> Option<i64> {
        match self.scale {
            Scale::Balance { most } => Some(balance(sources.hub.foreign(&cluster.name), most)),
            Scale::Steady => Some(if sources.previous.contains(&cluster.name) {
                BEST
            } else {
                0
            }),
            Scale::Allocatable {
                resource,
                least,
                largest,
            } => Some(allocatable(cluster.allocatable(resource)?, least, largest)),
            Scale::AddOn => {
                let Prioritizer::AddOn { resource, score } = self.prioritizer else {
                    return None;
                };
                let scores = sources.hub.scores(&cluster.name, resource)?;
                let is_expired = scores.is_expired(sources.now);
                let value = scores.values.get(score).filter(|_| !is_expired)?;
                Some(i64::from(*value))
            }
        }
    }

    /// Returns the score that the cluster has once a decision of the placement lists it.
    pub(crate) fn score_once_listed(&self, cluster: &Cluster, sources: Sources<'_>) -> Option<i64> {
        match self.scale {
            Scale::Steady => Some(BEST),
            _ => self.score(cluster, sources),
        }
    }

    /// The name of the AddOnPlacementScores that are read.
    pub(crate) fn resource(&self) -> Option<&'a str> {
        match self.prioritizer.reads() {
            ScoreSource::AddOn(resource) => Some(resource),
            ScoreSource::OtherDecisions
            | ScoreSource::OwnDecisions
            | ScoreSource::Allocatable(_) => None,
        }
    }
}

// === impl Scale ===

impl Scale {
    fn new<'c>(
        prioritizer: &Prioritizer,
        sources: Sources<'_>,
        feasible: impl Iterator<Item = &'c Cluster>,
    ) -> Self {
        match prioritizer {
            Prioritizer::Balance => Self::Balance {
                most: sources.hub.most_foreign(),
            },
            Prioritizer::Steady => Self::Steady,
            Prioritizer::AddOn { .. } => Self::AddOn,
            Prioritizer::Allocatable(resource) => {
                let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
                for amount in feasible.filter_map(|cluster| cluster.allocatable(*resource)) {
                    least = least.min(amount);
                    largest = largest.max(amount);
                }
                Self::Allocatable {
                    resource: *resource,
                    least,
                    largest,
                }
            }
        }
    }
}

/// Returns when the scores stop being valid, if they are valid now.
pub(crate) fn expiry(scores: &Scores, now: Timestamp) -> Option<Timestamp> {
    let until = scores.valid_until.filter(|_| !scores.is_expired(now))?;
    // They are still valid at that instant.
    until.checked_add(SignedDuration::from_nanos(1)).ok()
}

fn balance(count: u64, most: u64) -> i64 {
    if count == 0 {
        return BEST;
    }
    let usage = count as f64 / most as f64;
    2 * (BEST as f64 * (0.5 - usage)) as i64
}

fn allocatable(amount: f64, least: f64, largest: f64) -> i64 {
    if largest - least == 0.0 {
        return BEST;
    }
    let ratio = (amount - least) / (largest - least);
    ((ratio - 0.5) * 2.0 * 100.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balance_truncates_and_is_even() {
        for (count, most, expected) in [
            (0, 0, 100),
            (0, 5, 100),
            (1, 1, -100),
            (1, 2, 0),
            (1, 3, 32),
            (2, 3, -32),
            (1, 100, 98),
            (99, 100, -98),
        ] {
            assert_eq!(balance(count, most), expected, "{count} of {most}");
        }
    }

    #[test]
    fn allocatable_truncates_towards_zero_in_the_order_of_ocm() {
        for (amount, least, largest, expected) in [
            (20.0, 20.0, 100.0, -100),
            (60.0, 20.0, 100.0, 0),
            (100.0, 20.0, 100.0, 100),
            (5.0, 5.0, 5.0, 100),
            // (0.4 - 0.5) * 2 * 100 is a little more than -20.
            (4.0, 0.0, 10.0, -19),
            (6.0, 0.0, 10.0, 19),
        ] {
            assert_eq!(allocatable(amount, least, largest), expected, "{amount}");
        }
    }
}
