//! What is kept of the objects of a kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_api::groups;
use berth_reconcile::{Item, Meta, Watched};
use serde_json::Value;

use super::watched;
use crate::fact::ClusterFact;
use crate::table::Table;

/// A store of the objects of a kind. An object's key is its name, or `NAMESPACE/NAME`.
pub(crate) trait Store: Default + Send + 'static {
    /// What is kept of an object; None if it cannot be read.
    type Object;

    /// The resource and its group, for messages.
    const RESOURCE: &'static str;

    /// The row of the kind. Objects are read by [`Self::read`].
    fn watched() -> Watched<()>;

    /// Reads an object.
    fn read(item: &Item<'_>) -> Option<Self::Object>;

    /// Keeps an object; None if it exists, and cannot be read.
    fn insert(&mut self, key: &str, object: Option<Self::Object>);

    /// Forgets an object.
    fn remove(&mut self, key: &str);

    /// Forgets the objects whose key does not exist.
    fn retain(&mut self, exists: impl FnMut(&str) -> bool);
}

/// What is kept of an object of an [`Objects`].
pub(crate) trait Fact: Sized + Send + Sync + 'static {
    /// The resource and its group, for messages.
    const RESOURCE: &'static str;

    /// Upper bound on the objects that are kept. Further ones are not shown.
    fn most() -> usize;

    /// The row of the kind. Objects are read by [`Self::read`].
    fn watched() -> Watched<()>;

    /// Reads an object; None if it cannot be read, or is not of interest.
    fn read(item: &Item<'_>) -> Option<Self>;
}

/// The objects of a kind, by key.
#[derive(Debug)]
pub(crate) struct Objects<F>(BTreeMap<String, Arc<F>>);

/// Returns the key of an object.
pub(super) fn key(meta: &Meta) -> String {
    match meta.namespace.as_str() {
        "" => meta.name.clone(),
        namespace => format!("{namespace}/{}", meta.name),
    }
}

// === impl Objects ===

impl<F> Objects<F> {
    /// All objects, by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<F>> {
        self.0.values()
    }

    /// The object with this key.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<F>> {
        self.0.get(key)
    }

    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<F> Default for Objects<F> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<F: Fact> Store for Objects<F> {
    type Object = F;

    const RESOURCE: &'static str = F::RESOURCE;

    fn watched() -> Watched<()> {
        F::watched()
    }

    fn read(item: &Item<'_>) -> Option<F> {
        F::read(item)
    }

    fn insert(&mut self, key: &str, object: Option<F>) {
        match object {
            Some(fact) if self.0.len() < F::most() || self.0.contains_key(key) => {
                self.0.insert(key.to_owned(), Arc::new(fact));
            }
            _ => self.remove(key),
        }
    }

    fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    fn retain(&mut self, mut exists: impl FnMut(&str) -> bool) {
        self.0.retain(|key, _| exists(key));
    }
}

// === impl Table ===

impl Store for Table {
    type Object = ClusterFact;

    const RESOURCE: &'static str = "managedclusters.cluster.open-cluster-management.io";

    fn watched() -> Watched<()> {
        watched(
            "managedclusters",
            (groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS),
        )
    }

    fn read(item: &Item<'_>) -> Option<ClusterFact> {
        let object: Value = item.parse().ok()?;
        Some(ClusterFact::read(&object))
    }

    fn insert(&mut self, key: &str, object: Option<ClusterFact>) {
        match object {
            Some(fact) => Self::insert(self, fact),
            None => Self::remove(self, key),
        }
    }

    fn remove(&mut self, key: &str) {
        Self::remove(self, key);
    }

    fn retain(&mut self, exists: impl FnMut(&str) -> bool) {
        Self::retain(self, exists);
    }
}
