//! What has been seen of the kinds that an operator watches.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;

use berth_operator_core::Failure;
use berth_operator_core::objects::Kind;
use berth_reconcile::WatchError;

/// Which kinds were listed, and which the API server does not serve, or does not let the operator list.
pub(crate) struct Sight<K> {
    listed: HashSet<K>,
    missing: HashSet<K>,
    /// Watched for a time only.
    watched: HashSet<K>,
    /// What the operator needs, and may not list: the names of the rows, and the API server's words.
    forbidden: BTreeMap<&'static str, String>,
}

// === impl Sight ===

impl<K: Eq + Hash> Sight<K> {
    pub(crate) fn new() -> Self {
        Self {
            listed: HashSet::new(),
            missing: HashSet::new(),
            watched: HashSet::new(),
            forbidden: BTreeMap::new(),
        }
    }

    /// Returns whether this is news. `name`: of the row.
    pub(crate) fn listed(&mut self, kind: K, name: &'static str) -> bool {
        let was_missing = self.missing.remove(&kind);
        let was_forbidden = self.forbidden.remove(name).is_some();
        self.listed.insert(kind) || was_missing || was_forbidden
    }

    /// Returns whether this is news.
    pub(crate) fn missing(&mut self, kind: K) -> bool {
        self.missing.insert(kind)
    }

    /// Notes that a kind cannot be listed that is needed. Returns whether this is news.
    pub(crate) fn forbidden(&mut self, name: &'static str, error: &WatchError) -> bool {
        let error = error.to_string();
        self.forbidden.insert(name, error.clone()) != Some(error)
    }

    /// What the operator may not list, as failures.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        let failures = self.forbidden.iter().map(|(name, error)| Failure {
            kind: Kind::ClusterRole,
            message: format!("the operator cannot list {name} ({error}): apply its role again"),
        });
        failures.collect()
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
