//! Reads JSON schemas.

use serde_json::{Map, Value};

use super::{ListKind, Schema, Type, structural};
use crate::status::FieldError;

/// Reads the schema of a version of a CustomResourceDefinition, which has to follow Kubernetes' rules for these.
pub(super) fn read(json: &Value, at: &str) -> Result<Schema, Vec<FieldError>> {
    let mut errors = structural::check(json, at);
    let schema = schema(json);
    if errors.is_empty() {
        structural::check_meaning(&schema, at, &mut errors);
    }
    if errors.is_empty() {
        Ok(schema)
    } else {
        Err(errors)
    }
}

/// Reads a schema as it is. A malformed schema allows everything.
pub(super) fn schema(json: &Value) -> Schema {
    let Some(json) = json.as_object() else {
        return Schema::default();
    };
    let mut read = Schema {
        rest: json.clone(),
        ..Schema::default()
    };
    let rest = &mut read.rest;
    read.description = take_text(rest, "description");
    read.format = take_text(rest, "format");
    read.patch_merge_key = take_text(rest, "x-kubernetes-patch-merge-key");
    read.nullable = take_true(rest, "nullable");
    read.preserve_unknown = take_true(rest, "x-kubernetes-preserve-unknown-fields");
    read.embedded = take_true(rest, "x-kubernetes-embedded-resource");
    read.r#type = if take_true(rest, "x-kubernetes-int-or-string") {
        Type::IntOrString
    } else {
        Type::from_name(&take_text(rest, "type")).unwrap_or_default()
    };
    if rest
        .get("x-kubernetes-map-type")
        .is_some_and(|kind| kind == "atomic")
    {
        rest.remove("x-kubernetes-map-type");
        read.atomic = true;
    }
    read.list = match rest.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => ListKind::Map(texts(rest.remove("x-kubernetes-list-map-keys"))),
        _ => ListKind::Atomic,
    };
    if read.list != ListKind::Atomic {
        rest.remove("x-kubernetes-list-type");
    }
    read.required = texts(rest.remove("required"));
    read.default = rest.remove("default").filter(|default| !default.is_null());
    if let Some(Value::Object(fields)) = rest.remove("properties") {
        read.properties = fields
            .iter()
            .map(|(name, json)| (name.clone(), schema(json)))
            .collect();
    }
    read.additional = match rest.remove("additionalProperties") {
        None | Some(Value::Bool(false)) => None,
        Some(json) => Some(Box::new(schema(&json))),
    };
    read.items = rest.remove("items").map(|json| Box::new(schema(&json)));
    read
}

fn take_text(rest: &mut Map<String, Value>, name: &str) -> String {
    match rest.remove(name) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

fn take_true(rest: &mut Map<String, Value>, name: &str) -> bool {
    rest.remove(name).is_some_and(|value| value == true)
}

fn texts(list: Option<Value>) -> Vec<String> {
    let Some(Value::Array(list)) = list else {
        return Vec::new();
    };
    list.into_iter()
        .filter_map(|text| match text {
            Value::String(text) => Some(text),
            _ => None,
        })
        .collect()
}
