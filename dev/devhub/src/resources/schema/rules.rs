//! What schemas of CustomResourceDefinitions may say, besides being structural.

use serde_json::{Map, Value};

use super::{ListKind, Schema, cel, check};
use crate::status::{FieldError, FieldErrorSort};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What JSON schemas have, and those of CustomResourceDefinitions have not.
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

/// Whether a schema, and all within it, can be read as a structural one at all.
pub(super) fn is_readable(json: &Value) -> bool {
    let Some(fields) = json.as_object() else {
        return true;
    };
    let below = |name: &str| fields.get(name).is_none_or(is_readable);
    let all = |name: &str| match fields.get(name) {
        Some(Value::Object(schemas)) => schemas.values().all(is_readable),
        Some(Value::Array(schemas)) => schemas.iter().all(is_readable),
        _ => true,
    };
    !UNSUPPORTED.iter().any(|name| fields.contains_key(*name))
        && !fields.get("items").is_some_and(Value::is_array)
        && ["items", "additionalProperties", "not"]
            .into_iter()
            .all(below)
        && ["properties", "allOf", "anyOf", "oneOf"]
            .into_iter()
            .all(all)
}

/// Defaults must be values of what they are defaults for.
pub(super) fn defaults(schema: &Schema, at: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.default {
        let at = format!("{at}.default");
        let mut pruned = default.clone();
        let unknown = super::prune::prune_value(schema, &mut pruned);
        if !unknown.is_empty() {
            let words = "must not have unknown fields";
            errors.push(FieldError::invalid(&at, default.clone(), words));
        }
        errors.extend(check::check_default(schema, default, &at));
    }
    if let Some(items) = &schema.items {
        defaults(items, &format!("{at}.items"), errors);
    }
    for (name, child) in &schema.properties {
        defaults(child, &format!("{at}.properties[{name}]"), errors);
    }
}

/// Rules in CEL must compile. `schema` is that of the whole object.
pub(super) fn expressions(schema: &Schema, at: &str, errors: &mut Vec<FieldError>) {
    expressions_below(schema, at, true, None, errors);
}

/// `apart` is the place above at which old and new values stop to be told apart.
fn expressions_below(
    schema: &Schema,
    at: &str,
    is_root: bool,
    apart: Option<&str>,
    errors: &mut Vec<FieldError>,
) {
    let rules = schema.rest.get("x-kubernetes-validations");
    let rules = rules.and_then(Value::as_array).into_iter().flatten();
    for (index, rule) in rules.enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
        match cel::compile(text("rule"), schema, is_root) {
            Err(words) => errors.push(FieldError::invalid(
                format!("{at}.rule"),
                internal(rule),
                words,
            )),
            Ok(true) => {
                if let Some(apart) = apart {
                    let words = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {apart}"
                    );
                    errors.push(FieldError::invalid(
                        format!("{at}.rule"),
                        text("rule"),
                        words,
                    ));
                }
            }
            Ok(false) => {
                if let Some(optional) = rule.get("optionalOldSelf") {
                    let words = "may not be set if oldSelf is not used in rule";
                    errors.push(FieldError::invalid(
                        format!("{at}.optionalOldSelf"),
                        optional.clone(),
                        words,
                    ));
                }
            }
        }
        let message = text("messageExpression");
        if !message.trim().is_empty()
            && let Err(words) = cel::compile(message, schema, is_root)
        {
            errors.push(FieldError::invalid(
                format!("{at}.messageExpression"),
                internal(rule),
                words,
            ));
        }
    }
    let below_object = apart.or(schema.atomic.then_some(at));
    for (name, child) in &schema.properties {
        let place = format!("{at}.properties[{name}]");
        expressions_below(child, &place, false, below_object, errors);
    }
    if let Some(values) = &schema.additional {
        let place = format!("{at}.additionalProperties");
        expressions_below(values, &place, false, apart, errors);
    }
    if let Some(items) = &schema.items {
        let is_map = matches!(schema.list, ListKind::Map(_));
        let below = apart.or((!is_map).then_some(at));
        expressions_below(items, &format!("{at}.items"), false, below, errors);
    }
}

/// A rule as kube-apiserver shows it: its own type, not what was sent.
fn internal(rule: &Value) -> Value {
    let mut shown = Map::new();
    for (name, none) in [
        ("rule", Value::from("")),
        ("message", "".into()),
        ("messageExpression", "".into()),
        ("reason", Value::Null),
        ("fieldPath", "".into()),
        ("optionalOldSelf", Value::Null),
    ] {
        let (first, rest) = name.split_at(1);
        let value = rule.get(name).cloned().unwrap_or(none);
        shown.insert(format!("{}{rest}", first.to_uppercase()), value);
    }
    Value::Object(shown)
}

/// Everything else.
pub(super) fn check(json: &Value, at: &str, errors: &mut Vec<FieldError>) {
    each(json, at, Inside::Root, errors);
}

/// What surrounds a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside<'a> {
    Root,
    /// One of the fields that every object has.
    Meta(&'a str),
    Object,
}

fn each(json: &Value, at: &str, inside: Inside<'_>, errors: &mut Vec<FieldError>) {
    unsupported(json, at, inside, errors);
    if json.get("uniqueItems").is_some_and(|yes| yes == true) {
        let words =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{at}.uniqueItems"), words));
    }
    let fields = json.get("properties").and_then(Value::as_object);
    if let Some(values) = json.get("additionalProperties") {
        let at = format!("{at}.additionalProperties");
        if fields.is_some_and(|fields| !fields.is_empty()) && values != true {
            let words = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(&at, words));
        }
        each(values, &at, below(inside), errors);
    }
    for (name, child) in fields.into_iter().flatten() {
        let is_meta = matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
        let inside = match inside {
            Inside::Root if is_meta => Inside::Meta(name),
            inside => below(inside),
        };
        each(child, &format!("{at}.properties[{name}]"), inside, errors);
    }
    if let Some(not) = json.get("not") {
        each(not, &format!("{at}.not"), below(inside), errors);
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        let list = json.get(name).and_then(Value::as_array);
        for (index, child) in list.into_iter().flatten().enumerate() {
            each(
                child,
                &format!("{at}.{name}[{index}]"),
                below(inside),
                errors,
            );
        }
    }
    if let Some(items) = json.get("items") {
        each(items, &format!("{at}.items"), below(inside), errors);
    }
    extensions(json, at, errors);
    validations(json, at, errors);
}

fn below(inside: Inside<'_>) -> Inside<'_> {
    if inside == Inside::Root {
        Inside::Object
    } else {
        inside
    }
}

fn not_supported(at: String, value: &str, supported: &[&str]) -> FieldError {
    let names: Vec<String> = supported.iter().map(|name| format!("{name:?}")).collect();
    let words = format!("supported values: {}", names.join(", "));
    FieldError::new(FieldErrorSort::NotSupported, at, Value::from(value), words)
}

fn unsupported(json: &Value, at: &str, inside: Inside<'_>, errors: &mut Vec<FieldError>) {
    let kind = json.get("type").and_then(Value::as_str).unwrap_or_default();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(not_supported(format!("{at}.type"), kind, &TYPES));
    }
    if let Inside::Meta(name) = inside
        && json.get("default").is_some()
    {
        let words = format!("must not be set in top-level {name}");
        errors.push(FieldError::forbidden(format!("{at}.default"), words));
    }
    for name in UNSUPPORTED {
        if json.get(name).is_some() {
            let words = format!("{name} is not supported");
            errors.push(FieldError::forbidden(format!("{at}.{name}"), words));
        }
    }
    if kind == "null" {
        let words = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(format!("{at}.type"), words));
    }
    if json.get("items").is_some_and(Value::is_array) {
        let words = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(format!("{at}.items"), words));
    }
    if matches!(inside, Inside::Meta(_)) && json.get("x-kubernetes-embedded-resource").is_some() {
        let words = "must not be used inside of resource meta";
        errors.push(FieldError::forbidden(
            format!("{at}.x-kubernetes-embedded-resource"),
            words,
        ));
    }
}

/// `x-kubernetes-map-type`, `x-kubernetes-list-type` and what goes with them.
fn extensions(json: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let text = |json: &Value, name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = text(json, "type").unwrap_or_default();
    if json
        .get("x-kubernetes-preserve-unknown-fields")
        .is_some_and(|yes| yes == false)
    {
        let at = format!("{at}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(at, false, "must be true or undefined"));
    }
    let mut must_be = |expected: &str, extension: &str| {
        let words = format!("must be {expected} if {extension} is specified");
        let at = format!("{at}.type");
        errors.push(if kind.is_empty() {
            FieldError::required(at, words)
        } else {
            FieldError::invalid(at, kind.as_str(), words)
        });
    };
    let map_type = text(json, "x-kubernetes-map-type");
    let list_type = text(json, "x-kubernetes-list-type");
    if map_type.is_some() && kind != "object" {
        must_be("object", "x-kubernetes-map-type");
    }
    if list_type.is_some() && kind != "array" {
        must_be("array", "x-kubernetes-list-type");
    }
    if let Some(map_type) = map_type
        && !matches!(map_type.as_str(), "atomic" | "granular")
    {
        let at = format!("{at}.x-kubernetes-map-type");
        errors.push(not_supported(at, &map_type, &["atomic", "granular"]));
    }
    let items = json.get("items").filter(|items| items.is_object());
    let list_type = list_type.as_deref();
    if kind == "array"
        && list_type == Some("set")
        && let Some(items) = items
    {
        let words = "must be atomic as item of a list with x-kubernetes-list-type=set";
        for (of, name) in [
            ("array", "x-kubernetes-list-type"),
            ("object", "x-kubernetes-map-type"),
        ] {
            let found = text(items, name);
            // Lists are atomic when nothing is said, objects are not.
            let is_atomic = found
                .as_deref()
                .map_or(of == "array", |found| found == "atomic");
            if text(items, "type").as_deref() == Some(of) && !is_atomic {
                let value = items
                    .get("x-kubernetes-list-type")
                    .cloned()
                    .unwrap_or_default();
                errors.push(FieldError::invalid(
                    format!("{at}.items.{name}"),
                    value,
                    words,
                ));
            }
        }
    }
    if let Some(list_type) = list_type
        && !matches!(list_type, "atomic" | "set" | "map")
    {
        let at = format!("{at}.x-kubernetes-list-type");
        errors.push(not_supported(at, list_type, &["atomic", "set", "map"]));
    }
    list_map(json, at, list_type, items, errors);
}

fn list_map(
    json: &Value,
    at: &str,
    list_type: Option<&str>,
    items: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    let keys_at = format!("{at}.x-kubernetes-list-map-keys");
    let all_keys = json
        .get("x-kubernetes-list-map-keys")
        .cloned()
        .unwrap_or_default();
    let keys: Vec<&str> = all_keys
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !keys.is_empty() && list_type != Some("map") {
        let words = "must be map if x-kubernetes-list-map-keys is non-empty";
        let at = format!("{at}.x-kubernetes-list-type");
        errors.push(match list_type {
            None => FieldError::required(at, words),
            Some(other) => FieldError::invalid(at, other, words),
        });
    }
    let is_map = list_type == Some("map");
    if is_map && keys.is_empty() {
        let words = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&keys_at, words));
    }
    let Some(items) = items else {
        if is_map {
            let words = "must have a schema if x-kubernetes-list-type is map";
            errors.push(FieldError::required(format!("{at}.items"), words));
        }
        return;
    };
    let fields = items.get("properties");
    let field = |key: &str| fields.and_then(|fields| fields.get(key));
    let kind = items
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if is_map && kind != "object" {
        let words = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(format!("{at}.items.type"), kind, words));
    } else if is_map {
        for (index, key) in keys.iter().enumerate() {
            match field(key) {
                None => {
                    let words = "entries must all be names of item properties";
                    errors.push(FieldError::invalid(&keys_at, all_keys.clone(), words));
                }
                Some(field)
                    if matches!(
                        field.get("type").and_then(Value::as_str),
                        Some("array" | "object")
                    ) =>
                {
                    let at = format!("{at}.items.properties[{key}].type");
                    let words =
                        "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    errors.push(FieldError::invalid(at, kind, words));
                }
                Some(_) => {}
            }
            if keys[..index].contains(key) {
                let words = "must not contain duplicate entries";
                errors.push(FieldError::invalid(&keys_at, all_keys.clone(), words));
            }
        }
    }
    let is_nullable = |json: &Value| json.get("nullable").is_some_and(|yes| yes == true);
    if let Some(list_type @ ("set" | "map")) = list_type
        && is_nullable(items)
    {
        let words = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(format!("{at}.items.nullable"), words));
    }
    if !is_map {
        return;
    }
    let required = items.get("required").and_then(Value::as_array);
    for key in keys {
        let Some(field) = field(key) else {
            continue;
        };
        let is_required = required.is_some_and(|names| names.iter().any(|name| name == key));
        if !is_required && field.get("default").is_none() {
            let at = format!("{at}.items.properties[{key}].default");
            let words = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(at, words));
        }
        if is_nullable(field) {
            let at = format!("{at}.items.properties[{key}].nullable");
            let words = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(at, words));
        }
    }
}

/// The texts of rules; what they say is compiled when all else is right.
fn validations(json: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let rules = json
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    for (index, rule) in rules.into_iter().flatten().enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
        let has_lines = |text: &str| text.trim().contains(['\n', '\r']);
        let (condition, message) = (text("rule"), text("message"));
        if condition.trim().is_empty() {
            errors.push(FieldError::required(
                format!("{at}.rule"),
                "rule is not specified",
            ));
        } else if !message.is_empty() && message.trim().is_empty() {
            let words = "must be non-empty if specified";
            errors.push(FieldError::invalid(format!("{at}.message"), message, words));
        } else if has_lines(message) {
            let words = "must not contain line breaks";
            errors.push(FieldError::invalid(format!("{at}.message"), message, words));
        } else if has_lines(condition) && message.is_empty() {
            let words = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(format!("{at}.message"), words));
        }
        let expression = text("messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let words = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(
                format!("{at}.messageExpression"),
                words,
            ));
        }
        const REASONS: [&str; 4] = [
            "FieldValueDuplicate",
            "FieldValueForbidden",
            "FieldValueInvalid",
            "FieldValueRequired",
        ];
        if rule.get("reason").is_some() && !REASONS.contains(&text("reason")) {
            errors.push(not_supported(
                format!("{at}.reason"),
                text("reason"),
                &REASONS,
            ));
        }
    }
}
