//! A ManifestWork from its finalizer to its removal, but for its objects.
//!
//! The order of writes makes each step safe to repeat: first the finalizer, then the AppliedManifestWork, then objects. A deleted ManifestWork
//! stays until its AppliedManifestWork is gone, and that one until its objects are.

use std::sync::Arc;
use std::time::Instant;

use berth_api::labels::{APPLIED_MANIFEST_WORK_CLEANUP, MANIFEST_WORK_CLEANUP};
use berth_api::plan::{Action, Plan, Target, Write};
use berth_api::work::{AppliedManifestWork, ManifestWork};
use berth_reconcile::{Handle, now};
use berth_work_core::labels_due;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use super::facts::{applied_works, has_finalizer, works};
use super::rivals::{self, Part};
use super::world::Agent;

/// The name of the reconciler in metrics and logs.
pub(crate) const WORK: &str = "work";

/// On an AppliedManifestWork: the resourceVersion of its ManifestWork when it was created. A hub that has not come so far was restored to
/// an earlier state.
pub(crate) const HUB_VERSION: &str = "berth.open-cluster-management.io/hub-resource-version";

/// The longest name of a ManifestWork: that of its AppliedManifestWork has the hub's hash and a hyphen before it.
pub(crate) const LONGEST_NAME: usize = 253 - 65;

/// What is due for a ManifestWork before its objects.
pub(crate) fn plan(world: &Agent, name: &str) -> Plan {
    let Some(work) = world.works.get(name) else {
        return Plan::default();
    };
    let applied_name = world.applied_name(name);
    let applied = world.applied.get(&*applied_name);
    if work.metadata.deletion_timestamp.is_some() {
        return match applied {
            Some(applied) if applied.metadata.deletion_timestamp.is_none() => {
                delete(applied, "its ManifestWork is being deleted").into()
            }
            Some(_) => Plan::default(),
            None if has_finalizer(work) => without_finalizer(world, work).into(),
            None => Plan::default(),
        };
    }
    if !world.room.has(name) {
        return Plan::default();
    }
    if !has_finalizer(work) {
        return with_finalizer(world, work).into();
    }
    if name.len() > LONGEST_NAME {
        return Plan::default();
    }
    match applied {
        None => create(world, work, applied_name).into(),
        Some(applied) if applied.metadata.deletion_timestamp.is_some() => Plan::default(),
        Some(applied) => correct(world, work, applied)
            .filter(|_| correction_waits(world, &applied_name).is_none())
            .map_or_else(Plan::default, Plan::from),
    }
}

/// If another agent has undone corrections: until when the next one waits.
fn correction_waits(world: &Agent, applied: &str) -> Option<Instant> {
    world.rivals.until(applied, Part::Labels, now().instant)
}

/// What is to be corrected in the AppliedManifestWork of a work, as a mark, and until when that waits.
pub(crate) fn corrects(world: &Agent, name: &str) -> Option<(u64, Option<Instant>)> {
    let work = world.works.get(name)?;
    let applied_name = world.applied_name(name);
    let applied = world.applied.get(&*applied_name)?;
    let Action::Patch { mut body, .. } = correct(world, work, applied)?.action else {
        return None;
    };
    body["metadata"]["resourceVersion"] = Value::Null;
    let mark = rivals::mark_of(&body.to_string());
    Some((mark, correction_waits(world, &applied_name)))
}

/// Notes a correction. It is undone if it was the last one, too.
pub(crate) fn corrected(on: &Handle<Agent>, name: &str, mark: u64) {
    let contested = on.change(|world, _| {
        let applied_name: Arc<str> = world.applied_name(name).into();
        let applied = world.applied.get(&applied_name).cloned()?;
        let (rivals, part) = (&mut world.rivals, Part::Labels);
        let was_undone = rivals.last(&applied_name, part) == Some(mark);
        let is_news = rivals.wrote(&applied_name, part, mark, was_undone, now().instant);
        is_news.then_some(applied)
    });
    if let Some(applied) = contested {
        rivals::tell(on, &applied);
    }
}

/// Deletes an AppliedManifestWork.
pub(crate) fn delete(applied: &AppliedManifestWork, why: &'static str) -> Write {
    let metadata = &applied.metadata;
    Write {
        target: Target {
            resource: applied_works(),
            namespace: None,
            name: metadata.name.clone().unwrap_or_default(),
        },
        action: Action::Delete {
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: None,
            why,
        },
        reconciler: WORK,
        events: Vec::new(),
    }
}

fn with_finalizer(world: &Agent, work: &ManifestWork) -> Write {
    let mut finalizers = work.metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(MANIFEST_WORK_CLEANUP.to_owned());
    patch(world, work, json!(finalizers))
}

fn without_finalizer(world: &Agent, work: &ManifestWork) -> Write {
    let mut finalizers = work.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|it| it != MANIFEST_WORK_CLEANUP);
    patch(world, work, json!(finalizers))
}

/// A patch of the finalizers of a ManifestWork.
fn patch(world: &Agent, work: &ManifestWork, finalizers: Value) -> Write {
    let metadata = &work.metadata;
    Write {
        target: Target {
            resource: works(),
            namespace: Some(world.connection.cluster.clone()),
            name: metadata.name.clone().unwrap_or_default(),
        },
        action: Action::Patch {
            subresource: None,
            body: json!({"metadata": {
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
                "finalizers": finalizers,
            }}),
        },
        reconciler: WORK,
        events: Vec::new(),
    }
}

fn create(world: &Agent, work: &ManifestWork, name: String) -> Write {
    let labels = work.metadata.labels.as_ref();
    let mut metadata = labels_due(labels, &ObjectMeta::default());
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    annotations[HUB_VERSION] = json!(work.metadata.resource_version);
    metadata.insert("name".to_owned(), json!(name));
    let finalizers = json!([APPLIED_MANIFEST_WORK_CLEANUP]);
    metadata.insert("finalizers".to_owned(), finalizers);
    let body = json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "AppliedManifestWork",
        "metadata": metadata,
        "spec": {
            "hubHash": world.connection.hub_hash,
            "agentID": world.connection.agent_id,
            "manifestWorkName": work.metadata.name,
        },
    });
    Write {
        target: Target {
            resource: applied_works(),
            namespace: None,
            name,
        },
        action: Action::Create { body },
        reconciler: WORK,
        events: Vec::new(),
    }
}

/// A patch of the AppliedManifestWork, if it differs.
fn correct(world: &Agent, work: &ManifestWork, applied: &AppliedManifestWork) -> Option<Write> {
    let (metadata, spec) = (&applied.metadata, &applied.spec);
    let mut changes = Map::new();
    let mut of_spec = Map::new();
    let connection = &world.connection;
    let name = work.metadata.name.as_deref().unwrap_or_default();
    for (field, is, should) in [
        ("hubHash", &spec.hub_hash, connection.hub_hash.as_str()),
        ("agentID", &spec.agent_id, &connection.agent_id),
        ("manifestWorkName", &spec.manifest_work_name, name),
    ] {
        if is != should {
            of_spec.insert(field.to_owned(), json!(should));
        }
    }
    if !of_spec.is_empty() {
        changes.insert("spec".to_owned(), of_spec.into());
    }
    let mut of_metadata = labels_due(work.metadata.labels.as_ref(), metadata);
    let finalizers = metadata.finalizers.clone().unwrap_or_default();
    if !finalizers
        .iter()
        .any(|it| it == APPLIED_MANIFEST_WORK_CLEANUP)
    {
        let mut finalizers = finalizers;
        finalizers.push(APPLIED_MANIFEST_WORK_CLEANUP.to_owned());
        of_metadata.insert("finalizers".to_owned(), json!(finalizers));
    }
    if changes.is_empty() && of_metadata.is_empty() {
        return None;
    }
    of_metadata.insert("uid".to_owned(), json!(metadata.uid));
    of_metadata.insert(
        "resourceVersion".to_owned(),
        json!(metadata.resource_version),
    );
    changes.insert("metadata".to_owned(), of_metadata.into());
    let target = metadata.name.clone().unwrap_or_default();
    Some(Write::patch(
        WORK,
        applied_works(),
        target,
        Value::Object(changes),
    ))
}
