//! What an evaluation asks of the hub.

use crate::facts::{Cluster, Scores};
use crate::predicates::Matched;

/// The parts of the hub that a placement reads besides the clusters that it may select.
///
/// # Assumptions
/// `most_foreign` is the maximum of `foreign` over all names, also those of clusters that do not exist.
pub trait Hub {
    /// The cluster of this name, if it exists.
    fn cluster(&self, name: &str) -> Option<&Cluster>;

    /// How often the PlacementDecisions of other placements list the cluster.
    fn foreign(&self, cluster: &str) -> u64;

    /// How often they list the cluster that they list most often.
    fn most_foreign(&self) -> u64;

    /// The scores of the AddOnPlacementScore with this name in the cluster's namespace.
    fn scores(&self, cluster: &str, name: &str) -> Option<&Scores>;

    /// What [`Rules::matched`](crate::Rules::matched) found out about the cluster before. `None`: the evaluation finds it out.
    fn matched(&self, _cluster: &str) -> Option<Matched> {
        None
    }
}
