//! Whole CRDs, without descriptions, as they are expected.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

/// The rule for the types of conditions.
const QUALIFIED_NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// Fails, with every leaf that differs, unless the CRD is the expected one.
pub(crate) fn assert_structure(crd: &CustomResourceDefinition, expected: &Value) {
    let mut found = super::json(crd);
    let mut expected = expected.clone();
    strip(&mut found);
    strip(&mut expected);
    let mut differences = Vec::new();
    compare(&found, &expected, "", &mut differences);
    assert!(
        differences.is_empty(),
        "{}:\n{}",
        crd.spec.names.kind,
        differences.join("\n")
    );
}

/// Removes descriptions, and writes numbers in one form.
fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Number(number) => *value = json!(number.as_f64()),
        _ => {}
    }
}

/// Collects the paths at which the values differ.
fn compare(found: &Value, expected: &Value, path: &str, differences: &mut Vec<String>) {
    if let (Value::Object(found), Value::Object(expected)) = (found, expected) {
        let others = expected.keys().filter(|name| !found.contains_key(*name));
        for name in found.keys().chain(others) {
            let at = |fields: &serde_json::Map<String, Value>| {
                fields.get(name).cloned().unwrap_or_default()
            };
            compare(
                &at(found),
                &at(expected),
                &format!("{path}/{name}"),
                differences,
            );
        }
    } else if let (Value::Array(found), Value::Array(expected)) = (found, expected)
        && found.len() == expected.len()
    {
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            compare(found, expected, &format!("{path}/{index}"), differences);
        }
    } else if found != expected {
        differences.push(format!("{path}: {found}, expected {expected}"));
    }
}

/// Adds the properties that every kind has.
pub(crate) fn with_metadata(mut schema: Value) -> Value {
    let properties = &mut schema["properties"];
    properties["apiVersion"] = text();
    properties["kind"] = text();
    properties["metadata"] = json!({"type": "object"});
    schema
}

pub(crate) fn object(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

pub(crate) fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

pub(crate) fn list_by(key: &str, items: &Value) -> Value {
    json!({
        "type": "array", "items": items,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key],
    })
}

pub(crate) fn text() -> Value {
    json!({"type": "string"})
}

pub(crate) fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

/// A list of Kubernetes' conditions.
pub(crate) fn conditions() -> Value {
    let condition = object(
        &["lastTransitionTime", "message", "reason", "status", "type"],
        json!({
            "lastTransitionTime": time(),
            "message": {"type": "string", "maxLength": 32768},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            "reason": {
                "type": "string", "minLength": 1, "maxLength": 1024,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            },
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "type": {"type": "string", "maxLength": 316, "pattern": QUALIFIED_NAME},
        }),
    );
    list_by("type", &condition)
}
