//! Validates the `metadata` of objects of any kind, in kube-apiserver's words.

use berth_api::names;
use serde_json::Value;

use crate::object::{Object, text_at};
use crate::resources::builtin::fields::{each_invalid, too_long};
use crate::status::FieldError;

/// How many bytes the annotations of one object may have together.
const ANNOTATIONS_MAX: usize = 256 * 1024;

const MANAGER_MAX: usize = 128;

/// Fields that never change, as far as the server has not restored them itself.
const FIXED: [&str; 6] = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// Everything that is wrong. With `old` it is an update. `name_errors` says what is wrong with a name.
pub(crate) fn errors(
    object: &Object,
    old: Option<&Object>,
    namespaced: bool,
    name_errors: &dyn Fn(&str) -> Vec<String>,
) -> Vec<FieldError> {
    let mut errors = match old {
        Some(old) => update_errors(object, old),
        None => name_and_namespace_errors(object, namespaced, name_errors),
    };
    errors.extend(label_errors(object));
    errors.extend(annotation_errors(object));
    errors.extend(owner_errors(object));
    errors.extend(finalizer_errors(object));
    errors.extend(managed_fields_errors(object));
    errors
}

/// Words of warning about finalizers that could collide with other people's. Kubernetes has them for custom resources, and
/// refuses such finalizers on most kinds of its own.
pub(crate) fn finalizer_warnings(object: &Object, old: Option<&Object>) -> Vec<String> {
    let known = old.map(Object::finalizers).unwrap_or_default();
    let mut warnings = Vec::new();
    let mut finalizers = object.finalizers();
    finalizers.sort_unstable();
    finalizers.dedup();
    for name in finalizers {
        if known.contains(&name) {
            continue;
        }
        let told = |words: &str| format!("metadata.finalizers: {name:?}: {words}");
        warnings.extend(names::qualified_name(name).iter().map(|words| told(words)));
        if name.contains('/') || matches!(name, "orphan" | "foregroundDeletion" | "kubernetes") {
            continue;
        }
        warnings.push(told(if name.contains('.') {
            "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
        } else {
            "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
        }));
    }
    warnings
}

fn name_and_namespace_errors(
    object: &Object,
    namespaced: bool,
    name_errors: &dyn Fn(&str) -> Vec<String>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let generate = object.str_at(&["metadata", "generateName"]);
    if !generate.is_empty() {
        let reasons = name_errors(&as_prefix(generate));
        errors.extend(each_invalid("metadata.generateName", generate, reasons));
    }
    match object.name() {
        "" => errors.push(FieldError::required(
            "metadata.name",
            "name or generateName is required",
        )),
        name => errors.extend(each_invalid("metadata.name", name, name_errors(name))),
    }
    // The namespace was compared with the path.
    if namespaced {
        let name = object.namespace();
        let reasons = names::dns1123_label(name);
        errors.extend(each_invalid("metadata.namespace", name, reasons));
    }
    errors
}

/// The beginning of a name as a name: something will stand after its last dash. (Kubernetes takes one character more off.)
fn as_prefix(generate: &str) -> String {
    let Some(before) = generate.strip_suffix('-') else {
        return generate.to_owned();
    };
    match before.char_indices().next_back() {
        Some((at, last)) if last.is_ascii() => format!("{}a", &before[..at]),
        _ => generate.to_owned(),
    }
}

fn update_errors(object: &Object, old: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_deleting() {
        let known = old.finalizers();
        let mut added = object.finalizers();
        added.retain(|name| !known.contains(name));
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
            );
            errors.push(FieldError::forbidden("metadata.finalizers", detail));
        }
    }
    for field in FIXED {
        let there = |object: &Object| match object.at(&["metadata", field]) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(value) => Some(value.clone()),
        };
        let new = there(object);
        if new != there(old) {
            let nothing = match field {
                "name" | "namespace" | "uid" => "".into(),
                _ => Value::Null,
            };
            errors.push(FieldError::invalid(
                format!("metadata.{field}"),
                new.unwrap_or(nothing),
                "field is immutable",
            ));
        }
    }
    errors
}

fn label_errors(object: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in object.labels() {
        let at = "metadata.labels";
        errors.extend(each_invalid(at, &key, names::qualified_name(&key)));
        errors.extend(each_invalid(at, &value, names::label_value(&value)));
    }
    errors
}

fn annotation_errors(object: &Object) -> Vec<FieldError> {
    let at = "metadata.annotations";
    let annotations = object.at(&["metadata", "annotations"]);
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.and_then(Value::as_object).into_iter().flatten() {
        let reasons = names::qualified_name(&key.to_lowercase());
        errors.extend(each_invalid(at, key, reasons));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_MAX {
        errors.push(too_long(at, ANNOTATIONS_MAX));
    }
    errors
}

fn owner_errors(object: &Object) -> Vec<FieldError> {
    let at = "metadata.ownerReferences";
    let owners = object.items(&["metadata", "ownerReferences"]);
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for owner in owners {
        let text = |field: &str| text_at(owner, field);
        let version = text("apiVersion");
        // `apps/` has a group and no version.
        if version.rsplit('/').next().unwrap_or_default().is_empty() {
            let detail = "version must not be empty";
            errors.push(FieldError::invalid(
                format!("{at}.apiVersion"),
                version,
                detail,
            ));
        }
        for field in ["kind", "name", "uid"] {
            if text(field).is_empty() {
                let detail = "must not be empty";
                errors.push(FieldError::invalid(format!("{at}.{field}"), "", detail));
            }
        }
        if (version, text("kind")) == ("v1", "Event") {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(at, owner.clone(), detail));
        }
        if owner.get("controller") != Some(&Value::Bool(true)) {
            continue;
        }
        let current = format!("{}/{}", text("kind"), text("name"));
        match &controller {
            None => controller = Some(current),
            Some(first) => {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {current}"
                );
                errors.push(FieldError::invalid(at, owners.to_vec(), detail));
            }
        }
    }
    errors
}

fn finalizer_errors(object: &Object) -> Vec<FieldError> {
    let at = "metadata.finalizers";
    let finalizers = object.finalizers();
    let mut errors = Vec::new();
    for &name in &finalizers {
        errors.extend(each_invalid(at, name, names::qualified_name(name)));
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(at, finalizers, detail));
    }
    errors
}

/// Each entry has a manager and a known operation.
fn managed_fields_errors(object: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list = object.items(&["metadata", "managedFields"]).iter();
    for (index, entry) in list.enumerate() {
        let text = |field: &str| text_at(entry, field);
        for (field, is_wrong, words) in [
            (
                "operation",
                !matches!(text("operation"), "Apply" | "Update"),
                "must be `Apply` or `Update`",
            ),
            (
                "fieldsType",
                !matches!(text("fieldsType"), "" | "FieldsV1"),
                "must be `FieldsV1`",
            ),
            (
                "manager",
                text("manager").len() > MANAGER_MAX,
                "is too long",
            ),
        ] {
            if is_wrong {
                let at = format!("metadata.managedFields[{index}].{field}");
                errors.push(FieldError::invalid(at, text(field), words));
            }
        }
    }
    errors
}
