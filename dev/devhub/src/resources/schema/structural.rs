//! Checks that the schema of a CustomResourceDefinition is structural
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>),
//! and that devhub can check values against it.

use regex::Regex;
use serde_json::Value;

use super::{Schema, cel, check};
use crate::object::{items_at, text_at};
use crate::resources::builtin::fields::not_supported;
use crate::status::FieldError;

const TYPES: [&str; 7] = [
    "", "array", "boolean", "integer", "number", "object", "string",
];
/// What JSON schemas have, and those of CustomResourceDefinitions have not.
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];
/// What schemas below `anyOf` and the like must not say: they only limit values.
const STRUCTURE: [&str; 10] = [
    "type",
    "additionalProperties",
    "default",
    "nullable",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

/// Where in a schema another one is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Below,
    /// Below `anyOf` and the like.
    Limit,
}

/// What is wrong with a schema as it is written.
pub(super) fn check(json: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(json, Level::Root, at, &mut errors);
    errors
}

fn walk(json: &Value, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    let text = |name: &str| text_at(json, name);
    let is_set = |name: &str| json.get(name).is_some_and(|value| *value == true);
    let kind = text("type");
    let fields = json.get("properties").and_then(Value::as_object);
    let below = match level {
        Level::Limit => Level::Limit,
        _ => Level::Below,
    };
    let mut forbid = |name: &str, words: &str| {
        errors.push(FieldError::forbidden(format!("{at}.{name}"), words));
    };
    for name in UNSUPPORTED.iter().filter(|name| json.get(**name).is_some()) {
        forbid(name, "is not supported");
    }
    if json.get("items").is_some_and(Value::is_array) {
        forbid("items", "items must be a schema object and not an array");
    }
    if is_set("uniqueItems") {
        forbid("uniqueItems", "uniqueItems cannot be set to true");
    }
    if level == Level::Root && is_set("nullable") {
        forbid("nullable", "nullable cannot be true at the root");
    }
    let both = fields.is_some_and(|fields| !fields.is_empty())
        && json
            .get("additionalProperties")
            .is_some_and(|values| *values != true);
    if both {
        let words = "additionalProperties and properties are mutual exclusive";
        forbid("additionalProperties", words);
    }
    let untyped =
        is_set("x-kubernetes-int-or-string") || is_set("x-kubernetes-preserve-unknown-fields");
    let at_type = format!("{at}.type");
    if level == Level::Limit {
        for name in STRUCTURE.iter().filter(|name| json.get(**name).is_some()) {
            let is_either = *name == "type" && at.contains(".anyOf[");
            if !is_either {
                forbid(name, "must be undefined to be structural");
            }
        }
    } else if !TYPES.contains(&kind) {
        let supported = &TYPES[1..];
        errors.push(not_supported(at_type, kind, supported));
    } else if kind.is_empty() && !untyped {
        errors.push(FieldError::required(at_type, "must not be empty"));
    } else if level == Level::Root && kind != "object" && !kind.is_empty() {
        let words = "must be object at the root";
        errors.push(FieldError::invalid(at_type, kind, words));
    } else if kind == "array" && json.get("items").is_none() {
        let at = format!("{at}.items");
        errors.push(FieldError::required(at, "must be specified"));
    }
    lists(json, at, errors);
    if let Err(error) = Regex::new(text("pattern")) {
        let words = format!("must be a valid regular expression, but isn't: {error}");
        let at = format!("{at}.pattern");
        errors.push(FieldError::invalid(at, text("pattern"), words));
    }
    for (name, child) in fields.into_iter().flatten() {
        walk(child, below, &format!("{at}.properties[{name}]"), errors);
    }
    for (name, level) in [
        ("items", below),
        ("additionalProperties", below),
        ("not", Level::Limit),
    ] {
        if let Some(child) = json.get(name).filter(|child| child.is_object()) {
            walk(child, level, &format!("{at}.{name}"), errors);
        }
    }
    for name in ["anyOf", "allOf", "oneOf"] {
        for (index, child) in items_at(json, name).iter().enumerate() {
            let at = format!("{at}.{name}[{index}]");
            walk(child, Level::Limit, &at, errors);
        }
    }
}

/// Lists and maps are of a known type, and the keys of lists are fields that always have a value.
fn lists(json: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (name, known) in [
        (
            "x-kubernetes-list-type",
            &["atomic", "set", "map"] as &[&str],
        ),
        ("x-kubernetes-map-type", &["atomic", "granular"]),
    ] {
        let of = json.get(name).and_then(Value::as_str);
        if let Some(of) = of.filter(|of| !known.contains(of)) {
            let at = format!("{at}.{name}");
            errors.push(not_supported(at, of, known));
        }
    }
    let is_map = text_at(json, "x-kubernetes-list-type") == "map";
    let keys = items_at(json, "x-kubernetes-list-map-keys");
    let keys_at = format!("{at}.x-kubernetes-list-map-keys");
    if is_map == keys.is_empty() {
        let words = "must be there for a list of type map, and only there";
        errors.push(FieldError::required(&keys_at, words));
    }
    let items = json.get("items");
    for key in keys.iter().filter_map(Value::as_str) {
        let field = items.and_then(|items| items.get("properties")?.get(key));
        let required = items.and_then(|items| items.get("required")?.as_array());
        let is_required = required.is_some_and(|names| names.iter().any(|name| name == key));
        if !field.is_some_and(|field| is_required || field.get("default").is_some()) {
            let words = format!("{key} must be a field of the items, with a default or required");
            errors.push(FieldError::invalid(&keys_at, key, words));
        }
    }
}

/// Defaults must be values of what they are defaults for, and rules in CEL must compile.
pub(super) fn check_meaning(schema: &Schema, at: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.default {
        let at = format!("{at}.default");
        if !super::prune::prune_value(schema, &mut default.clone()).is_empty() {
            let words = "must not have unknown fields";
            errors.push(FieldError::invalid(&at, default.clone(), words));
        }
        errors.extend(check::check_default(schema, default, &at));
    }
    let rules = schema.rest.get("x-kubernetes-validations");
    let rules = rules.and_then(Value::as_array).into_iter().flatten();
    for (index, rule) in rules.enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        let text = text_at(rule, "rule");
        if let Err(words) = cel::compile(text) {
            errors.push(FieldError::invalid(format!("{at}.rule"), text, words));
        }
        for name in ["messageExpression", "optionalOldSelf"] {
            if rule.get(name).is_some() {
                let words = "devhub does not implement it";
                errors.push(FieldError::forbidden(format!("{at}.{name}"), words));
            }
        }
    }
    for (name, child) in &schema.properties {
        check_meaning(child, &format!("{at}.properties[{name}]"), errors);
    }
    for (name, child) in [
        ("additionalProperties", &schema.additional),
        ("items", &schema.items),
    ] {
        if let Some(child) = child {
            check_meaning(child, &format!("{at}.{name}"), errors);
        }
    }
}
