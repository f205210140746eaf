//! Keeps the table of kinds up to date with the manifests: adds and removes watches while the agent runs.

use std::sync::Arc;

use berth_reconcile::{Handle, Item, Watched};

use super::MANAGED;
use super::facts::Kind;
use super::world::Agent;

/// The name of all prescribed kinds in metrics and logs.
const NAME: &str = "objects";

/// Adds the rows that manifests need, and removes the others.
pub(crate) fn update(on: &Handle<Agent>) {
    let guard = Arc::clone(&on.world().table);
    // The changes of two updates would mix.
    let _guard = guard
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let (added, removed) = on.change(|world, _| {
        let changes = world.rows.changes();
        for row in &changes.removed {
            world.forgets(*row);
        }
        let mut added = Vec::new();
        for (row, place) in changes.added {
            world.awaits(row);
            let Some(resource) = world.rows.resource(place.kind) else {
                continue;
            };
            let (prescriptions, evaluator) =
                (world.prescriptions.clone(), Arc::clone(&world.evaluator));
            let kind = place.kind;
            let read = move |item: &Item<'_>| prescriptions.read(kind, item, &evaluator, None);
            let watched = Watched::new(NAME, resource.clone(), read)
                .on(MANAGED)
                .optional();
            added.push((
                row,
                match &place.namespace {
                    Some(namespace) => watched.within(&**namespace),
                    None => watched,
                },
            ));
        }
        (added, changes.removed)
    });
    for row in removed {
        on.unwatch(Kind::Objects(row));
    }
    for (row, watched) in added {
        on.watch(Kind::Objects(row), watched);
    }
}
