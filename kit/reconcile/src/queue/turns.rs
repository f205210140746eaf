//! Keys that are due, in the order in which they are worked on: groups of keys take turns, and a group's keys come in the order they
//! became due. So one group with many keys does not delay those of another.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Due keys, with the time when they became due.
#[derive(Debug)]
pub(super) struct Turns<K> {
    group_of: fn(&K) -> &str,
    groups: HashMap<Arc<str>, VecDeque<(K, Instant)>>,
    /// The groups with keys, the next one first.
    order: VecDeque<Arc<str>>,
    keys: usize,
}

// === impl Turns ===

impl<K> Turns<K> {
    pub(super) fn new(group_of: fn(&K) -> &str) -> Self {
        Self {
            group_of,
            groups: HashMap::new(),
            order: VecDeque::new(),
            keys: 0,
        }
    }

    /// Adds a key, which must not be there yet. Its group is the last one to take its turn, unless it waits already.
    pub(super) fn push(&mut self, key: K, since: Instant) {
        self.keys += 1;
        let name = (self.group_of)(&key);
        if let Some(group) = self.groups.get_mut(name) {
            group.push_back((key, since));
            return;
        }
        let name: Arc<str> = name.into();
        self.order.push_back(name.clone());
        self.groups.insert(name, VecDeque::from([(key, since)]));
    }

    /// Takes the first key of the group whose turn it is.
    pub(super) fn pop(&mut self) -> Option<(K, Instant)> {
        let name = self.order.pop_front()?;
        let group = self.groups.get_mut(&name)?;
        let first = group.pop_front()?;
        self.keys -= 1;
        if group.is_empty() {
            self.groups.remove(&name);
        } else {
            self.order.push_back(name);
        }
        Some(first)
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.keys
    }

    /// The time when the key that has waited longest became due.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let first = self.groups.values().filter_map(VecDeque::front);
        first.map(|(_, since)| *since).min()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Key = (String, usize);

    fn turns() -> Turns<Key> {
        Turns::new(|(group, _)| group)
    }

    proptest! {
        /// Every key comes out once, a group's keys in their order. While a group waits, each other group has at most one turn.
        #[test]
        fn no_group_waits_for_more_than_one_key_of_each_other_group(
            waiting in prop::collection::vec("[a-e]", 1..60),
            added in prop::collection::vec(prop::option::of("[a-e]"), 0..60),
        ) {
            let now = Instant::now();
            let mut turns = turns();
            let mut number = 0;
            // By group, the keys that wait, and the turns of other groups since its own last one.
            let mut model: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
            let mut passed: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
            let mut push = |turns: &mut Turns<Key>, model: &mut BTreeMap<String, VecDeque<usize>>, group: &String| {
                turns.push((group.clone(), number), now);
                model.entry(group.clone()).or_default().push_back(number);
                number += 1;
            };
            for group in &waiting {
                push(&mut turns, &mut model, group);
            }
            let mut added = added.into_iter();
            while let Some(((group, key), _)) = turns.pop() {
                let first = model.get_mut(&group).and_then(VecDeque::pop_front);
                prop_assert_eq!(first, Some(key), "the order within {}", group);
                passed.remove(&group);
                for (other, _) in model.iter().filter(|(other, keys)| **other != group && !keys.is_empty()) {
                    let turn = passed.entry(other.clone()).or_default().entry(group.clone()).or_default();
                    *turn += 1;
                    prop_assert!(*turn <= 1, "{} waits while {} has {} turns", other, group, turn);
                }
                if let Some(Some(group)) = added.next() {
                    push(&mut turns, &mut model, &group);
                }
                prop_assert_eq!(turns.len(), model.values().map(VecDeque::len).sum::<usize>());
            }
            prop_assert!(model.values().all(VecDeque::is_empty));
            prop_assert!(turns.groups.is_empty() && turns.oldest().is_none());
        }
    }
}
