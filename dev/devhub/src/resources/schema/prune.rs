//! Removes unknown fields.

use serde_json::{Map, Value};

use super::Schema;
use super::kubernetes::{object_meta, unfolded};

/// The fields that every object has.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Paths of removed fields, in the order in which kube-apiserver names them: those of the object's metadata, the rest by name,
/// those of the metadata of embedded resources.
#[derive(Default)]
struct Removed {
    fields: Vec<String>,
    embedded: Vec<String>,
}

pub(super) fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut removed = Removed::default();
    let mut paths = Vec::new();
    if let Value::Object(fields) = value {
        if let Some(metadata) = fields.get_mut("metadata") {
            let mut inside = Removed::default();
            any(object_meta(), metadata, "metadata", &mut inside);
            paths.append(&mut inside.fields);
        }
        object(schema, fields, "", true, &mut removed);
    }
    removed.fields.sort();
    paths.append(&mut removed.fields);
    paths.append(&mut removed.embedded);
    paths
}

/// As [`prune`], for a value that is no object of the API.
pub(super) fn prune_value(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut removed = Removed::default();
    any(schema, value, "", &mut removed);
    removed.fields
}

fn any(schema: &Schema, value: &mut Value, at: &str, removed: &mut Removed) {
    let schema = unfolded(schema, value);
    match value {
        Value::Object(fields) => object(schema, fields, at, schema.embedded, removed),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let at = format!("{at}[{index}]");
                match schema.items.as_deref() {
                    Some(schema) => any(schema, item, &at, removed),
                    None if schema.preserve_unknown => {}
                    None => nothing(item, &at, removed),
                }
            }
        }
        _ => {}
    }
}

fn object(
    schema: &Schema,
    fields: &mut Map<String, Value>,
    at: &str,
    embedded: bool,
    removed: &mut Removed,
) {
    fields.retain(|name, value| {
        let at = join(at, name);
        if embedded && META.contains(&name.as_str()) {
            if name == "metadata" && at.contains('.') {
                let mut inside = Removed::default();
                any(object_meta(), value, &at, &mut inside);
                removed.embedded.append(&mut inside.fields);
            }
            return true;
        }
        match schema.child(name) {
            Some(child) => any(child, value, &at, removed),
            None if schema.preserve_unknown => {}
            None => {
                removed.fields.push(at);
                return false;
            }
        }
        true
    });
}

/// Below a value without a schema nothing is known.
fn nothing(value: &mut Value, at: &str, removed: &mut Removed) {
    match value {
        Value::Object(fields) => {
            removed
                .fields
                .extend(fields.keys().map(|name| join(at, name)));
            fields.clear();
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                nothing(item, &format!("{at}[{index}]"), removed);
            }
        }
        _ => {}
    }
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}
