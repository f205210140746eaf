//! A whole hub in memory, and the scenes of placements in it.
//!
//! Nothing is kept between evaluations. A snapshot is the reference for an index that is kept up to date, and it evaluates placements on
//! files.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use berth_api::cluster_set::Membership;
use jiff::Timestamp;

use crate::eligible::{Eligible, EligibleSet};
use crate::facts::{Cluster, Decision, Scores};
use crate::hub::Hub;
use crate::prioritizers::ScoreSource;
use crate::rules::Rules;
use crate::schedule::{Scene, Schedule, schedule};

/// The objects of a hub that placements read.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The ManagedClusters by name.
    pub clusters: BTreeMap<String, Cluster>,
    /// The ManagedClusterSets by name, with the mistakes of those whose selector is invalid.
    pub sets: BTreeMap<String, Result<Membership, String>>,
    /// The names of the ManagedClusterSetBindings by namespace.
    pub bindings: BTreeMap<String, BTreeSet<String>>,
    /// The PlacementDecisions.
    pub decisions: Vec<Decision>,
    /// The AddOnPlacementScores by namespace (the cluster's name) and name.
    pub scores: BTreeMap<String, BTreeMap<String, Scores>>,
}

/// The hub as one placement sees it: without the placement's own decisions.
#[derive(Clone, Debug)]
pub struct View<'a> {
    snapshot: &'a Snapshot,
    foreign: HashMap<&'a str, u64>,
    most_foreign: u64,
}

// === impl Snapshot ===

impl Snapshot {
    /// The clusters that the PlacementDecisions of a placement list.
    #[must_use]
    pub fn previous(&self, namespace: &str, placement: &str) -> HashSet<String> {
        let own = self.decisions.iter();
        let own = own.filter(|it| it.is_of(namespace, placement));
        own.flat_map(|it| &it.clusters).cloned().collect()
    }

    /// The sets and the clusters that a placement may select from.
    #[must_use]
    pub fn eligible(&self, rules: &Rules) -> Eligible<'_> {
        let bindings = self.bindings.get(rules.namespace());
        let bound = bindings.into_iter().flatten().filter_map(|name| {
            let (name, membership) = self.sets.get_key_value(name)?;
            Some(EligibleSet { name, membership })
        });
        Eligible::new(bound, rules.sets(), self.clusters.values())
    }

    /// The hub as a placement sees it.
    #[must_use]
    pub fn view(&self, rules: &Rules) -> View<'_> {
        let mut foreign: HashMap<&str, u64> = HashMap::new();
        if rules
            .score_sources()
            .any(|it| it == ScoreSource::OtherDecisions)
        {
            for decision in &self.decisions {
                if decision.is_of(rules.namespace(), rules.name()) {
                    continue;
                }
                for cluster in &decision.clusters {
                    *foreign.entry(cluster).or_default() += 1;
                }
            }
        }
        View {
            snapshot: self,
            most_foreign: foreign.values().copied().max().unwrap_or_default(),
            foreign,
        }
    }
}

// === impl View ===

impl<'a> View<'a> {
    /// Evaluates the placement that the view was made for.
    #[must_use]
    pub fn schedule(
        &'a self,
        rules: &'a Rules,
        previous: &'a HashSet<String>,
        now: Timestamp,
    ) -> Schedule<'a> {
        let scene = Scene {
            eligible: self.snapshot.eligible(rules),
            previous,
            hub: self,
            now,
        };
        schedule(rules, scene)
    }
}

impl Hub for View<'_> {
    fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.snapshot.clusters.get(name)
    }

    fn foreign(&self, cluster: &str) -> u64 {
        self.foreign.get(cluster).copied().unwrap_or_default()
    }

    fn most_foreign(&self) -> u64 {
        self.most_foreign
    }

    fn scores(&self, cluster: &str, name: &str) -> Option<&Scores> {
        self.snapshot.scores.get(cluster)?.get(name)
    }
}
