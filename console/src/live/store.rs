//! What is kept of the objects of a kind.

use berth_api::{GroupVersionResource, groups};
use berth_reconcile::{Item, Watched};
use serde_json::Value;

use crate::fact::ClusterFact;
use crate::table::Table;

/// A store of the objects of a kind.
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
    fn insert(&mut self, name: &str, object: Option<Self::Object>);

    /// Forgets an object.
    fn remove(&mut self, name: &str);

    /// Forgets the objects whose name does not exist.
    fn retain(&mut self, exists: impl FnMut(&str) -> bool);
}

// === impl Table ===

impl Store for Table {
    type Object = ClusterFact;

    const RESOURCE: &'static str = "managedclusters.cluster.open-cluster-management.io";

    fn watched() -> Watched<()> {
        let kind = GroupVersionResource {
            group: groups::CLUSTER.to_owned(),
            version: "v1".to_owned(),
            resource: groups::MANAGED_CLUSTERS.to_owned(),
        };
        Watched::new("managedclusters", kind, |_| Ok(()))
    }

    fn read(item: &Item<'_>) -> Option<ClusterFact> {
        let object: Value = item.parse().ok()?;
        Some(ClusterFact::read(&object))
    }

    fn insert(&mut self, name: &str, object: Option<ClusterFact>) {
        match object {
            Some(fact) => Self::insert(self, fact),
            None => Self::remove(self, name),
        }
    }

    fn remove(&mut self, name: &str) {
        Self::remove(self, name);
    }

    fn retain(&mut self, exists: impl FnMut(&str) -> bool) {
        Self::retain(self, exists);
    }
}
