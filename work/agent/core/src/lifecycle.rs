//! A ManifestWork from its finalizer to its removal, but for its objects.
//!
//! The order of writes makes each step safe to repeat: first the finalizer, then the AppliedManifestWork, then objects. A deleted ManifestWork
//! stays until its AppliedManifestWork is gone, and that one until its objects are. While an admin of the cluster holds it, neither goes.

use std::sync::Arc;
use std::time::Instant;

use berth_api::labels::{APPLIED_MANIFEST_WORK_CLEANUP, MANIFEST_WORK_CLEANUP};
use berth_api::plan::{Action, Plan, Target, Write};
use berth_api::work::{AppliedManifestWork, ManifestWork};
use berth_work_core::labels_due;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use super::facts::{applied_works, has_finalizer, works};
use super::hold;
use super::record::WORK;
use super::rivals::{self, Part};
use super::view::View;

/// On an AppliedManifestWork: the resourceVersion of its ManifestWork when it was created. A hub that has not come so far was restored to
/// an earlier state.
pub const HUB_VERSION: &str = "berth.open-cluster-management.io/hub-resource-version";

/// The longest name of a ManifestWork: that of its AppliedManifestWork has the hub's hash and a hyphen before it.
pub const LONGEST_NAME: usize = 253 - 65;

/// What is due for a ManifestWork before its objects.
pub fn plan(view: &View, name: &str, now: Instant) -> Plan {
    let Some(work) = view.works.get(name) else {
        return Plan::default();
    };
    let applied_name = view.applied_name(name);
    let applied = view.applied.get(&*applied_name);
    if work.metadata.deletion_timestamp.is_some() {
        return match applied {
            Some(applied) if hold::of(applied).is_some() => Plan::default(),
            Some(applied) if applied.metadata.deletion_timestamp.is_none() => {
                delete(applied, "its ManifestWork is being deleted").into()
            }
            Some(_) => Plan::default(),
            None if has_finalizer(work) => without_finalizer(view, work).into(),
            None => Plan::default(),
        };
    }
    if !view.room.has(name) {
        return Plan::default();
    }
    if !has_finalizer(work) {
        return with_finalizer(view, work).into();
    }
    if name.len() > LONGEST_NAME {
        return Plan::default();
    }
    match applied {
        None => create(view, work, applied_name).into(),
        Some(applied) if applied.metadata.deletion_timestamp.is_some() => Plan::default(),
        Some(applied) if let Some(record) = hold::record(view, work, applied) => record.into(),
        Some(_) if view.stops(name) => Plan::default(),
        Some(applied) => correct(view, work, applied)
            .filter(|_| correction_waits(view, &applied_name, now).is_none())
            .map_or_else(Plan::default, Plan::from),
    }
}

/// If another agent has undone corrections: until when the next one waits.
fn correction_waits(view: &View, applied: &str, now: Instant) -> Option<Instant> {
    view.rivals.until(applied, Part::Labels, now)
}

/// What is to be corrected in the AppliedManifestWork of a work, as a mark, and until when that waits.
pub fn corrects(view: &View, name: &str, now: Instant) -> Option<(u64, Option<Instant>)> {
    let work = view.works.get(name)?;
    let applied_name = view.applied_name(name);
    let applied = view.applied.get(&*applied_name)?;
    if view.stops(name) {
        return None;
    }
    let Action::Patch { mut body, .. } = correct(view, work, applied)?.action else {
        return None;
    };
    body["metadata"]["resourceVersion"] = Value::Null;
    let mark = rivals::mark_of(&body.to_string());
    Some((mark, correction_waits(view, &applied_name, now)))
}

/// Notes a correction. It is undone if it was the last one, too.
pub fn corrected(view: &mut View, name: &str, mark: u64, now: Instant) {
    let applied_name: Arc<str> = view.applied_name(name).into();
    if let Some(applied) = view.applied.get(&applied_name).cloned() {
        let was_undone = view.rivals.last(&applied_name, Part::Labels) == Some(mark);
        let of = (Part::Labels, mark);
        view.rival_write(&applied_name, applied, of, was_undone, now);
    }
}

/// Deletes an AppliedManifestWork.
pub fn delete(applied: &AppliedManifestWork, why: &'static str) -> Write {
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

fn with_finalizer(view: &View, work: &ManifestWork) -> Write {
    let mut finalizers = work.metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(MANIFEST_WORK_CLEANUP.to_owned());
    patch(view, work, json!(finalizers))
}

fn without_finalizer(view: &View, work: &ManifestWork) -> Write {
    let mut finalizers = work.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|it| it != MANIFEST_WORK_CLEANUP);
    patch(view, work, json!(finalizers))
}

/// A patch of the finalizers of a ManifestWork.
fn patch(view: &View, work: &ManifestWork, finalizers: Value) -> Write {
    let metadata = &work.metadata;
    Write {
        target: Target {
            resource: works(),
            namespace: Some(view.identity.cluster.clone()),
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

fn create(view: &View, work: &ManifestWork, name: String) -> Write {
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
            "hubHash": view.identity.hub_hash,
            "agentID": view.identity.agent_id,
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
fn correct(view: &View, work: &ManifestWork, applied: &AppliedManifestWork) -> Option<Write> {
    let (metadata, spec) = (&applied.metadata, &applied.spec);
    let mut changes = Map::new();
    let mut of_spec = Map::new();
    let connection = &view.identity;
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
