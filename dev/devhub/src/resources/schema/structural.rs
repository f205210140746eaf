//! Whether a schema is structural
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>).

use regex::Regex;
use serde_json::{Value, json};

use crate::status::FieldError;

/// Where in an object a schema is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What is not structural, in kube-apiserver's order: that of the sentences.
pub(super) fn check(json: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    schema(json, Level::Root, at, &mut errors);
    errors.sort_by_cached_key(|error| format!("{}: {}", error.field, error.body()));
    errors
}

fn is_set(json: &Value, name: &str) -> bool {
    json.get(name).is_some_and(|value| value == true)
}

fn text<'a>(json: &'a Value, name: &str) -> &'a str {
    json.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn schema(json: &Value, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    let kind = text(json, "type");
    let embedded = is_set(json, "x-kubernetes-embedded-resource");
    let preserve = is_set(json, "x-kubernetes-preserve-unknown-fields");
    let int_or_string = is_set(json, "x-kubernetes-int-or-string");
    let fields = json.get("properties").and_then(Value::as_object);
    match json.get("items") {
        Some(items) => schema(items, Level::Item, &format!("{at}.items"), errors),
        None if kind == "array" => {
            errors.push(FieldError::required(
                format!("{at}.items"),
                "must be specified",
            ));
        }
        None => {}
    }
    for (name, child) in fields.into_iter().flatten() {
        schema(
            child,
            Level::Field,
            &format!("{at}.properties[{name}]"),
            errors,
        );
    }
    if let Some(values) = json.get("additionalProperties") {
        let at = format!("{at}.additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&at, "must not be used at the root"));
        }
        if embedded {
            let words = "must not be used if x-kubernetes-embedded-resource is set";
            errors.push(FieldError::forbidden(&at, words));
        }
        if values.is_object() {
            schema(values, Level::Field, &at, errors);
        }
    }
    if int_or_string {
        for name in [
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
        ] {
            if is_set(json, name) {
                let words = "must be false if x-kubernetes-int-or-string is true";
                errors.push(FieldError::invalid(format!("{at}.{name}"), true, words));
            }
        }
    }
    limits(json, at, true, errors);
    types(json, level, at, errors);
    let restricted = level == Level::Root || embedded;
    if restricted {
        for name in ["kind", "apiVersion"] {
            let Some(child) = fields.and_then(|fields| fields.get(name)) else {
                continue;
            };
            let kind = text(child, "type");
            if kind != "string" {
                let at = format!("{at}.properties[{name}].type");
                errors.push(FieldError::invalid(at, kind, "must be string"));
            }
        }
        if let Some(child) = fields.and_then(|fields| fields.get("metadata")) {
            metadata(child, level, &format!("{at}.properties[metadata]"), errors);
        }
    }
    if embedded && !preserve && fields.is_none_or(serde_json::Map::is_empty) {
        let words = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{at}.properties"), words));
    }
}

fn types(json: &Value, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    let kind = text(json, "type");
    let at = format!("{at}.type");
    let any = is_set(json, "x-kubernetes-int-or-string")
        || is_set(json, "x-kubernetes-preserve-unknown-fields");
    if is_set(json, "x-kubernetes-embedded-resource") && kind != "object" {
        let words = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if kind.is_empty() {
            FieldError::required(&at, words)
        } else {
            FieldError::invalid(&at, kind, words)
        });
    } else if kind.is_empty() && !any {
        let words = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&at, words));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(&at, kind, "must be object at the root"));
    }
}

/// Of an object's metadata only names can be restricted.
fn metadata(json: &Value, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    let kind = text(json, "type");
    if kind != "object" {
        let at = format!("{at}.type");
        errors.push(FieldError::invalid(at, kind, "must be object"));
    }
    let only_names = json
        .get("properties")
        .and_then(Value::as_object)
        .is_none_or(|fields| {
            fields
                .keys()
                .all(|name| matches!(name.as_str(), "name" | "generateName"))
        });
    let only_fields = json.as_object().is_none_or(|json| {
        json.keys().all(|name| {
            matches!(
                name.as_str(),
                "type" | "properties" | "default" | "description"
            )
        })
    });
    if level == Level::Root && !(only_names && only_fields) {
        let words = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(at, words));
    }
}

/// The patterns, and the schemas below `anyOf` and the like, which may only limit values, not say what they are.
fn limits(json: &Value, at: &str, is_structure: bool, errors: &mut Vec<FieldError>) {
    // How int-or-string was written before there was x-kubernetes-int-or-string.
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let is_either = |json: &Value| json.get("anyOf") == Some(&either);
    for name in ["anyOf", "allOf", "oneOf"] {
        let list = json.get(name).and_then(Value::as_array);
        for (index, child) in list.into_iter().flatten().enumerate() {
            let at = format!("{at}.{name}[{index}]");
            let allowed = is_structure
                && (name == "anyOf" && is_either(json)
                    || name == "allOf" && index == 0 && is_either(child));
            if !allowed {
                limit(child, &at, errors);
            }
        }
    }
    if let Some(not) = json.get("not") {
        limit(not, &format!("{at}.not"), errors);
    }
    let pattern = text(json, "pattern");
    if let Err(error) = Regex::new(pattern) {
        let words = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(format!("{at}.pattern"), pattern, words));
    }
}

/// One of these schemas.
fn limit(json: &Value, at: &str, errors: &mut Vec<FieldError>) {
    limits(json, at, false, errors);
    if let Some(items) = json.get("items") {
        limit(items, &format!("{at}.items"), errors);
    }
    let fields = json.get("properties").and_then(Value::as_object);
    for (name, child) in fields.into_iter().flatten() {
        let at = format!("{at}.properties[{name}]");
        limit(child, &at, errors);
        if name == "metadata" {
            let words = "must not be specified in a nested context";
            errors.push(FieldError::forbidden(at, words));
        }
    }
    for (name, words) in [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        (
            "x-kubernetes-preserve-unknown-fields",
            "must be false to be structural",
        ),
        (
            "x-kubernetes-embedded-resource",
            "must be false to be structural",
        ),
        (
            "x-kubernetes-int-or-string",
            "must be false to be structural",
        ),
        (
            "x-kubernetes-list-map-keys",
            "must be empty to be structural",
        ),
        (
            "x-kubernetes-list-type",
            "must be undefined to be structural",
        ),
        (
            "x-kubernetes-map-type",
            "must be undefined to be structural",
        ),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ] {
        if json
            .get(name)
            .is_some_and(|value| value != false && value != "")
        {
            errors.push(FieldError::forbidden(format!("{at}.{name}"), words));
        }
    }
}
