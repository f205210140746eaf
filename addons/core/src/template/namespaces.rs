//! Moves objects to the install namespace, and finds the namespace of the add-on's agent.

use serde_json::{Map, Value};

use crate::object::text;

/// Sets the namespace of an object, of the subjects of a binding, and the name of a Namespace. An object without a namespace counts as
/// cluster-scoped.
///
/// As in OCM, the subjects of all kinds get the namespace. Unlike OCM, a binding without subjects is left as it is.
pub(super) fn set(object: &mut Map<String, Value>, namespace: &str) {
    if !text(object, &["metadata", "namespace"]).is_empty() {
        set_field(object.get_mut("metadata"), "namespace", namespace);
    }
    match text(object, &["kind"]) {
        "Namespace" => set_field(object.get_mut("metadata"), "name", namespace),
        "RoleBinding" | "ClusterRoleBinding" => {
            let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
            for subject in subjects.into_iter().flatten() {
                set_field(Some(subject), "namespace", namespace);
            }
        }
        _ => {}
    }
}

/// Returns the namespace of the first Deployment, or else of the first DaemonSet.
pub(super) fn of_agent(objects: &[Map<String, Value>]) -> Option<&str> {
    let of_first = |kind: &str| {
        let mut all = objects.iter();
        let first = all.find(|object| {
            text(object, &["kind"]) == kind && text(object, &["apiVersion"]).starts_with("apps/")
        })?;
        Some(text(first, &["metadata", "namespace"])).filter(|it| !it.is_empty())
    };
    of_first("Deployment").or_else(|| of_first("DaemonSet"))
}

fn set_field(object: Option<&mut Value>, field: &str, value: &str) {
    if let Some(Value::Object(object)) = object {
        object.insert(field.to_owned(), value.into());
    }
}
