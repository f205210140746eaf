//! The order of preference among the clusters that a placement may select.

use std::cmp::Ordering;

use crate::facts::Cluster;

/// A cluster that passed every filter, with its score.
#[derive(Clone, Copy, Debug)]
pub struct Ranked<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The sum of its weighted scores.
    pub score: i64,
    /// It has a taint with the effect `PreferNoSelect` that is not tolerated, so clusters without one come first. Always false without
    /// the gate `prefer_no_select`.
    pub is_avoided: bool,
}

// === impl Ranked ===

impl Ranked<'_> {
    /// The better cluster is less: not avoided, with the higher score, first by name.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        (self.is_avoided.cmp(&other.is_avoided))
            .then_with(|| other.score.cmp(&self.score))
            .then_with(|| self.cluster.name.cmp(&other.cluster.name))
    }
}

/// Moves the best clusters to the front, in their order, and returns how many they are: `number`, or all.
pub(crate) fn best(ranked: &mut [Ranked<'_>], number: Option<usize>) -> usize {
    let number = number.unwrap_or(ranked.len()).min(ranked.len());
    if let Some(last) = number.checked_sub(1)
        && number < ranked.len()
    {
        ranked.select_nth_unstable_by(last, Ranked::order);
    }
    ranked[..number].sort_unstable_by(Ranked::order);
    number
}
