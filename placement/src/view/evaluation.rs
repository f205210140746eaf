//! The evaluation of a placement on the view: the scene of the pure scheduler, made of what the view keeps.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use berth_placement_core::{
    Cluster, Eligible, EligibleSet, Hub, Matched, Rules, Scene, ScoreSource, Scores, judged,
    postponed, schedule,
};
use jiff::Timestamp;

use super::kept::{Bench, Evaluation};
use super::members::Members;
use super::{Key, Known, Set, View};
use crate::facts::PlacementFacts;
use crate::wanted::Wanted;

/// The hub as one placement sees it: without the placement's own decisions.
pub(super) struct SeenBy<'a> {
    view: &'a View,
    key: &'a Key,
    /// The prioritizer Balance counts.
    balances: bool,
    own: OnceCell<HashMap<&'a str, u64>>,
    most_foreign: OnceCell<u64>,
    known: Option<&'a Known>,
}

// === impl View ===

impl View {
    /// Evaluates a placement. `None` if it does not exist, or is to be left alone.
    pub(crate) fn evaluate(&self, key: &Key, now: Timestamp) -> Option<Wanted> {
        let placement = self.placement(key)?;
        if placement.is_left_alone() {
            return None;
        }
        let seen = SeenBy::new(self, key, &placement.rules);
        Some(self.evaluate_anew(placement, &seen, now))
    }

    /// The result for a placement whose evaluation must wait until then.
    pub(crate) fn postpone(
        &self,
        key: &Key,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<Arc<Wanted>> {
        let placement = self.placement(key)?;
        let seen = SeenBy::new(self, key, &placement.rules);
        let wanted = Wanted::new(&postponed(
            &placement.rules,
            self.scene(placement, &seen, now),
        ));
        Some(Arc::new(Wanted {
            next: Some(until),
            ..wanted
        }))
    }

    /// As [`Self::evaluate`], but from what was kept of the placement's last evaluation, and keeps this one. CEL expressions are not
    /// evaluated on clusters of which the result is known.
    pub(crate) fn evaluate_kept(
        &mut self,
        key: &Key,
        known: &Known,
        now: Timestamp,
    ) -> Option<Arc<Wanted>> {
        let old = self.kept.take(key);
        let (wanted, new) = self.evaluate_from(key, old, known, now)?;
        if let Some(new) = new {
            self.kept.put(key, new);
        }
        Some(wanted)
    }

    /// The result from what was kept, and that of a new evaluation, each with the scores of the selected clusters.
    #[cfg(test)]
    #[allow(clippy::type_complexity, reason = "a test")]
    pub(super) fn evaluate_both(
        &mut self,
        key: &Key,
        now: Timestamp,
    ) -> [Option<(Arc<Wanted>, Option<Vec<i64>>)>; 2] {
        let known = Known::default();
        let anew = self.evaluate_from(key, None, &known, now);
        let old = self.kept.take(key);
        let kept = self.evaluate_from(key, old, &known, now);
        let [kept, anew] = [kept, anew].map(|it| {
            it.map(|(wanted, kept)| {
                let number = wanted.counts.selected;
                let scores = kept.as_ref().map(|it| it.scores(number));
                ((wanted, scores), kept)
            })
        });
        if let Some((_, Some(kept))) = &kept {
            self.kept.put(key, kept.clone());
        }
        [kept, anew].map(|it| it.map(|(result, _)| result))
    }

    fn evaluate_from(
        &self,
        key: &Key,
        old: Option<Evaluation>,
        known: &Known,
        now: Timestamp,
    ) -> Option<(Arc<Wanted>, Option<Evaluation>)> {
        let placement = self.placement(key)?;
        if placement.is_left_alone() {
            return None;
        }
        let rules = &placement.rules;
        let mut seen = SeenBy::new(self, key, rules);
        seen.known = Some(known).filter(|it| it.is_of(rules));
        let most_foreign = old.as_ref().and_then(|it| it.most_foreign(&self.balance));
        if let Some(most_foreign) = most_foreign {
            seen.most_foreign = most_foreign.into();
        }
        let previous = self.listed_for(&key.namespace, &key.name);
        let eligible = self.chosen_sets(rules);
        let judge = rules.judge(&seen, previous, now);
        let judge = judge.filter(|_| eligible.broken().is_none());
        let Some(judge) = judge else {
            let wanted = self.evaluate_anew(placement, &seen, now);
            return Some((Arc::new(wanted), None));
        };
        let sets = eligible.sets.iter();
        let sets: Vec<_> = sets.filter_map(|it| self.sets.get(it.name)).collect();
        let bench = Bench {
            view: self,
            judge: &judge,
            sets: &sets,
            hub: &seen,
            bindings: eligible.bindings,
            shows_counts: placement.rules.records_scores(),
            now,
        };
        let followed = old.and_then(|old| old.follow(&bench));
        let Some(mut kept) = followed.or_else(|| Evaluation::new(&bench)) else {
            let wanted = self.evaluate_anew(placement, &seen, now);
            return Some((Arc::new(wanted), None));
        };
        let scene = Scene {
            eligible,
            previous,
            hub: &seen,
            now,
        };
        let wanted = kept.result.take().unwrap_or_else(|| {
            let schedule = judged(rules, scene, kept.counts, kept.selected(&bench));
            Arc::new(Wanted::new(&schedule))
        });
        kept.result = Some(wanted.clone());
        Some((wanted, Some(kept)))
    }

    fn evaluate_anew(
        &self,
        placement: &PlacementFacts,
        seen: &SeenBy<'_>,
        now: Timestamp,
    ) -> Wanted {
        Wanted::new(&schedule(
            &placement.rules,
            self.scene(placement, seen, now),
        ))
    }

    fn scene<'a>(
        &'a self,
        placement: &'a PlacementFacts,
        seen: &'a SeenBy<'_>,
        now: Timestamp,
    ) -> Scene<'a> {
        let rules = &placement.rules;
        Scene {
            eligible: self.eligible(rules),
            previous: self.listed_for(rules.namespace(), rules.name()),
            hub: seen,
            now,
        }
    }

    /// The clusters that the decisions of a placement list.
    pub(super) fn listed_for(&self, namespace: &str, placement: &str) -> &HashSet<String> {
        static NOTHING: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
        let own = self.decisions.get(namespace);
        let own = own.and_then(|all| all.of.get(placement));
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

    /// The sets that a placement may select from, without their clusters.
    pub(super) fn chosen_sets(&self, rules: &Rules) -> Eligible<'_> {
        let bound = self.bound_to(rules.namespace());
        let sets = bound.map(|(name, set)| EligibleSet {
            name,
            membership: &set.membership,
        });
        Eligible::new(sets, rules.sets(), [])
    }

    fn eligible(&self, rules: &Rules) -> Eligible<'_> {
        let mut eligible = self.chosen_sets(rules);
        if let Some(members) = self.members_of(&eligible) {
            eligible.candidates = self.those(&members);
        }
        eligible
    }

    /// The clusters of these sets. `None` without a set.
    pub(super) fn members_of(&self, eligible: &Eligible<'_>) -> Option<Cow<'_, Members>> {
        let chosen = eligible.sets.iter();
        let mut chosen = chosen.filter_map(|it| self.sets.get(it.name));
        let mut members = Cow::Borrowed(&chosen.next()?.members);
        for set in chosen {
            members.to_mut().add(&set.members);
        }
        Some(members)
    }

    fn those(&self, members: &Members) -> Vec<&Cluster> {
        let slots = members.iter();
        slots.filter_map(|slot| self.clusters.at(slot)).collect()
    }
}

// === impl SeenBy ===

impl<'a> SeenBy<'a> {
    pub(super) fn new(view: &'a View, key: &'a Key, rules: &Rules) -> Self {
        Self {
            view,
            key,
            balances: (rules.score_sources()).any(|it| it == ScoreSource::OtherDecisions),
            own: OnceCell::new(),
            most_foreign: OnceCell::new(),
            known: None,
        }
    }

    /// How often the placement's own decisions list each cluster.
    fn own(&self) -> &HashMap<&'a str, u64> {
        self.own.get_or_init(|| {
            let view = self.view;
            let mut own: HashMap<&str, u64> = HashMap::new();
            let mut count = |clusters: &'a [String]| {
                for cluster in clusters {
                    *own.entry(cluster).or_default() += 1;
                }
            };
            match view.pending.get(self.key) {
                Some(pending) => count(pending),
                None => view.own(self.key).for_each(|it| count(it.clusters())),
            }
            own
        })
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
        all.saturating_sub(self.own().get(cluster).copied().unwrap_or_default())
    }

    fn most_foreign(&self) -> u64 {
        if !self.balances {
            return 0;
        }
        let most = || self.view.balance.most_without(self.own());
        *self.most_foreign.get_or_init(most)
    }

    fn scores(&self, cluster: &str, name: &str) -> Option<&Scores> {
        self.view.scores.get(cluster)?.get(name)
    }

    fn matched(&self, cluster: &str) -> Option<Matched> {
        self.known?.matched(cluster)
    }
}
