//! What is kept of the last evaluation of each placement: what it made of each cluster, and which are the best. After changes of some
//! clusters, only those are judged again.
//!
//! # Guarantees
//! - The result equals that of a new evaluation. Whatever else changes (the spec, the sets, the most decisions that any cluster has, a clock
//!   that goes back), the evaluation is made anew, or all its scores are.
//! - Placements whose results can change by time alone, or depend on all clusters at once, are not kept.
//! - All of it takes at most [`LARGEST`] bytes. Beyond that, the evaluation that was used least recently is dropped.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use berth_placement_core::{Counts, Hub, Judge, Ranked, Verdict};
use jiff::Timestamp;

use super::balance::Balance;
use super::members::Members;
use super::{Key, Set, View};
use crate::wanted::Wanted;

/// Upper bound on the bytes of all evaluations.
const LARGEST: usize = 64 << 20;

/// More changes than this, and than a quarter of the clusters, are not caught up with: to judge all clusters anew is faster.
const LEAST_MANY: usize = 16;

/// Clusters that are ranked beyond those that are selected. When selected ones drop out, the next ones are known. Small hubs of the tests
/// are to run out of them.
const RESERVE: usize = if cfg!(all(test, debug_assertions)) {
    1
} else {
    64
};

/// The kept evaluations.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    by_key: HashMap<Key, (u64, Evaluation)>,
    /// By their last use.
    used: BTreeMap<u64, Key>,
    uses: u64,
    bytes: usize,
}

/// What an evaluation made of the clusters.
#[derive(Clone, Debug)]
pub(crate) struct Evaluation {
    at: Timestamp,
    /// The changes up to this position of the journal are applied.
    position: u64,
    /// The versions of the sets.
    sets: Vec<u64>,
    /// The version of the counts of decisions, and the most decisions of other placements that a cluster has.
    balance: u64,
    most_foreign: u64,
    /// The number of bindings of sets.
    bindings: usize,
    /// The result, until a cluster changes that is selected before or after, or there are no candidates any more. Other changes change its
    /// counts only.
    pub(crate) result: Option<Arc<Wanted>>,
    pub(crate) counts: Counts,
    unmatched: Members,
    tainted: Members,
    feasible: Members,
    /// The best of the feasible clusters in their order, by slot, with their scores. All others rank behind them.
    best: Vec<(i64, u32)>,
}

/// What clusters are judged by.
pub(crate) struct Bench<'a> {
    pub(crate) view: &'a View,
    pub(crate) judge: &'a Judge<'a>,
    pub(crate) sets: &'a [&'a Set],
    pub(crate) hub: &'a dyn Hub,
    /// The number of bindings of sets.
    pub(crate) bindings: usize,
    /// The result states how many clusters each step left.
    pub(crate) shows_counts: bool,
    pub(crate) now: Timestamp,
}

// === impl Kept ===

impl Kept {
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the evaluation of a placement out.
    pub(crate) fn take(&mut self, key: &Key) -> Option<Evaluation> {
        let (used, evaluation) = self.by_key.remove(key)?;
        self.used.remove(&used);
        self.bytes -= evaluation.bytes();
        Some(evaluation)
    }

    /// Keeps the evaluation of a placement, of which none is kept.
    pub(crate) fn put(&mut self, key: &Key, evaluation: Evaluation) {
        self.uses += 1;
        self.bytes += evaluation.bytes();
        self.used.insert(self.uses, key.clone());
        self.by_key.insert(key.clone(), (self.uses, evaluation));
        while self.bytes > LARGEST
            && let Some((_, oldest)) = self.used.pop_first()
        {
            if let Some((_, dropped)) = self.by_key.remove(&oldest) {
                self.bytes -= dropped.bytes();
            }
        }
    }
}

// === impl Evaluation ===

impl Evaluation {
    /// The most decisions of other placements that a cluster has, if no count has changed since then.
    pub(crate) fn most_foreign(&self, balance: &Balance) -> Option<u64> {
        (self.balance == balance.version()).then_some(self.most_foreign)
    }

    /// Judges all clusters. `None` if the verdict on one can change by time alone.
    pub(crate) fn new(bench: &Bench<'_>) -> Option<Self> {
        let mut it = Self {
            at: bench.now,
            position: bench.view.journal.end(),
            sets: bench.versions().collect(),
            balance: bench.view.balance.version(),
            most_foreign: bench.hub.most_foreign(),
            bindings: bench.bindings,
            result: None,
            counts: Counts::default(),
            unmatched: Members::default(),
            tainted: Members::default(),
            feasible: Members::default(),
            best: Vec::new(),
        };
        let mut candidates = Members::default();
        for set in bench.sets {
            candidates.add(&set.members);
        }
        let mut ranked = Vec::new();
        for slot in candidates.iter() {
            if let Some(score) = it.note(slot, bench)? {
                ranked.push((score, u32::try_from(slot).ok()?));
            }
        }
        it.rank(ranked, bench);
        Some(it)
    }

    /// Catches up with the changes of clusters since then. `None` if that is not possible.
    pub(crate) fn follow(mut self, bench: &Bench<'_>) -> Option<Self> {
        if bench.now < self.at
            || self.bindings != bench.bindings
            || !self.sets.iter().copied().eq(bench.versions())
        {
            return None;
        }
        let mut changed = bench.view.journal.since(self.position)?;
        if changed.len() > LEAST_MANY.max(self.counts.candidates / 4) {
            return None;
        }
        changed.sort_unstable();
        let number = bench.judge.number();
        let before = self.counts;
        let mut matters = self.selects_one_of(&changed, number);
        // First all of them are forgotten: the others are known to be in their order.
        for slot in &changed {
            self.forget(*slot);
        }
        for slot in &changed {
            self.add(*slot, bench)?;
        }
        matters |= self.selects_one_of(&changed, number);
        matters |= (before.candidates > 0) != (self.counts.candidates > 0);
        matters |= bench.shows_counts && before != self.counts;
        if matters {
            self.result = None;
        } else if let Some(result) = &mut self.result {
            let selected = result.counts.selected;
            Arc::make_mut(result).counts = Counts {
                selected,
                ..self.counts
            };
        }
        let is_short = self.best.len() < number.min(self.counts.feasible);
        let balance = bench.view.balance.version();
        let is_rescored = balance != self.balance && {
            let most = bench.hub.most_foreign();
            std::mem::replace(&mut self.most_foreign, most) != most
        };
        if is_short || is_rescored {
            self.rank_all(bench)?;
            self.result = None;
        }
        self.at = bench.now;
        self.balance = balance;
        self.position = bench.view.journal.end();
        Some(self)
    }

    /// The selected clusters, the best one first.
    pub(crate) fn selected<'a>(&self, bench: &Bench<'a>) -> Vec<Ranked<'a>> {
        let best = self.best.iter().take(bench.judge.number());
        let ranked = best.filter_map(|(score, slot)| {
            Some(Ranked {
                cluster: bench.view.clusters.at(*slot as usize)?,
                score: *score,
                is_avoided: false,
            })
        });
        ranked.collect()
    }

    #[cfg(test)]
    pub(crate) fn scores(&self, number: usize) -> Vec<i64> {
        self.best
            .iter()
            .take(number)
            .map(|(score, _)| *score)
            .collect()
    }

    /// Returns whether one of these slots, which are sorted, is among the selected clusters.
    fn selects_one_of(&self, slots: &[usize], number: usize) -> bool {
        let mut selected = self.best.iter().take(number);
        selected.any(|(_, slot)| slots.binary_search(&(*slot as usize)).is_ok())
    }

    fn forget(&mut self, slot: usize) {
        if self.unmatched.set(slot, false) {
            self.counts.unmatched -= 1;
        } else if self.tainted.set(slot, false) {
            self.counts.tainted -= 1;
        } else if self.feasible.set(slot, false) {
            self.counts.feasible -= 1;
            self.best.retain(|(_, it)| *it as usize != slot);
        } else {
            return;
        }
        self.counts.candidates -= 1;
    }

    /// Judges a cluster that is forgotten, and adds it. `None` if the verdict can change by time alone.
    fn add(&mut self, slot: usize, bench: &Bench<'_>) -> Option<()> {
        let are_all_ranked = self.best.len() == self.counts.feasible;
        if !bench.sets.iter().any(|set| set.members.has(slot)) {
            return Some(());
        }
        if let Some(score) = self.note(slot, bench)? {
            let it = (score, u32::try_from(slot).ok()?);
            let place = self
                .best
                .partition_point(|other| bench.is_before(other, &it));
            if place < self.best.len() || are_all_ranked {
                self.best.insert(place, it);
                self.best.truncate(bench.ranked());
            }
        }
        Some(())
    }

    /// Judges a candidate, and counts it. Returns its score if it is feasible; `None` if the verdict can change by time alone.
    #[allow(clippy::option_option, reason = "for `?`")]
    fn note(&mut self, slot: usize, bench: &Bench<'_>) -> Option<Option<i64>> {
        let Some(cluster) = bench.view.clusters.at(slot) else {
            return Some(None);
        };
        let (members, count, score) = match bench.judge.verdict(cluster) {
            Verdict::Unmatched => (&mut self.unmatched, &mut self.counts.unmatched, None),
            Verdict::Tainted => (&mut self.tainted, &mut self.counts.tainted, None),
            Verdict::Feasible(score) => {
                (&mut self.feasible, &mut self.counts.feasible, Some(score))
            }
            Verdict::Timed => return None,
        };
        members.set(slot, true);
        *count += 1;
        self.counts.candidates += 1;
        Some(score)
    }

    /// Scores and ranks all feasible clusters anew.
    fn rank_all(&mut self, bench: &Bench<'_>) -> Option<()> {
        let mut ranked = Vec::with_capacity(self.counts.feasible);
        for slot in self.feasible.iter() {
            let cluster = bench.view.clusters.at(slot)?;
            ranked.push((bench.judge.score(cluster), u32::try_from(slot).ok()?));
        }
        self.rank(ranked, bench);
        Some(())
    }

    fn rank(&mut self, mut ranked: Vec<(i64, u32)>, bench: &Bench<'_>) {
        let number = bench.ranked();
        if number < ranked.len() {
            ranked.select_nth_unstable_by(number, |one, other| bench.order(one, other));
            ranked.truncate(number);
        }
        ranked.sort_unstable_by(|one, other| bench.order(one, other));
        ranked.shrink_to(number);
        self.best = ranked;
    }

    fn bytes(&self) -> usize {
        let members = [&self.unmatched, &self.tainted, &self.feasible];
        let members: usize = members.iter().map(|it| it.bytes()).sum();
        let best = self.best.capacity() * size_of::<(i64, u32)>();
        size_of::<Self>() + members + best + self.sets.capacity() * size_of::<u64>()
    }
}

// === impl Bench ===

impl Bench<'_> {
    /// The number of clusters that are ranked.
    fn ranked(&self) -> usize {
        self.judge.number() + RESERVE
    }

    fn versions(&self) -> impl Iterator<Item = u64> {
        self.sets.iter().map(|set| set.version)
    }

    fn order(&self, one: &(i64, u32), other: &(i64, u32)) -> std::cmp::Ordering {
        let name = |slot: u32| {
            let cluster = self.view.clusters.at(slot as usize);
            cluster.map(|it| it.name.as_str())
        };
        (other.0.cmp(&one.0)).then_with(|| name(one.1).cmp(&name(other.1)))
    }

    fn is_before(&self, one: &(i64, u32), other: &(i64, u32)) -> bool {
        self.order(one, other).is_lt()
    }
}
