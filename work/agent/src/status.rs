//! The status of a ManifestWork: one patch when it changes.

use std::sync::Arc;

use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, failed};
use berth_work_agent_core::Key;

use super::world::{Agent, change};

/// Writes the status of a ManifestWork when it changes.
pub(crate) async fn reconcile(on: &Handle<Agent>, name: &Arc<str>) -> Next {
    let done = on.attempt(&Key::Status(Arc::clone(name))).await;
    done.unwrap_or_else(|failures| {
        if failures.iter().any(|(failure, _)| failure.is_too_large()) {
            change(on, |view, _| view.status_too_large(name));
        }
        failed(&failures)
    })
}
