//! Checks values against schemas.
//!
//! This is not done by a library for JSON schemas, because unchanged parts are not checked again, and fields are named as in
//! Kubernetes.

use serde_json::{Map, Value};

use super::limits::{Bound, Limits};
use super::numbers::Num;
use super::{ListKind, OBJECT_META, Schema, Type, cel, embedded, formats, lists};
use crate::status::{FieldError, FieldErrorSort};

/// What kube-apiserver calls the object as a whole.
const WHOLE: &str = "<nil>";

const UNCHECKED_RULES: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

pub(super) fn check(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = against(schema, value, old, "");
    errors.extend(embedded::check(schema, value));
    if old.is_none_or(|old| lists::check(schema, old).is_empty()) {
        errors.extend(lists::check(schema, value));
    }
    if schema.limits().any_rules {
        if errors.iter().any(blocks_rules) {
            errors.push(FieldError::invalid(WHOLE, Value::Null, UNCHECKED_RULES));
        } else {
            errors.extend(cel::check(schema, value, old));
        }
    }
    errors
}

/// Returns true if rules could meet a value that they are not written for.
fn blocks_rules(error: &FieldError) -> bool {
    use FieldErrorSort as S;
    matches!(
        error.sort,
        S::NotSupported | S::Required | S::TooLong | S::TooMany | S::TypeInvalid
    )
}

/// Required fields that are absent.
pub(super) fn missing(schema: &Schema, value: &Value, at: &str) -> Vec<FieldError> {
    let below = |name: &str| lists::field(at, name);
    match value {
        Value::Object(fields) => {
            let absent = schema.required.iter().filter(|name| {
                let field = fields.get(*name);
                field.is_none_or(Value::is_null)
            });
            let mut errors: Vec<_> = absent
                .map(|name| FieldError::required(below(name), ""))
                .collect();
            for (name, value) in fields.iter().filter(|(name, _)| *name != "metadata") {
                if let Some(child) = schema.child(name) {
                    errors.extend(missing(child, value, &below(name)));
                }
            }
            errors
        }
        Value::Array(list) => {
            let items = schema.items.iter().flat_map(|schema| {
                let items = list.iter().enumerate();
                items.flat_map(|(index, item)| missing(schema, item, &format!("{at}[{index}]")))
            });
            items.collect()
        }
        _ => Vec::new(),
    }
}

/// What is wrong with the default of a schema.
pub(super) fn check_default(schema: &Schema, default: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = against(schema, default, None, "");
    if errors.is_empty() {
        errors = cel::check(schema, default, Some(default));
    }
    for error in &mut errors {
        error.field = match error.field.as_str() {
            WHOLE => at.to_owned(),
            path if path.starts_with('[') => format!("{at}{path}"),
            "" => at.to_owned(),
            path => format!("{at}.{path}"),
        };
    }
    errors
}

fn against(schema: &Schema, value: &Value, old: Option<&Value>, at: &str) -> Vec<FieldError> {
    // What has not changed is not checked again.
    if old.is_some_and(|old| old == value) {
        return Vec::new();
    }
    let limits = schema.limits();
    let mut errors = Vec::new();
    options(limits, value, at, &mut errors);
    if value.is_null() {
        if schema.r#type != Type::Any && !schema.nullable {
            errors.push(wrong_type(at, type_names(schema.r#type), "null"));
        }
        return errors;
    }
    of_type(schema, limits, value, at, &mut errors);
    combined(limits, value, at, &mut errors);
    match value {
        Value::String(text) => string(limits, text, at, &mut errors),
        Value::Number(value) => number(limits, Num::of(value), at, &mut errors),
        Value::Array(list) => items(schema, limits, list, old, at, &mut errors),
        Value::Object(fields) => object(schema, limits, fields, old, at, &mut errors),
        _ => {}
    }
    errors
}

fn wrong_type(at: &str, expected: &str, found: &str) -> FieldError {
    let words = format!("{at} in body must be of type {expected}: {found:?}");
    let sort = FieldErrorSort::TypeInvalid;
    FieldError::new(sort, field(at), Value::from(found), words)
}

/// The path as errors name it.
fn field(at: &str) -> &str {
    if at.is_empty() { WHOLE } else { at }
}

fn invalid(at: &str, value: impl Into<Value>, words: &str) -> FieldError {
    FieldError::invalid(field(at), value, format!("{at} in body {words}"))
}

fn type_names(r#type: Type) -> &'static str {
    match r#type {
        Type::IntOrString => "integer,string",
        known => known.as_str(),
    }
}

fn of_type(
    schema: &Schema,
    limits: &Limits,
    value: &Value,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let whole = |number: &serde_json::Number| Num::of(number).as_int().is_some();
    let (found, is_whole) = match value {
        Value::Null => ("null", false),
        Value::Bool(_) => ("boolean", false),
        Value::Number(number) if number.is_f64() => ("number", whole(number)),
        Value::Number(number) => ("integer", whole(number)),
        Value::String(_) => ("string", false),
        Value::Array(_) => ("array", false),
        Value::Object(_) => ("object", false),
    };
    let fits = match schema.r#type {
        Type::Any => true,
        Type::IntOrString => is_whole || found == "string",
        Type::Integer => is_whole,
        Type::Number => matches!(found, "number" | "integer"),
        other => found == other.as_str(),
    };
    let format = limits.format.as_deref().unwrap_or_default();
    let fits_format = match value {
        Value::Number(number) => match (format, Num::of(number)) {
            ("int32", number) => number
                .as_int()
                .is_some_and(|int| i32::try_from(int).is_ok()),
            ("float", number) => number.as_f64().abs() <= f64::from(f32::MAX),
            _ => true,
        },
        Value::String(text) => format.is_empty() || formats::matches(format, text),
        _ => true,
    };
    if !fits {
        errors.push(wrong_type(at, type_names(schema.r#type), found));
    } else if !fits_format {
        let shown = value.as_str().unwrap_or(found);
        errors.push(wrong_type(at, format, shown));
    }
}

/// `anyOf`, `oneOf`, `allOf`, `not`
fn combined(limits: &Limits, value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let fits = |schema: &&Schema| against(schema, value, None, at).is_empty();
    let mut refuse = |words: String| errors.push(FieldError::invalid(WHOLE, "", words));
    if !limits.any_of.is_empty() && !limits.any_of.iter().any(|schema| fits(&schema)) {
        refuse(format!("{at:?} must validate at least one schema (anyOf)"));
    }
    let valid = limits.one_of.iter().filter(fits).count();
    if !limits.one_of.is_empty() && valid != 1 {
        refuse(format!(
            "{at:?} must validate one and only one schema (oneOf). Found {valid} valid"
        ));
    }
    if limits.not.as_deref().is_some_and(|not| fits(&not)) {
        refuse(format!("{at:?} must not validate the schema (not)"));
    }
    for schema in &limits.all_of {
        errors.extend(against(schema, value, None, at));
    }
}

fn string(limits: &Limits, text: &str, at: &str, errors: &mut Vec<FieldError>) {
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if let Some(max) = limits.max_length.filter(|max| length > *max) {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let words = format!("may not be more than {max} {unit}");
        let sort = FieldErrorSort::TooLong;
        errors.push(FieldError::new(sort, field(at), None, words));
    } else if let Some(min) = limits.min_length.filter(|min| length < *min) {
        let words = format!("should be at least {min} chars long");
        errors.push(invalid(at, text, &words));
    } else if let Some(pattern) = &limits.pattern
        && !pattern.regex.is_match(text)
    {
        let words = format!("should match '{}'", pattern.text);
        errors.push(invalid(at, text, &words));
    }
}

fn number(limits: &Limits, value: Num, at: &str, errors: &mut Vec<FieldError>) {
    let float = value.as_f64();
    if let Some(factor) = limits.multiple_of {
        let times = float / factor;
        // Floats are no multiples to the last bit.
        let is_multiple = (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0);
        if !is_multiple {
            let words = format!("should be a multiple of {factor}");
            errors.push(invalid(at, value.value(), &words));
        }
    }
    for (bound, than) in [
        (limits.minimum, "greater than"),
        (limits.maximum, "less than"),
    ] {
        let Some(Bound { limit, exclusive }) = bound else {
            continue;
        };
        let beyond = match than {
            "less than" => float > limit || exclusive && float >= limit,
            _ => float < limit || exclusive && float <= limit,
        };
        if beyond {
            let or_equal = if exclusive { "" } else { " or equal to" };
            let words = format!("should be {than}{or_equal} {limit}");
            errors.push(invalid(at, value.value(), &words));
        }
    }
}

/// How many items or properties there are, and may be.
fn count(
    (length, min, max): (usize, Option<u64>, Option<u64>),
    what: &str,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let many = u64::try_from(length).unwrap_or(u64::MAX);
    if let Some(min) = min.filter(|min| many < *min) {
        let words = format!("should have at least {min} {what}");
        errors.push(invalid(at, length, &words));
    }
    if let Some(max) = max.filter(|max| many > *max) {
        let unit = if max == 1 { "item" } else { "items" };
        let words = format!("must have at most {max} {unit}");
        let sort = FieldErrorSort::TooMany;
        errors.push(FieldError::new(sort, field(at), Value::from(length), words));
    }
}

fn items(
    schema: &Schema,
    limits: &Limits,
    list: &[Value],
    old: Option<&Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(items) = &schema.items {
        for (index, item) in list.iter().enumerate() {
            let old = old.and_then(|old| same_item(schema, item, old));
            errors.extend(against(items, item, old, &format!("{at}[{index}]")));
        }
    }
    let range = (list.len(), limits.min_items, limits.max_items);
    count(range, "items", at, errors);
}

/// The item of the old list that has the same keys. Only lists of type map have such.
pub(super) fn same_item<'a>(schema: &Schema, item: &Value, old: &'a Value) -> Option<&'a Value> {
    let ListKind::Map(keys) = &schema.list else {
        return None;
    };
    old.as_array()?.iter().find(|old| {
        keys.iter().all(|key| {
            let items = schema.items.as_ref();
            let default = items.and_then(|items| items.properties.get(key)?.default.as_ref());
            item.get(key).or(default) == old.get(key).or(default)
        })
    })
}

fn options(limits: &Limits, value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let is_same = |option: &Value| match (option, value) {
        (Value::Number(option), Value::Number(value)) => {
            Num::of(option).value() == Num::of(value).value()
        }
        _ => option == value,
    };
    if limits.options.is_empty() || limits.options.iter().any(is_same) {
        return;
    }
    let names: Vec<String> = limits.options.iter().map(Value::to_string).collect();
    let words = format!("supported values: {}", names.join(", "));
    let sort = FieldErrorSort::NotSupported;
    errors.push(FieldError::new(sort, field(at), value.clone(), words));
}

fn object(
    schema: &Schema,
    limits: &Limits,
    fields: &Map<String, Value>,
    old: Option<&Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let range = (fields.len(), limits.min_properties, limits.max_properties);
    count(range, "properties", at, errors);
    for (name, value) in fields {
        let Some(child) = schema.child(name) else {
            continue;
        };
        let old = old.and_then(|old| old.get(name));
        if child.name == OBJECT_META {
            metadata(child, value, old, &lists::field(at, name), errors);
        } else {
            errors.extend(against(child, value, old, &lists::field(at, name)));
        }
    }
    for name in &schema.required {
        if !fields.contains_key(name) {
            errors.push(FieldError::required(lists::field(at, name), ""));
        }
    }
}

/// Metadata has rules of its own; a definition can only restrict names.
fn metadata(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    for name in ["name", "generateName"] {
        if let (Some(child), Some(value)) = (schema.properties.get(name), value.get(name)) {
            let old = old.and_then(|old| old.get(name));
            errors.extend(against(child, value, old, &lists::field(at, name)));
        }
    }
}
