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

    /// Reads the whole object, if it is needed.
    pub(crate) fn object(&self, item: &Item<'_>) -> Option<Arc<CelObject>> {
        if !self.0.load(Ordering::Relaxed) {
            return None;
        }
        let whole = item.trimmed(&WHOLE).ok()?;
        Some(Arc::new(CelObject::new(&whole)))
    }
}

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
        whole.object(&Item::read(cluster.to_string().as_bytes()).unwrap())
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
}
