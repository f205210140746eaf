//! Whether a stored manifest says the same as a rendered one.
//!
//! OCM writes Deployments and DaemonSets through Go's types, which add empty fields: `status`, `resources`, `strategy`, and the metadata of
//! the pod with a creationTimestamp that is null. A work that differs in nothing else is not written.

use serde_json::Value;

/// Fields that Go's types write empty, and that mean nothing so.
const EMPTY_FIELDS: [&str; 5] = [
    "metadata",
    "resources",
    "status",
    "strategy",
    "updateStrategy",
];

/// Returns true if two manifests differ only in fields that mean nothing.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let is_in = |name: &String, value: &Value, fields: &serde_json::Map<String, Value>| {
                match fields.get(name) {
                    Some(found) => {
                        is_same(value, found)
                            || (is_nothing(name, value) && is_nothing(name, found))
                    }
                    None => is_nothing(name, value),
                }
            };
            one.iter().all(|(name, value)| is_in(name, value, other))
                && other
                    .iter()
                    .all(|(name, value)| one.contains_key(name) || is_nothing(name, value))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (one, other) => one == other,
    }
}

fn is_nothing(name: &str, value: &Value) -> bool {
    let is_empty = || {
        let fields = value.as_object();
        fields.is_some_and(|fields| fields.values().all(Value::is_null))
    };
    value.is_null() || (EMPTY_FIELDS.contains(&name) && is_empty())
}
