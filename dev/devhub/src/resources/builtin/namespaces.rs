//! Namespaces: their phase, their finalizer, and those that cannot be deleted.

use berth_api::names;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::json;

use super::fields;
use super::kind::{age, age_cell, columns, default_at, kind, name, part, subresource, text};
use crate::object::Object;
use crate::resources::{Behaviour, Cell, Resource, Verb, WriteTo};
use crate::status::{ApiError, FieldError};

/// The finalizer that every namespace starts with: it goes when the namespace is empty.
const FINALIZER: &str = "kubernetes";

/// The label that says a namespace's name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Namespaces.
#[derive(Debug)]
pub(super) struct Namespaces;

pub(super) fn resource() -> Resource {
    Resource {
        short_names: super::kind::names(&["ns"]),
        verbs: super::kind::verbs_without_deletecollection(),
        subresources: vec![
            subresource::<Namespace>("finalize", &[Verb::Update]),
            part::<Namespace>("status"),
        ],
        // `name` is an old mistake that clients came to rely upon.
        selectable_fields: super::kind::names(&["name", "status.phase"]),
        columns: columns(
            cells,
            [
                name(),
                text("Status", "The status of the namespace."),
                age(),
            ],
        ),
        name_errors: names::dns1123_label,
        behaviour: &Namespaces,
        ..kind::<Namespace>()
    }
}

fn cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    vec![
        object.name().into(),
        object.str_at(&["status", "phase"]).into(),
        age_cell(object, now),
    ]
}

impl Behaviour for Namespaces {
    fn default(&self, object: &mut Object) {
        let name = object.name().to_owned();
        if !name.is_empty() {
            object.set(&["metadata", "labels", NAME_LABEL], name);
        }
    }

    fn prepare(&self, write: &WriteTo<'_>, object: &mut Object) {
        // A generated name is known only now.
        self.default(object);
        prepare(write.subresource, object, write.old);
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        errors(write.subresource, object)
    }

    fn authorize_delete(&self, old: &Object) -> Result<(), ApiError> {
        may_go(old.name())
    }

    fn holds(&self, object: &Object) -> bool {
        !object.items(&["spec", "finalizers"]).is_empty()
    }

    fn field(&self, object: &Object, path: &str) -> Option<String> {
        (path == "name").then(|| object.name().to_owned())
    }
}

fn prepare(subresource: &str, object: &mut Object, old: Option<&Object>) {
    let Some(old) = old else {
        object.set(&["status"], json!({"phase": "Active"}));
        default_at(object, &["spec"], json!({}));
        let mut finalizers = object.items(&["spec", "finalizers"]).to_vec();
        if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            finalizers.push(FINALIZER.into());
        }
        object.set(&["spec", "finalizers"], finalizers);
        return;
    };
    let kept: &[&[&str]] = match subresource {
        "status" => &[&["spec"]],
        "finalize" => &[&["status"]],
        _ => &[&["spec", "finalizers"], &["status"]],
    };
    kept.iter().for_each(|path| object.put_back(old, path));
    default_at(object, &["spec"], json!({}));
    if subresource.is_empty() && object.is_deleting() {
        object.set(&["status", "phase"], "Terminating");
    }
}

fn errors(subresource: &str, object: &Object) -> Vec<FieldError> {
    if subresource == "status" {
        let expected = match object.is_deleting() {
            true => "Terminating",
            false => "Active",
        };
        let phase = object.str_at(&["status", "phase"]);
        let detail = format!("may only be '{expected}' while it is being deleted, or is not");
        let error = FieldError::invalid("status.Phase", phase, detail);
        return (phase != expected).then_some(error).into_iter().collect();
    }
    let mut errors = Vec::new();
    let at = "spec.finalizers";
    for name in object.texts(&["spec", "finalizers"]) {
        errors.extend(fields::each_invalid(at, name, names::qualified_name(name)));
        errors.extend(fields::unqualified_finalizer(at, name));
    }
    errors
}

/// The namespaces of the hub itself stay.
fn may_go(name: &str) -> Result<(), ApiError> {
    match name {
        "default" | "kube-system" | "kube-public" => Err(ApiError::forbidden(
            "",
            "namespaces",
            name,
            "this namespace may not be deleted",
        )),
        _ => Ok(()),
    }
}
