//! Whole ManagedClusters, which CEL expressions read. They are kept only while a placement has CEL expressions: whole, a cluster takes
//! many times the memory of the fields that the other placements read. The view bounds the memory of all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_placement_core::CelObject;
use berth_reconcile::{Item, Keep};

/// Whether whole ManagedClusters are needed. Clones share it: the view sets it, and the row of the table of kinds reads it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WholeClusters(Arc<AtomicBool>);

// === impl WholeClusters ===

impl WholeClusters {
    /// Notes whether they are needed. Returns true if that is a change.
    pub(crate) fn need(&self, are_needed: bool) -> bool {
        self.0.swap(are_needed, Ordering::Relaxed) != are_needed
    }

    /// Reads the whole object, if it is needed. Of a large one that is not accepted, only the name: it must not take the room of others.
    pub(crate) fn object(&self, item: &Item<'_>, is_accepted: bool) -> Option<Arc<CelObject>> {
        if !self.0.load(Ordering::Relaxed) {
            return None;
        }
        let is_large = !is_accepted && item.json.len() > LARGEST_WAITING;
        let whole = item.trimmed(if is_large { &NAME } else { &WHOLE }).ok()?;
        Some(Arc::new(CelObject::new(&whole)))
    }
}

/// Upper bound on the bytes of JSON of a cluster that is not accepted, to be kept whole. Without claims it has less than half of it.
const LARGEST_WAITING: usize = 16 * 1024;

/// What is kept of a larger one. Expressions that read more do not select it.
const NAME: Keep<'_> = Keep::Fields(&[("metadata", Keep::Fields(&[("name", Keep::Whole)]))]);

/// What changes with every write, and says nothing about the cluster, would wake placements for nothing.
const WHOLE: Keep<'_> = Keep::But(&[(
    "metadata",
    Keep::But(&[
        ("managedFields", Keep::Nothing),
        ("resourceVersion", Keep::Nothing),
    ]),
)]);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn object(whole: &WholeClusters, version: &str, time: &str) -> Option<Arc<CelObject>> {
        let cluster = json!({
            "metadata": {
                "name": "c", "resourceVersion": version,
                "managedFields": [{"manager": "agent", "time": time}],
            },
            "status": {"version": {"kubernetes": "v1.31.0"}},
        });
        whole.object(&Item::read(cluster.to_string().as_bytes()).unwrap(), true)
    }

    #[test]
    fn objects_are_read_while_they_are_needed_and_equal_if_only_their_writes_differ() {
        let whole = WholeClusters::default();
        assert_eq!(object(&whole, "1", "a"), None);
        assert!(whole.need(true) && !whole.need(true));
        let read = object(&whole, "1", "a");
        assert!(read.is_some());
        assert_eq!(read, object(&whole, "2", "b"));
        assert!(whole.need(false));
        assert_eq!(object(&whole, "1", "a"), None);
    }

    #[test]
    fn of_a_large_cluster_that_is_not_accepted_the_name_is_kept() {
        let whole = WholeClusters::default();
        whole.need(true);
        let taint = |number| json!({"key": format!("t{number}"), "value": "x".repeat(1000), "effect": "NoSelect"});
        let taints: Vec<_> = (0..900).map(taint).collect();
        let cluster = json!({"metadata": {"name": "c"}, "spec": {"taints": taints}}).to_string();
        let item = Item::read(cluster.as_bytes()).unwrap();
        let bytes = |is_accepted| whole.object(&item, is_accepted).unwrap().bytes();
        assert!(bytes(false) < 4 * 1024, "{}", bytes(false));
        assert!(bytes(true) > 900_000);
    }
}
