//! Checks lists of types set and map, whose items must be unique.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::walk::walk;
use super::{ListKind, Schema};
use crate::status::{FieldError, FieldErrorSort};

/// Errors of duplicate items. Unlike in the other checks, keys of maps are in brackets.
pub(super) fn check(schema: &Schema, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, None, "", &mut |schema, value, _, at| {
        match (&schema.list, value) {
            (ListKind::Set, Value::Array(items)) => set(items, at, &mut errors),
            (ListKind::Map(keys), Value::Array(items)) => map(items, keys, at, &mut errors),
            _ => {}
        }
        true
    });
    errors
}

pub(super) fn field(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

/// The indices of second occurrences; a third occurrence is not reported.
fn second<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<usize> {
    let mut seen: HashMap<&Value, u32> = HashMap::new();
    let mut twice = Vec::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(value).or_default();
        *times += 1;
        if *times == 2 {
            twice.push(index);
        }
    }
    twice
}

fn duplicate(at: &str, index: usize, value: Value) -> FieldError {
    let at = format!("{at}[{index}]");
    FieldError::new(FieldErrorSort::Duplicate, at, value, "")
}

fn set(items: &[Value], at: &str, errors: &mut Vec<FieldError>) {
    for index in second(items.iter()) {
        errors.push(duplicate(at, index, items[index].clone()));
    }
}

fn map(items: &[Value], keys: &[String], at: &str, errors: &mut Vec<FieldError>) {
    let no_object = items
        .iter()
        .position(|item| !item.is_object() && !item.is_null());
    if let Some(index) = no_object {
        let words = "must be an object for an array of list-type map";
        let place = format!("{at}[{index}]");
        errors.push(FieldError::invalid(place, items[index].clone(), words));
        return;
    }
    let identities: Vec<Value> = items
        .iter()
        .map(|item| {
            let identity: Map<String, Value> = keys
                .iter()
                .filter_map(|key| Some((key.clone(), item.get(key)?.clone())))
                .collect();
            Value::Object(identity)
        })
        .collect();
    for index in second(identities.iter()) {
        errors.push(duplicate(at, index, identities[index].clone()));
    }
}
