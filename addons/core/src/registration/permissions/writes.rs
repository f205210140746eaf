//! The writes that make the stored RoleBindings those that an add-on should have.

use std::collections::BTreeMap;

use berth_api::plan::{Action, Target, Write};
use berth_api::{GroupVersionResource, groups};
use k8s_openapi::api::rbac::v1::{RoleBinding, Subject};
use serde_json::{Value, json};

use super::{Permissions, named};
use crate::registration::PERMISSIONS;

/// Returns the writes: deletions first. `stored`: the bindings that were given to [`super::permissions`].
///
/// Each write concerns an object as it was when this was decided. Objects are replaced and not patched: OCM's role grants update only.
#[must_use]
pub fn writes(found: &Permissions, stored: &[RoleBinding]) -> Vec<Write> {
    let stored: BTreeMap<_, _> = stored.iter().map(|it| (named(it), it)).collect();
    let unwanted = found.unwanted.iter().filter_map(|(namespace, name)| {
        let binding = stored.get(&(&**namespace, &**name))?;
        Some(write(binding, delete(binding)))
    });
    let wanted = found.wanted.iter().filter_map(|wanted| {
        let action = match stored.get(&named(wanted)) {
            None => Action::Create { body: body(wanted) },
            Some(stored) => Action::Replace {
                subresource: None,
                body: body(&merged(stored, wanted)?),
            },
        };
        Some(write(wanted, action))
    });
    unwanted.chain(wanted).collect()
}

fn write(binding: &RoleBinding, action: Action) -> Write {
    let (namespace, name) = named(binding);
    Write {
        target: Target {
            resource: GroupVersionResource::new(groups::RBAC, "v1", "rolebindings"),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        },
        action,
        reconciler: PERMISSIONS,
        events: Vec::new(),
    }
}

fn delete(binding: &RoleBinding) -> Action {
    let metadata = &binding.metadata;
    Action::Delete {
        uid: metadata.uid.clone().unwrap_or_default(),
        resource_version: metadata.resource_version.clone(),
        why: "no template of the add-on asks for this permission",
    }
}

/// The stored binding with what it should have; `None` if it has that. Other labels, annotations and owners stay.
fn merged(stored: &RoleBinding, wanted: &RoleBinding) -> Option<RoleBinding> {
    let mut merged = stored.clone();
    let labels = merged.metadata.labels.get_or_insert_default();
    labels.extend(wanted.metadata.labels.clone().unwrap_or_default());
    let owners = wanted.metadata.owner_references.as_deref();
    let owners = owners.unwrap_or_default();
    let kept = merged.metadata.owner_references.get_or_insert_default();
    if owners.is_empty() {
        // An owner in another namespace would let the garbage collector delete a binding that all clusters share.
        kept.retain(|it| it.kind != "ManagedClusterAddOn");
    }
    for owner in owners {
        // OCM writes another version.
        if !kept.iter().any(|it| it.uid == owner.uid) {
            kept.push(owner.clone());
        }
    }
    if kept.is_empty() {
        merged.metadata.owner_references = None;
    }
    if !is_same(stored.subjects.as_deref(), wanted.subjects.as_deref()) {
        merged.subjects.clone_from(&wanted.subjects);
    }
    (merged != *stored).then_some(merged)
}

/// In any order.
fn is_same(stored: Option<&[Subject]>, wanted: Option<&[Subject]>) -> bool {
    let sorted = |all: Option<&[Subject]>| {
        let mut all: Vec<_> = (all.unwrap_or_default().iter())
            .map(|it| (it.kind.clone(), it.name.clone(), it.namespace.clone()))
            .collect();
        all.sort_unstable();
        all
    };
    sorted(stored) == sorted(wanted)
}

fn body(binding: &RoleBinding) -> Value {
    let mut body = json!(binding);
    body["apiVersion"] = json!(format!("{}/v1", groups::RBAC));
    body["kind"] = json!("RoleBinding");
    body
}
