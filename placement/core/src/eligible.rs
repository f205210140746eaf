//! Which clusters a placement may select at all: those of the sets that are bound to its namespace.
//!
//! A binding counts if the set of its name exists. The sets that the placement names, if any, must be bound as well. Clusters that are
//! being deleted do not count. A set with an invalid selector has unknown members.

use std::collections::BTreeSet;

use berth_api::cluster_set::Membership;

use crate::facts::Cluster;

/// The sets and the clusters that a placement may select from.
#[derive(Clone, Debug, Default)]
pub struct Eligible<'a> {
    /// The number of bindings of existing sets in the namespace.
    pub bindings: usize,
    /// The sets that are bound, and that the placement does not exclude, by name.
    pub sets: Vec<EligibleSet<'a>>,
    /// The clusters of the sets, each once, without those that are being deleted.
    pub candidates: Vec<&'a Cluster>,
}

/// A set that a placement may select from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EligibleSet<'a> {
    /// The set's name.
    pub name: &'a str,
    /// Which clusters belong to it, or the mistakes in its selector.
    pub membership: &'a Result<Membership, String>,
}

// === impl Eligible ===

impl<'a> Eligible<'a> {
    /// Chooses among the sets that are bound to the namespace: those that `wanted` names, or all if it is empty.
    #[must_use]
    pub fn new(
        bound: impl IntoIterator<Item = EligibleSet<'a>>,
        wanted: &[String],
        clusters: impl IntoIterator<Item = &'a Cluster>,
    ) -> Self {
        let mut sets: Vec<_> = bound.into_iter().collect();
        let bindings = sets.len();
        if !wanted.is_empty() {
            let wanted: BTreeSet<_> = wanted.iter().map(String::as_str).collect();
            sets.retain(|set| wanted.contains(set.name));
        }
        sets.sort_unstable_by_key(|set| set.name);
        let mut eligible = Self {
            bindings,
            sets,
            candidates: Vec::new(),
        };
        let clusters = clusters.into_iter();
        eligible.candidates = clusters
            .filter(|cluster| !cluster.is_deleting && eligible.has(cluster))
            .collect();
        eligible
    }

    /// Returns whether the cluster belongs to one of the sets.
    #[must_use]
    pub fn has(&self, cluster: &Cluster) -> bool {
        let mut rules = self
            .sets
            .iter()
            .filter_map(|set| set.membership.as_ref().ok());
        rules.any(|rule| rule.matches(&cluster.labels))
    }

    /// The first set whose members are unknown, and why.
    #[must_use]
    pub fn broken(&self) -> Option<(&'a str, &'a str)> {
        self.sets.iter().find_map(|set| {
            let mistakes = set.membership.as_ref().err()?;
            Some((set.name, mistakes.as_str()))
        })
    }
}
