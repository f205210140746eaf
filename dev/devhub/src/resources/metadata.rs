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
    let generation = object.generation();
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(
            "metadata.generation",
            generation,
            detail,
        ));
    }
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
    match (namespaced, object.namespace()) {
        (true, "") => errors.push(FieldError::required("metadata.namespace", "")),
        (true, name) => {
            let reasons = names::dns1123_label(name);
            errors.extend(each_invalid("metadata.namespace", name, reasons));
        }
        (false, "") => {}
        (false, _) => errors.push(FieldError::forbidden(
            "metadata.namespace",
            "not allowed on this type",
        )),
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
    if object.generation() < old.generation() {
        errors.push(FieldError::invalid(
            "metadata.generation",
            object.generation(),
            "must not be decremented",
        ));
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn object(metadata: Value) -> Object {
        Object::try_from(json!({"metadata": metadata})).unwrap()
    }

    fn told(new: Value, old: Option<Value>, namespaced: bool) -> Vec<String> {
        let old = old.map(object);
        let name_errors = |name: &str| names::dns1123_subdomain(name);
        errors(&object(new), old.as_ref(), namespaced, &name_errors)
            .iter()
            .map(|error| format!("{}: {}", error.field, error.body()))
            .collect()
    }

    #[test]
    fn a_name_is_there_and_is_one() {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        for (metadata, namespaced, expected) in [
            (json!({"name": "a", "namespace": "b"}), true, vec![]),
            (json!({"name": "a-x", "generateName": "a-"}), false, vec![]),
            (
                json!({}),
                true,
                vec![
                    "metadata.name: Required value: name or generateName is required".to_owned(),
                    "metadata.namespace: Required value".to_owned(),
                ],
            ),
            (
                json!({"name": "A"}),
                false,
                vec![format!("metadata.name: Invalid value: \"A\": {rule}")],
            ),
            (
                json!({"name": "a", "generateName": "_-"}),
                false,
                // What Kubernetes takes off hides it.
                vec![],
            ),
            (
                json!({"name": "a", "generateName": "é-"}),
                false,
                vec![format!(
                    "metadata.generateName: Invalid value: \"é-\": {rule}"
                )],
            ),
            (
                json!({"name": "a".repeat(254)}),
                false,
                vec![format!(
                    "metadata.name: Invalid value: \"{}\": must be no more than 253 characters",
                    "a".repeat(254)
                )],
            ),
            (
                json!({"name": "a", "namespace": "b"}),
                false,
                vec!["metadata.namespace: Forbidden: not allowed on this type".to_owned()],
            ),
            (
                json!({"name": "a", "namespace": "b.c"}),
                true,
                vec![
                    "metadata.namespace: Invalid value: \"b.c\": must not contain dots".to_owned(),
                ],
            ),
        ] {
            assert_eq!(told(metadata, None, namespaced), expected);
        }
    }

    #[test]
    fn what_stands_in_metadata_has_its_rules() {
        for (metadata, expected) in [
            (
                json!({"labels": {"a": "b/c"}}),
                "metadata.labels: Invalid value: \"b/c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ),
            (
                json!({"labels": {"/a": "b"}}),
                "metadata.labels: Invalid value: \"/a\": prefix part must be non-empty",
            ),
            (
                json!({"annotations": {"/A": "anything / goes"}}),
                "metadata.annotations: Invalid value: \"/A\": prefix part must be non-empty",
            ),
            (
                json!({"annotations": {"a": "x".repeat(ANNOTATIONS_MAX)}}),
                "metadata.annotations: Too long: may not be more than 262144 bytes",
            ),
            (
                json!({"ownerReferences": [{"apiVersion": "apps/", "kind": "A", "name": "a", "uid": "1"}]}),
                "metadata.ownerReferences.apiVersion: Invalid value: \"apps/\": version must not be empty",
            ),
            (
                json!({"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a"}]}),
                "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
            ),
            (
                json!({"ownerReferences": [
                    {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": true},
                    {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": true},
                ]}),
                "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"A\",\"name\":\"a\",\"uid\":\"1\"},{\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"B\",\"name\":\"b\",\"uid\":\"2\"}]: Only one reference can have Controller set to true. Found \"true\" in references for A/a and B/b",
            ),
            (
                json!({"finalizers": ["orphan", "foregroundDeletion"]}),
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set",
            ),
            (
                json!({"finalizers": ["/x"]}),
                "metadata.finalizers: Invalid value: \"/x\": prefix part must be non-empty",
            ),
            (
                json!({"managedFields": [{"operation": "Guess"}]}),
                "metadata.managedFields[0].operation: Invalid value: \"Guess\": must be `Apply` or `Update`",
            ),
            (
                json!({"generation": -1}),
                "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
            ),
        ] {
            let mut metadata = metadata;
            metadata["name"] = json!("a");
            assert_eq!(told(metadata, None, false), [expected]);
        }
    }

    #[test]
    fn an_update_leaves_alone_what_is_fixed() {
        let old = json!({
            "name": "a",
            "uid": "1",
            "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        });
        for (field, value, expected) in [
            ("labels", json!({"a": "b"}), vec![]),
            ("namespace", json!(""), vec![]),
            (
                "name",
                json!("b"),
                vec!["metadata.name: Invalid value: \"b\": field is immutable"],
            ),
            (
                "uid",
                json!(""),
                vec!["metadata.uid: Invalid value: \"\": field is immutable"],
            ),
            (
                "deletionTimestamp",
                json!("2026-01-01T00:00:00Z"),
                vec![
                    "metadata.deletionTimestamp: Invalid value: \"2026-01-01T00:00:00Z\": field is immutable",
                ],
            ),
            (
                "creationTimestamp",
                json!(null),
                vec!["metadata.creationTimestamp: Invalid value: null: field is immutable"],
            ),
            (
                "generation",
                json!(1),
                vec!["metadata.generation: Invalid value: 1: must not be decremented"],
            ),
        ] {
            let mut new = old.clone();
            new[field] = value;
            assert_eq!(told(new, Some(old.clone()), false), expected, "{field}");
        }
    }

    #[test]
    fn an_object_on_its_way_out_gets_no_more_finalizers() {
        let old = json!({
            "name": "a",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["x/a", "x/b"],
        });
        let mut new = old.clone();
        new["finalizers"] = json!(["x/a"]);
        assert_eq!(told(new.clone(), Some(old.clone()), false), [""; 0]);
        new["finalizers"] = json!(["x/d", "x/c", "x/d"]);
        assert_eq!(
            told(new, Some(old), false),
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers [\"x/c\", \"x/d\"]"
            ]
        );
    }

    #[test]
    fn a_finalizer_without_a_domain_earns_a_warning() {
        let object =
            object(json!({"finalizers": ["mine", "example.com", "example.com/mine", "orphan"]}));
        assert_eq!(
            finalizer_warnings(&object, None),
            [
                "metadata.finalizers: \"example.com\": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers",
                "metadata.finalizers: \"mine\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers",
            ]
        );
        assert_eq!(finalizer_warnings(&object, Some(&object)), [""; 0]);
    }
}
