//! AppliedManifestWorks that are deleted, or whose ManifestWork is missing on the hub.

use std::sync::Arc;

use berth_api::Now;
use berth_api::labels::APPLIED_MANIFEST_WORK_CLEANUP;
use berth_api::plan::{Plan, Write};
use berth_reconcile::Work;
use berth_reconcile::queue::Done;
use serde_json::json;

use super::facts::{applied_has_finalizer, applied_works};
use super::world::{Agent, Key};

/// The name of the reconciler in metrics and logs.
pub(crate) const APPLIED: &str = "applied-work";

/// Works on an AppliedManifestWork.
pub(crate) async fn work(on: &Work<Agent>, name: &Arc<str>) -> Done {
    on.settle(&Key::Applied(Arc::clone(name))).await
}

/// What is due for an AppliedManifestWork.
pub(crate) fn plan(world: &Agent, name: &str, _now: Now) -> Plan {
    let Some(applied) = world.applied.get(name) else {
        return Plan::default();
    };
    let metadata = &applied.metadata;
    if metadata.deletion_timestamp.is_none() || !applied_has_finalizer(applied) {
        return Plan::default();
    }
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|it| it != APPLIED_MANIFEST_WORK_CLEANUP);
    let body = json!({"metadata": {
        "uid": metadata.uid, "resourceVersion": metadata.resource_version, "finalizers": finalizers,
    }});
    Write::patch(APPLIED, applied_works(), name, body).into()
}
