//! Maps the manifests of a ManifestWork to objects, and watches these.

use std::sync::Arc;

use berth_reconcile::{Handle, now};
use berth_work_agent_core::targets::{self, Ranked, Shared};
use berth_work_agent_core::{Change, RbacKind, Ready};
use tokio::task::coop::consume_budget;

use super::facts::{Kind, permissions};
use super::world::{Agent, change};
use super::{served, table};

/// Brings the manifests of a work up to date: maps each to its object. [`watch`] has to follow.
pub(crate) async fn map(on: &Handle<Agent>, name: &Arc<str>, ready: &Ready) {
    if targets::is_mapped(&on.world().view, name, ready) {
        return;
    }
    let mut shared = Shared::of(name, ready);
    let count = ready.work.spec.workload.manifests.len();
    let mut slots = Vec::with_capacity(count);
    for ordinal in 0..count {
        slots.push(slot(on, &mut shared, ready, ordinal).await);
        // Patterns of configs are compared with each manifest.
        consume_budget().await;
    }
    change(on, |view, _| targets::install(view, name, ready, slots));
}

/// Tries again to map a manifest whose kind was not served. Returns true if it is mapped now.
pub(crate) async fn map_again(
    on: &Handle<Agent>,
    name: &Arc<str>,
    ready: &Ready,
    ordinal: usize,
) -> bool {
    let (_, slot) = slot(on, &mut Shared::of(name, ready), ready, ordinal).await;
    let is_mapped = change(on, |view, _| {
        targets::install_one(view, name, ordinal, slot)
    });
    if is_mapped {
        table::update(on);
    }
    is_mapped
}

/// Watches the objects of all works that are mapped, and no others; and roles and bindings while a ManifestWork has an executor.
pub(crate) fn watch(on: &Handle<Agent>) {
    let change = change(on, |view, _| view.permissions_needed());
    for kind in RbacKind::ALL {
        match change {
            Some(Change::Watch) => on.watch(Kind::Permissions(kind), permissions(kind)),
            Some(Change::Unwatch) => on.unwatch(Kind::Permissions(kind)),
            None => {}
        }
    }
    table::update(on);
}

/// Forgets a work: its objects are watched for other works only.
pub(crate) fn forget(on: &Handle<Agent>, name: &str) {
    if change(on, |view, _| targets::forget(view, name)) {
        watch(on);
    }
}

/// The slot of a manifest, and its rank.
async fn slot(
    on: &Handle<Agent>,
    shared: &mut Shared<'_>,
    ready: &Ready,
    ordinal: usize,
) -> Ranked {
    let manifest = match targets::read(&ready.work, ordinal) {
        Ok(manifest) => manifest,
        Err(slot) => return slot,
    };
    let mapped = served::resource(on, manifest.kind()).await;
    change(on, |view, _| {
        manifest.matched(view, shared, mapped, now().instant)
    })
}
