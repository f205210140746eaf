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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use http::StatusCode;

    use super::*;

    fn object(value: serde_json::Value) -> Object {
        Object::try_from(value).unwrap()
    }

    #[test]
    fn a_new_namespace_is_active_and_holds_its_finalizer() {
        let mut namespace = object(json!({
            "metadata": {"name": "a", "labels": {NAME_LABEL: "b"}},
            "spec": {"finalizers": ["example.com/x"]},
            "status": {"phase": "Terminating"},
        }));
        Namespaces.default(&mut namespace);
        prepare("", &mut namespace, None);
        assert_eq!(
            namespace.to_value(),
            json!({
                "metadata": {"name": "a", "labels": {NAME_LABEL: "a"}},
                "spec": {"finalizers": ["example.com/x", "kubernetes"]},
                "status": {"phase": "Active"},
            })
        );
        let mut bare = object(json!({"metadata": {"name": "a"}}));
        prepare("", &mut bare, None);
        assert_eq!(
            bare.at(&["spec"]),
            Some(&json!({"finalizers": ["kubernetes"]}))
        );
    }

    #[test]
    fn each_part_of_a_namespace_is_written_by_its_own_path_only() {
        let old = object(json!({
            "metadata": {"name": "a"},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }));
        let change = json!({
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {"finalizers": []},
            "status": {"phase": "Terminating"},
        });
        for (subresource, finalizers, phase) in [
            ("", json!(["kubernetes"]), "Active"),
            ("status", json!(["kubernetes"]), "Terminating"),
            ("finalize", json!([]), "Active"),
        ] {
            let mut new = object(change.clone());
            prepare(subresource, &mut new, Some(&old));
            assert_eq!(
                new.at(&["spec", "finalizers"]),
                Some(&finalizers),
                "{subresource:?}"
            );
            assert_eq!(new.str_at(&["status", "phase"]), phase, "{subresource:?}");
        }
    }

    #[test]
    fn a_deleted_namespace_terminates_until_it_is_empty() {
        let old = object(json!({
            "metadata": {"name": "a"},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }));
        let mut going = old.clone();
        going.set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z");
        prepare("", &mut going, Some(&old));
        assert_eq!(going.str_at(&["status", "phase"]), "Terminating");
        assert!(Namespaces.holds(&going));
        let mut empty = going.clone();
        empty.set(&["spec", "finalizers"], json!([]));
        prepare("finalize", &mut empty, Some(&going));
        assert_eq!(empty.str_at(&["status", "phase"]), "Terminating");
        assert!(!Namespaces.holds(&empty));
    }

    #[test]
    fn a_namespace_is_refused_at_the_field_that_is_wrong() {
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        for (subresource, value, expected) in [
            (
                "",
                json!({"spec": {"finalizers": ["kubernetes", "a.b/c"]}}),
                "",
            ),
            (
                "",
                json!({"spec": {"finalizers": ["y"]}}),
                "spec.finalizers",
            ),
            (
                "finalize",
                json!({"spec": {"finalizers": ["y"]}}),
                "spec.finalizers",
            ),
            (
                "status",
                json!({"status": {"phase": "Terminating"}}),
                "status.Phase",
            ),
            (
                "status",
                json!({"metadata": deleted, "status": {"phase": "Active"}}),
                "status.Phase",
            ),
            ("status", json!({"status": {"phase": "Active"}}), ""),
        ] {
            let found = errors(subresource, &object(value));
            let field = found.first().map_or("", |error| error.field.as_str());
            assert_eq!(field, expected, "{subresource}");
        }
    }

    #[test]
    fn the_hubs_own_namespaces_stay() {
        let error = may_go("default").unwrap_err();
        assert_eq!(error.code, StatusCode::FORBIDDEN);
        assert_eq!(error.reason, "Forbidden");
        assert_eq!(
            error.message,
            "namespaces \"default\" is forbidden: this namespace may not be deleted"
        );
        assert_eq!(may_go("kube-node-lease"), Ok(()));
    }
}
