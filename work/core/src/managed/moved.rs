//! Fields that change their entry in managedFields.

use serde_json::{Map, Value, json};

use super::Segment;
use crate::path::{Part, Path};

/// managedFields in which `paths` have moved from the entries of a manager that were not written by server-side apply to the one that
/// was. The next apply by that manager removes those that it does not have. `released` do not belong to the manager any more; their values stay.
pub(crate) fn moved(
    live: &Value,
    manager: &str,
    paths: &[Path],
    released: &[Path],
) -> Option<Value> {
    let mut entries = live["metadata"]["managedFields"].as_array()?.clone();
    let is = |entry: &Value, operation: &str| {
        entry["manager"] == manager && entry["operation"] == operation && is_whole(entry)
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
    for entry in &mut entries {
        let is_ours = entry["manager"] == manager && is_whole(entry);
        for path in released.iter().filter(|_| is_ours) {
            take(&mut entry["fieldsV1"], &path.0);
        }
    }
    Some(with_fields(entries))
}

/// managedFields in which `paths` belong to what a manager applied on the server, and to nobody else. The next apply by that manager removes
/// those that it does not have.
pub(crate) fn claimed(live: &Value, manager: &str, paths: &[Path]) -> Value {
    let entries = live["metadata"]["managedFields"].as_array();
    let mut entries = entries.cloned().unwrap_or_default();
    for entry in &mut entries {
        for path in paths {
            take(&mut entry["fieldsV1"], &path.0);
        }
    }
    let is_applied = |entry: &Value| {
        entry["manager"] == manager && entry["operation"] == "Apply" && is_whole(entry)
    };
    if !entries.iter().any(is_applied) {
        entries.push(json!({
            "manager": manager,
            "operation": "Apply",
            "apiVersion": live["apiVersion"],
            "fieldsType": "FieldsV1",
            "fieldsV1": {},
        }));
    }
    for entry in entries.iter_mut().filter(|entry| is_applied(entry)) {
        for path in paths {
            insert(&mut entry["fieldsV1"], &path.0, json!({}));
        }
    }
    with_fields(entries)
}

fn with_fields(mut entries: Vec<Value>) -> Value {
    entries.retain(|entry| {
        let fields = entry["fieldsV1"].as_object();
        fields.is_some_and(|fields| !fields.is_empty())
    });
    Value::Array(entries)
}

/// Is the entry not about a subresource?
fn is_whole(entry: &Value) -> bool {
    entry["subresource"].as_str().unwrap_or("").is_empty()
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
