//! Keeps the table of kinds up to date with the manifests: adds and removes watches while the agent runs.

use std::sync::Arc;

use berth_reconcile::{Handle, Item, Watched};
use berth_work_agent_core::ObjectItem;

use super::MANAGED;
use super::facts::{Fact, Kind};
use super::world::{Agent, change};

/// The name of all prescribed kinds in metrics and logs.
const NAME: &str = "objects";

/// Adds the rows that manifests need, and removes the others.
pub(crate) fn update(on: &Handle<Agent>) {
    let guard = Arc::clone(&on.world().table);
    // The changes of two updates would mix.
    let _guard = guard
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let (added, removed) = change(on, |view, _| {
        let changes = view.rows.changes();
        for row in &changes.removed {
            view.forgets(*row);
        }
        let mut added = Vec::new();
        for (row, place) in changes.added {
            // Before the watch begins: the end of its first list settles what is awaited.
            view.awaits(row);
            let Some(resource) = view.rows.resource(place.kind) else {
                continue;
            };
            let (prescriptions, evaluator) =
                (view.prescriptions.clone(), Arc::clone(&view.evaluator));
            let kind = place.kind;
            let read = move |item: &Item<'_>| {
                let read = prescriptions.read(kind, &object(item), &evaluator, None)?;
                Ok(read.map_or(Fact::Foreign, Fact::Object))
            };
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

/// An object of the managed cluster.
pub(crate) fn object<'a>(item: &'a Item<'_>) -> ObjectItem<'a> {
    ObjectItem {
        namespace: &item.meta.namespace,
        name: &item.meta.name,
        uid: &item.meta.uid,
        version: &item.meta.resource_version,
        json: item.json,
    }
}
