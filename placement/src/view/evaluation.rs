//! The evaluation of a placement on the view: the scene of the pure scheduler, made of what the view keeps.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use berth_placement_core::{
    Cluster, Eligible, EligibleSet, Hub, Prioritizer, Rules, Scene, Schedule, Scores, schedule,
};
use jiff::Timestamp;

use super::members::Members;
use super::{Key, Set, View};
use crate::facts::PlacementFacts;
use crate::wanted::Wanted;

/// The hub as one placement sees it: without the placement's own decisions.
struct SeenBy<'a> {
    view: &'a View,
    own: HashMap<&'a str, u64>,
    most_foreign: u64,
}

/// A hub without decisions and scores: enough to learn whether a cluster passes the filters.
struct Bare;

// === impl View ===

impl View {
    /// Evaluates a placement. `None` if it does not exist, or is to be left alone.
    pub(crate) fn evaluate(&self, key: &Key, now: Timestamp) -> Option<Wanted> {
        let placement = self.placement(key)?;
        if placement.is_left_alone() {
            return None;
        }
        let seen = SeenBy::new(self, key, &placement.rules);
        let scene = Scene {
            eligible: self.eligible(&placement.rules),
            previous: self.previous(key),
            hub: &seen,
            now,
        };
        Some(Wanted::new(&schedule(&placement.rules, scene)))
    }

    /// The clusters that the placement's decisions list.
    pub(super) fn previous(&self, key: &Key) -> &HashSet<String> {
        static NOTHING: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
        let own = self.decisions.get(&*key.namespace);
        let own = own.and_then(|all| all.of.get(&*key.name));
        own.map_or(&NOTHING, |own| &own.clusters)
    }

    /// The sets that are bound to the placement's namespace, and that it does not exclude.
    pub(super) fn sets_of(&self, placement: &PlacementFacts) -> impl Iterator<Item = &Set> {
        let bound = self.bound_to(placement.rules.namespace());
        let wanted = bound.filter(|(name, _)| placement.wants(name));
        wanted.map(|(_, set)| set)
    }

    fn bound_to(&self, namespace: &str) -> impl Iterator<Item = (&str, &Set)> {
        let bindings = self.bindings.get(namespace).into_iter().flatten();
        bindings.filter_map(|name| Some((name.as_str(), self.sets.get(name)?)))
    }

    fn eligible(&self, rules: &Rules) -> Eligible<'_> {
        let bound = self.bound_to(rules.namespace());
        let sets = bound.map(|(name, set)| EligibleSet {
            name,
            membership: &set.membership,
        });
        // Without clusters it chooses the sets only: their members are known already.
        let mut eligible = Eligible::new(sets, rules.sets(), []);
        let mut chosen = eligible.sets.iter();
        let mut chosen = chosen.by_ref().filter_map(|it| self.sets.get(it.name));
        if let Some(first) = chosen.next() {
            let mut members = std::borrow::Cow::Borrowed(&first.members);
            for set in chosen {
                members.to_mut().add(&set.members);
            }
            eligible.candidates = self.those(&members);
        }
        eligible
    }

    fn those(&self, members: &Members) -> Vec<&Cluster> {
        let slots = members.iter();
        slots.filter_map(|slot| self.clusters.at(slot)).collect()
    }
}

/// Returns whether the cluster passes the filters of the placement, and when that ends by time alone.
pub(super) fn passes(
    placement: &PlacementFacts,
    previous: &HashSet<String>,
    cluster: &Cluster,
    now: Timestamp,
) -> (bool, Option<Timestamp>) {
    let scene = Scene {
        eligible: Eligible {
            bindings: 1,
            sets: Vec::new(),
            candidates: vec![cluster],
        },
        previous,
        hub: &Bare,
        now,
    };
    let Schedule { counts, next, .. } = schedule(&placement.rules, scene);
    (counts.feasible > 0, next)
}

// === impl SeenBy ===

impl<'a> SeenBy<'a> {
    fn new(view: &'a View, key: &Key, rules: &Rules) -> Self {
        let mut seen = Self {
            view,
            own: HashMap::new(),
            most_foreign: 0,
        };
        if !rules.uses(&Prioritizer::Balance) {
            return seen;
        }
        match view.pending.get(key) {
            Some(pending) => seen.count(pending),
            None => view.own(key).for_each(|it| seen.count(it.clusters())),
        }
        seen.most_foreign = view.balance.most_without(&seen.own);
        seen
    }

    fn count(&mut self, clusters: &'a [String]) {
        for cluster in clusters {
            *self.own.entry(cluster).or_default() += 1;
        }
    }
}

impl Hub for SeenBy<'_> {
    fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.view.clusters.get(name)
    }

    fn foreign(&self, cluster: &str) -> u64 {
        let all = self.view.balance.of(cluster);
        if all == 0 {
            return 0;
        }
        all.saturating_sub(self.own.get(cluster).copied().unwrap_or_default())
    }

    fn most_foreign(&self) -> u64 {
        self.most_foreign
    }

    fn scores(&self, cluster: &str, name: &str) -> Option<&Scores> {
        self.view.scores.get(cluster)?.get(name)
    }
}

// === impl Bare ===

impl Hub for Bare {
    fn cluster(&self, _: &str) -> Option<&Cluster> {
        None
    }

    fn foreign(&self, _: &str) -> u64 {
        0
    }

    fn most_foreign(&self) -> u64 {
        0
    }

    fn scores(&self, _: &str, _: &str) -> Option<&Scores> {
        None
    }
}
