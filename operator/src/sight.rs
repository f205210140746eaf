//! What has been seen of the kinds that an operator watches.

use std::collections::HashSet;
use std::hash::Hash;

/// Which kinds were listed, and which the API server does not serve, or does not let the operator list.
pub(crate) struct Sight<K> {
    listed: HashSet<K>,
    missing: HashSet<K>,
    /// Watched for a time only.
    watched: HashSet<K>,
}

// === impl Sight ===

impl<K: Eq + Hash> Sight<K> {
    pub(crate) fn new() -> Self {
        Self {
            listed: HashSet::new(),
            missing: HashSet::new(),
            watched: HashSet::new(),
        }
    }

    /// Returns whether this is news.
    pub(crate) fn listed(&mut self, kind: K) -> bool {
        let was_missing = self.missing.remove(&kind);
        self.listed.insert(kind) || was_missing
    }

    /// Returns whether this is news.
    pub(crate) fn missing(&mut self, kind: K) -> bool {
        self.missing.insert(kind)
    }

    /// Notes that a kind is watched for a time.
    pub(crate) fn watched(&mut self, kind: K) {
        self.watched.insert(kind);
    }

    pub(crate) fn is_watched(&self, kind: &K) -> bool {
        self.watched.contains(kind)
    }

    /// Forgets what is not watched any more.
    pub(crate) fn forget(&mut self, kind: &K) {
        self.watched.remove(kind);
        self.listed.remove(kind);
        self.missing.remove(kind);
    }

    pub(crate) fn is_listed(&self, kind: &K) -> bool {
        self.listed.contains(kind)
    }

    /// Returns whether it has been seen what there is, or that there is nothing to see.
    pub(crate) fn is_known(&self, kind: &K) -> bool {
        self.listed.contains(kind) || self.missing.contains(kind)
    }
}
