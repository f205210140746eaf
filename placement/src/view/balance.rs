//! How often PlacementDecisions list each cluster: what the prioritizer Balance reads.
//!
//! The counts are kept up to date, so that an evaluation reads them without a pass over all PlacementDecisions of the hub.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// The number of decisions of each cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Balance {
    counts: HashMap<Box<str>, u64>,
    /// By number of decisions, how many clusters have as many.
    levels: BTreeMap<u64, usize>,
    /// Grows with each change.
    version: u64,
}

// === impl Balance ===

impl Balance {
    /// Counts a decision for each of these clusters.
    pub(crate) fn add<'a>(&mut self, clusters: impl IntoIterator<Item = &'a String>) {
        for name in clusters {
            match self.counts.get_mut(name.as_str()) {
                Some(count) => {
                    let old = *count;
                    *count += 1;
                    self.moves(old, old + 1);
                }
                None => {
                    self.counts.insert(name.as_str().into(), 1);
                    self.moves(0, 1);
                }
            }
        }
    }

    /// Takes back what [`Self::add`] counted.
    pub(crate) fn remove<'a>(&mut self, clusters: impl IntoIterator<Item = &'a String>) {
        for name in clusters {
            let Some(count) = self.counts.get_mut(name.as_str()) else {
                continue;
            };
            let old = *count;
            *count -= 1;
            if old == 1 {
                self.counts.remove(name.as_str());
            }
            self.moves(old, old - 1);
        }
    }

    /// The number of decisions of a cluster.
    pub(crate) fn of(&self, cluster: &str) -> u64 {
        self.counts.get(cluster).copied().unwrap_or_default()
    }

    /// The most decisions that a cluster has, apart from these.
    pub(crate) fn most_without(&self, own: &HashMap<&str, u64>) -> u64 {
        let mut own_levels: HashMap<u64, usize> = HashMap::new();
        let mut most = 0;
        for (name, own) in own {
            let all = self.of(name);
            *own_levels.entry(all).or_default() += 1;
            most = most.max(all.saturating_sub(*own));
        }
        let has_others =
            |level: &u64, clusters: &usize| own_levels.get(level).is_none_or(|own| own < clusters);
        let mut levels = self.levels.iter().rev();
        let others = levels.find(|(level, clusters)| has_others(level, clusters));
        others.map_or(most, |(level, _)| most.max(*level))
    }

    /// Changes with each change of a count.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// One cluster moves from a level to another. Clusters without decisions are not counted.
    fn moves(&mut self, from: u64, to: u64) {
        self.version += 1;
        if let Some(clusters) = self.levels.get_mut(&from) {
            *clusters -= 1;
            if *clusters == 0 {
                self.levels.remove(&from);
            }
        }
        if to > 0 {
            *self.levels.entry(to).or_default() += 1;
        }
    }
}

/// Returns what the first of two lists of clusters has more than the second one, and the other way round.
pub(crate) fn difference<'a>(
    old: &'a [String],
    new: &'a [String],
) -> (Vec<&'a String>, Vec<&'a String>) {
    let sorted = |names: &'a [String]| {
        let mut names: Vec<_> = names.iter().collect();
        names.sort_unstable();
        names.into_iter().peekable()
    };
    let (mut old, mut new) = (sorted(old), sorted(new));
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    loop {
        let order = match (old.peek(), new.peek()) {
            (Some(one), Some(other)) => one.cmp(other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return (gone, come),
        };
        match order {
            Ordering::Less => gone.extend(old.next()),
            Ordering::Greater => come.extend(new.next()),
            Ordering::Equal => {
                old.next();
                new.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_differ_in_what_one_has_more_often() {
        let names = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        for (old, new, gone, come) in [
            ("", "", "", ""),
            ("ab", "ba", "", ""),
            ("aab", "bcc", "aa", "cc"),
            ("", "ab", "", "ab"),
            ("cab", "", "abc", ""),
        ] {
            let (old, new) = (names(old), names(new));
            let text = |names: Vec<&String>| names.into_iter().cloned().collect::<String>();
            let (less, more) = difference(&old, &new);
            assert_eq!((text(less), text(more)), (gone.to_owned(), come.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn counts_equal_those_of_a_pass_over_all_decisions(
            lists in prop::collection::vec((prop::collection::vec("[a-e]", 0..6), any::<bool>()), 1..12),
        ) {
            let mut balance = Balance::default();
            for (list, _) in &lists {
                balance.add(list);
            }
            for (list, _) in lists.iter().filter(|(_, stays)| !stays) {
                balance.remove(list);
            }
            let kept: Vec<_> = lists.iter().filter(|(_, stays)| *stays).map(|(list, _)| list).collect();
            // Each of them is once the placement's own.
            for own in &kept {
                let count = |lists: &[&Vec<String>], name: &str| {
                    lists.iter().flat_map(|list| list.iter()).filter(|it| *it == name).count() as u64
                };
                let mut counts: HashMap<&str, u64> = HashMap::new();
                for name in *own {
                    *counts.entry(name.as_str()).or_default() += 1;
                }
                let foreign = |name: &str| count(&kept, name) - count(&[own], name);
                let most = ["a", "b", "c", "d", "e"].map(foreign).into_iter().max();
                prop_assert_eq!(Some(balance.most_without(&counts)), most);
                prop_assert_eq!(balance.of("a"), count(&kept, "a"));
            }
        }
    }
}
