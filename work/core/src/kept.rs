//! What is computed once and used often, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;

/// Values that were used lately, in two generations: when the recent ones weigh too much, those that were not used since the last time
/// are forgotten.
#[derive(Debug)]
pub(crate) struct Kept<K, V> {
    recent: HashMap<K, (V, usize)>,
    older: HashMap<K, (V, usize)>,
    /// The weight of `recent`.
    weight: usize,
    /// The weight at which a new generation begins.
    most: usize,
}

// === impl Kept ===

impl<K: Eq + Hash, V: Clone> Kept<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            recent: HashMap::new(),
            older: HashMap::new(),
            weight: 0,
            most,
        }
    }

    /// The value of a key, which counts as used.
    pub(crate) fn find(&mut self, key: &K) -> Option<V> {
        if let Some((value, _)) = self.recent.get(key) {
            return Some(value.clone());
        }
        let (key, (value, weight)) = self.older.remove_entry(key)?;
        self.keep(key, value.clone(), weight);
        Some(value)
    }

    /// Keeps a value that weighs so much.
    pub(crate) fn keep(&mut self, key: K, value: V, weight: usize) {
        if self.weight > self.most {
            self.older = std::mem::take(&mut self.recent);
            self.weight = 0;
        }
        self.weight += weight;
        self.recent.insert(key, (value, weight));
    }

    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&K, usize)> {
        let all = self.recent.iter().chain(&self.older);
        all.map(|(key, (_, weight))| (key, *weight))
    }
}
