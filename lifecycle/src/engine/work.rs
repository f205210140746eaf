//! The work on keys for which more than a plan is decided: questions are asked before, or failures are reported after.

pub(super) mod cluster;
pub(super) mod csr;

use berth_reconcile::queue::Done;
use berth_reconcile::{Work, failed, now};

use super::view::Key;
use super::world::Lifecycle;
use crate::{failures, status};

/// Works on the roles that all agents share. All clusters wait for them, so that they know what failed.
pub(super) async fn common_roles(on: &Work<Lifecycle>) -> Done {
    let done = on.attempt(&Key::CommonRoles).await;
    let lasted = on.failing_for(&Key::CommonRoles, now().instant);
    let failures = done.as_ref().err().into_iter().flatten();
    let told = failures.map(|(failure, _)| failure);
    let told: Vec<_> = told
        .filter(|it| failures::is_told_after(it, lasted))
        .collect();
    on.change(|world, wakes| {
        let view = world.view_mut();
        view.common_roles_fail((!told.is_empty()).then(|| status::describe(&told)));
        wakes.extend(view.wakes());
    });
    done.unwrap_or_else(|failures| failed(&failures))
}

#[cfg(test)]
mod tests;
