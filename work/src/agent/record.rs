//! The objects that the agent has applied for a ManifestWork, as its AppliedManifestWork lists them.

use std::time::Instant;

use berth_api::plan::{Action, Target, Write};
use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_hub::CallError;
use berth_reconcile::Work;
use serde_json::json;

use super::facts::applied_works;
use super::lifecycle::WORK;
use super::objects::{Entry, Known};
use super::targets::Ready;
use super::world::Agent;

/// Records the objects of a work that exist, and deletes those that it does not prescribe any more. Returns when to look again.
///
/// # Errors
/// The managed cluster does not respond.
pub(crate) async fn record(
    on: &Work<Agent>,
    name: &str,
    ready: &Ready,
) -> Result<Option<Instant>, CallError> {
    let applied_name = ready.applied.metadata.name.clone().unwrap_or_default();
    let write = {
        let world = on.world();
        let (Some(progress), Some(applied)) = (
            world.progress.get(name),
            world.applied.get(applied_name.as_str()),
        ) else {
            return Ok(None);
        };
        let mut resources: Vec<_> = progress
            .entries()
            .filter_map(|entry| match world.known(entry) {
                Known::Present(arrived) => Some(meta(entry, &arrived.uid)),
                Known::Unknown | Known::Missing => None,
            })
            .collect();
        resources.sort_by(|a, b| {
            (&a.group, &a.version, &a.resource, &a.namespace, &a.name).cmp(&(
                &b.group,
                &b.version,
                &b.resource,
                &b.namespace,
                &b.name,
            ))
        });
        list(applied, &resources)
    };
    if let Some(write) = write {
        let _ = on.carry_out(vec![write]).await;
    }
    Ok(None)
}

fn meta(entry: &Entry, uid: &str) -> AppliedManifestResourceMeta {
    let meta = &entry.meta;
    AppliedManifestResourceMeta {
        group: meta.group.clone(),
        name: meta.name.clone(),
        namespace: meta.namespace.clone(),
        resource: meta.resource.clone(),
        uid: uid.to_owned(),
        version: meta.version.clone(),
    }
}

/// A patch of the list, if it differs.
pub(crate) fn list(
    applied: &AppliedManifestWork,
    resources: &[AppliedManifestResourceMeta],
) -> Option<Write> {
    let stored = applied.status.as_ref().map(|it| &*it.applied_resources);
    if stored.unwrap_or_default() == resources {
        return None;
    }
    Some(status(applied, json!({"appliedResources": resources})))
}

/// A patch of the status of an AppliedManifestWork.
pub(crate) fn status(applied: &AppliedManifestWork, status: serde_json::Value) -> Write {
    let metadata = &applied.metadata;
    Write {
        target: Target {
            resource: applied_works(),
            namespace: None,
            name: metadata.name.clone().unwrap_or_default(),
        },
        action: Action::Patch {
            subresource: Some("status"),
            body: json!({
                "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
                "status": status,
            }),
        },
        reconciler: WORK,
        events: Vec::new(),
    }
}
