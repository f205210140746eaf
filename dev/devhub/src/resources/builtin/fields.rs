//! Field errors and checks of values that several kinds share, in kube-apiserver's words.

use berth_api::names;
use serde_json::Value;

use crate::object::{Object, items_at, text_at};
use crate::status::{FieldError, FieldErrorSort as Sort};

/// `Unsupported value: "x": supported values: "a", "b"`
pub(crate) fn not_supported(
    field: impl Into<String>,
    value: impl Into<Value>,
    supported: &[&str],
) -> FieldError {
    let quoted: Vec<String> = supported.iter().map(|text| format!("{text:?}")).collect();
    let detail = format!("supported values: {}", quoted.join(", "));
    FieldError::new(Sort::NotSupported, field, value.into(), detail)
}

/// `Duplicate value: "x"`
pub(crate) fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> FieldError {
    FieldError::new(Sort::Duplicate, field, value.into(), "")
}

/// `Too long: may not be more than 253 bytes`
pub(crate) fn too_long(field: impl Into<String>, most: usize) -> FieldError {
    let detail = format!("may not be more than {most} bytes");
    FieldError::new(Sort::TooLong, field, None, detail)
}

/// `Too many: 65: must have at most 64 items`
pub(crate) fn too_many(field: impl Into<String>, there_are: usize, most: usize) -> FieldError {
    let detail = format!("must have at most {most} items");
    FieldError::new(Sort::TooMany, field, Value::from(there_are), detail)
}

/// One `Invalid value` for each reason.
pub(crate) fn each_invalid(field: &str, value: &str, reasons: Vec<String>) -> Vec<FieldError> {
    let reasons = reasons.into_iter();
    reasons
        .map(|reason| FieldError::invalid(field, value, reason))
        .collect()
}

/// A value that may not change.
pub(super) fn unchanged(object: &Object, old: &Object, path: &[&str]) -> Option<FieldError> {
    let there = |object: &Object| match object.at(path) {
        None | Some(Value::Null) => Value::Null,
        Some(value) => value.clone(),
    };
    let (new, old) = (there(object), there(old));
    (new != old).then(|| FieldError::invalid(path.join("."), new, "field is immutable"))
}

/// What is wrong with the key of a ConfigMap or Secret.
pub(super) fn data_key(key: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if key.len() > 253 {
        reasons.push("must be no more than 253 characters".to_owned());
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if key.is_empty() || !key.bytes().all(allowed) {
        reasons.push("a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')".to_owned());
    }
    match key {
        "." => reasons.push("must not be '.'".to_owned()),
        ".." => reasons.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => reasons.push("must not start with '..'".to_owned()),
        _ => {}
    }
    reasons
}

/// What is wrong with a name that only has to fit into a path.
pub(super) fn path_segment(name: &str) -> Vec<String> {
    if let "." | ".." = name {
        return vec![format!("may not be '{name}'")];
    }
    let forbidden = ["/", "%"].iter().filter(|&&part| name.contains(part));
    forbidden
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// What is wrong with a label selector at `field`.
pub(super) fn selector(field: &str, selector: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = format!("{field}.matchLabels");
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        errors.extend(each_invalid(&at, key, names::qualified_name(key)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(each_invalid(&at, value, names::label_value(value)));
    }
    let expressions = items_at(selector, "matchExpressions").iter();
    for (index, expression) in expressions.enumerate() {
        let at = format!("{field}.matchExpressions[{index}]");
        errors.extend(requirement(&at, expression));
    }
    errors
}

fn requirement(field: &str, expression: &Value) -> Vec<FieldError> {
    let text = |name: &str| text_at(expression, name);
    let values = items_at(expression, "values");
    let mut errors = Vec::new();
    match text("operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            format!("{field}.values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            format!("{field}.values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => errors.push(FieldError::invalid(
            format!("{field}.operator"),
            other,
            "not a valid selector operator",
        )),
    }
    let key = text("key");
    let at = format!("{field}.key");
    errors.extend(each_invalid(&at, key, names::qualified_name(key)));
    for (index, value) in values.iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        let at = format!("{field}.values[{index}]");
        errors.extend(each_invalid(&at, value, names::label_value(value)));
    }
    errors
}

/// The core kinds' rule for finalizers without a domain.
pub(crate) fn core_finalizers(object: &Object) -> Vec<FieldError> {
    let finalizers = object.finalizers();
    let wrong = finalizers.iter().enumerate().filter_map(|(index, name)| {
        unqualified_finalizer(&format!("metadata.finalizers[{index}]"), name)
    });
    wrong.collect()
}

/// A finalizer without a domain that is not one of Kubernetes.
pub(super) fn unqualified_finalizer(field: &str, name: &str) -> Option<FieldError> {
    let known = matches!(name, "kubernetes" | "orphan" | "foregroundDeletion");
    (!name.contains('/') && !known).then(|| {
        FieldError::invalid(
            field,
            name,
            "name is neither a standard finalizer name nor is it fully qualified",
        )
    })
}
