//! Fields that change their entry in managedFields.

use serde_json::{Map, Value};

use super::Segment;
use crate::path::{Part, Path};

/// managedFields in which `paths` have moved from the entries of a manager that were not written by server-side apply to the one that
/// was. The next apply by that manager removes those that it does not have.
pub(crate) fn moved(live: &Value, manager: &str, paths: &[Path]) -> Option<Value> {
    let mut entries = live["metadata"]["managedFields"].as_array()?.clone();
    let whole = |entry: &Value| entry["subresource"].as_str().unwrap_or("").is_empty();
    let is = |entry: &Value, operation: &str| {
        entry["manager"] == manager && entry["operation"] == operation && whole(entry)
    };
    if !entries.iter().any(|entry| is(entry, "Apply")) {
        let mut entry = entries.iter().find(|entry| is(entry, "Update"))?.clone();
        entry["operation"] = "Apply".into();
        entry["fieldsV1"] = Value::Object(Map::new());
        entries.push(entry);
    }
    let mut taken = Vec::new();
    for entry in entries.iter_mut().filter(|entry| is(entry, "Update")) {
        for path in paths {
            taken.extend(take(&mut entry["fieldsV1"], &path.0).map(|node| (path, node)));
        }
    }
    for entry in entries.iter_mut().filter(|entry| is(entry, "Apply")) {
        for (path, node) in taken.drain(..) {
            insert(&mut entry["fieldsV1"], &path.0, node);
        }
    }
    entries.retain(|entry| {
        entry["fieldsV1"]
            .as_object()
            .is_some_and(|it| !it.is_empty())
    });
    Some(Value::Array(entries))
}

/// Puts a node at a path.
fn insert(mut fields: &mut Value, path: &[Part], inserted: Value) {
    for part in path {
        let Value::Object(node) = fields else { return };
        fields = node
            .entry(key(part))
            .or_insert_with(|| Value::Object(Map::new()));
    }
    *fields = inserted;
}

/// Takes the node at a path, and those above it that are empty then.
fn take(fields: &mut Value, path: &[Part]) -> Option<Value> {
    let (first, rest) = path.split_first()?;
    let node = fields.as_object_mut()?;
    // The keys of items are compared as values, because their text may be written differently.
    let key = node.keys().find(|key| match (Segment::of(key), first) {
        (Segment::Field(name), Part::Field(field)) => name == field,
        (Segment::Key(found), Part::Key(key)) => found == *key,
        (Segment::Member(found), Part::Member(value)) => found == *value,
        _ => false,
    });
    let key = key?.clone();
    if rest.is_empty() {
        return node.remove(&key);
    }
    let below = node.get_mut(&key)?;
    let taken = take(below, rest);
    if below.as_object().is_some_and(Map::is_empty) {
        node.remove(&key);
    }
    taken
}

/// The key of a step in fieldsV1.
fn key(part: &Part) -> String {
    match part {
        Part::Field(name) => format!("f:{name}"),
        Part::Key(key) => format!("k:{}", Value::Object(key.clone())),
        Part::Member(value) => format!("v:{value}"),
        Part::Index(index) => format!("i:{index}"),
    }
}
