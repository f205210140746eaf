//! Checks the type of a value, as far as field ownership needs it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::element::PathElement;
use super::shape::{ListShape, MapShape, ScalarType, Shape, Sort};

/// What is wrong with a configuration that is applied, in kube-apiserver's words. Unknown fields, values of wrong types, and
/// items that a list has twice.
pub(crate) fn errors(value: &Value, shape: Shape<'_>) -> Option<String> {
    let mut found = Vec::new();
    check(value, shape, "", &mut found);
    match found.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn check(value: &Value, shape: Shape<'_>, at: &str, found: &mut Vec<String>) {
    match shape.sort(Some(value)) {
        Sort::Map(map) => check_map(value, map, at, found),
        Sort::List(list) => check_list(value, list, at, found),
        Sort::Scalar(scalar) => {
            if !is_scalar(scalar, value) {
                found.push(located(at, &format!("expected {scalar:?}")));
            }
        }
    }
}

fn located(at: &str, error: &str) -> String {
    if at.is_empty() {
        error.to_owned()
    } else {
        format!("{at}: {error}")
    }
}

fn check_map(value: &Value, map: MapShape<'_>, at: &str, found: &mut Vec<String>) {
    let fields = match value {
        Value::Null => return,
        Value::Object(fields) => fields,
        _ => return found.push(located(at, "expected map")),
    };
    for (name, value) in fields {
        let at = format!("{at}.{name}");
        let Some(shape) = map.field(name) else {
            // The real one stops here too, in no particular order.
            return found.push(located(&at, "field not declared in schema"));
        };
        check(value, shape, &at, found);
    }
}

fn check_list(value: &Value, list: ListShape<'_>, at: &str, found: &mut Vec<String>) {
    let items = match value {
        Value::Null => return,
        Value::Array(items) => items,
        _ => return found.push(located(at, "expected list")),
    };
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let step = if list.is_atomic() {
            PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
        } else {
            match list.step(item) {
                Ok(step) => step,
                Err(error) => {
                    return found.push(located(at, &format!("element {index}: {error}")));
                }
            }
        };
        let place = format!("{at}{step}");
        if !list.is_atomic() && !seen.insert(step.clone()) {
            found.push(located(at, &format!("duplicate entries for key {step}")));
        }
        check(item, list.item(), &place, found);
    }
}

fn is_scalar(scalar: ScalarType, value: &Value) -> bool {
    matches!(
        (scalar, value),
        (_, Value::Null)
            | (ScalarType::Numeric, Value::Number(_))
            | (ScalarType::String, Value::String(_))
            | (ScalarType::Boolean, Value::Bool(_))
            | (
                ScalarType::Untyped,
                Value::Number(_) | Value::String(_) | Value::Bool(_)
            )
    )
}

/// Returns true if every item of a set or map in a stored object has a place there. Its other flaws do not hinder ownership.
pub(crate) fn is_indexable(value: &Value, shape: Shape<'_>) -> bool {
    match (shape.sort(Some(value)), value) {
        (Sort::Map(map), Value::Object(fields)) => fields
            .iter()
            .all(|(name, value)| is_indexable(value, map.field_or_deduced(name))),
        (Sort::List(list), Value::Array(items)) => items.iter().all(|item| {
            (list.is_atomic() || list.step(item).is_ok()) && is_indexable(item, list.item())
        }),
        _ => true,
    }
}
