//! Writes schemas as JSON.

use serde_json::{Map, Value, json};

use super::{ListKind, Schema, Type};

/// The JSON schema. A schema for which `reference` gives an address is published as a reference to that.
pub(super) fn publish(
    schema: &Schema,
    reference: &mut dyn FnMut(&Schema) -> Option<String>,
) -> Value {
    let mut json: Map<String, Value> = schema.rest.clone();
    let mut set = |name: &str, value: Value| {
        json.insert(name.to_owned(), value);
    };
    match schema.r#type {
        Type::Any => {}
        Type::IntOrString => set("x-kubernetes-int-or-string", true.into()),
        known => set("type", known.as_str().into()),
    }
    for (name, text) in [
        ("description", &schema.description),
        ("format", &schema.format),
        ("x-kubernetes-patch-merge-key", &schema.patch_merge_key),
    ] {
        if !text.is_empty() {
            set(name, text.as_str().into());
        }
    }
    for (name, yes) in [
        ("nullable", schema.nullable),
        (
            "x-kubernetes-preserve-unknown-fields",
            schema.preserve_unknown,
        ),
        ("x-kubernetes-embedded-resource", schema.embedded),
    ] {
        if yes {
            set(name, true.into());
        }
    }
    if schema.atomic {
        set("x-kubernetes-map-type", "atomic".into());
    }
    match &schema.list {
        ListKind::Atomic => {}
        ListKind::Set => set("x-kubernetes-list-type", "set".into()),
        ListKind::Map(keys) => {
            set("x-kubernetes-list-type", "map".into());
            set("x-kubernetes-list-map-keys", json!(keys));
        }
    }
    if !schema.required.is_empty() {
        set("required", json!(schema.required));
    }
    if let Some(default) = &schema.default {
        set("default", default.clone());
    }
    if !schema.properties.is_empty() {
        let fields = schema
            .properties
            .iter()
            .map(|(name, child)| (name.clone(), referred(child, reference)));
        set("properties", Value::Object(fields.collect()));
    }
    if let Some(values) = &schema.additional {
        set("additionalProperties", referred(values, reference));
    }
    if let Some(items) = &schema.items {
        set("items", referred(items, reference));
    }
    Value::Object(json)
}

/// A schema within another one: a reference, if there is one, with what the place adds to it.
fn referred(schema: &Schema, reference: &mut dyn FnMut(&Schema) -> Option<String>) -> Value {
    let Some(address) = reference(schema) else {
        return publish(schema, reference);
    };
    let strategy = schema.rest.get("x-kubernetes-patch-strategy");
    if schema.type_description.is_empty() && strategy.is_none() {
        return json!({"$ref": address});
    }
    let mut json = json!({"allOf": [{"$ref": address}]});
    if !schema.description.is_empty() {
        json["description"] = schema.description.as_str().into();
    }
    if schema.r#type == Type::Object {
        json["default"] = json!({});
    }
    if let Some(strategy) = strategy {
        json["x-kubernetes-patch-strategy"] = strategy.clone();
    }
    json
}

impl Type {
    /// The name in JSON schemas; empty for those that have none.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Any | Self::IntOrString => "",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "" => Self::Any,
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }
}
