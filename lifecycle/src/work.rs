//! The work on keys that need more than a plan: requests before the decision, or a report of failures after it.

pub(super) mod cluster;
pub(super) mod csr;

use std::sync::Arc;

use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, failed, now};

use super::view::Key;
use super::world::Lifecycle;
use berth_lifecycle_core::{failures, status};

/// Works on the roles that all agents share. The clusters that wait for them report what failed.
pub(super) async fn common_roles(on: &Handle<Lifecycle>) -> Next {
    let done = on.attempt(&Key::CommonRoles).await;
    let lasted = on.failing_for(&Key::CommonRoles, now().instant);
    let failures = done.as_ref().err().into_iter().flatten();
    let reported = failures.map(|(failure, _)| failure);
    let reported: Vec<_> = reported
        .filter(|it| failures::is_told_after(it, lasted))
        .collect();
    on.change(|world, wakes| {
        let view = world.view_mut();
        view.common_roles_fail((!reported.is_empty()).then(|| status::describe(&reported)));
        wakes.extend(view.wakes());
    });
    done.unwrap_or_else(|failures| failed(&failures))
}

/// Works on a ClusterProfile. A namespace that is being deleted is left alone for a while.
pub(super) async fn profile(on: &Handle<Lifecycle>, key: &Key, namespace: &Arc<str>) -> Next {
    let failures = match on.attempt(key).await {
        Ok(done) => return done,
        Err(failures) => failures,
    };
    if !failures.iter().any(|(_, refusal)| refusal.namespace_ends) {
        return failed(&failures);
    }
    on.change(|world, _| {
        (world.view_mut()).namespace_ends(namespace.clone(), now().instant);
    });
    on.settle(key).await
}

#[cfg(test)]
mod tests;
