//! A walk over a value and its schema.

use serde_json::Value;

use super::check::same_item;
use super::{OBJECT_META, Schema, lists};

/// What a walk calls with a schema, a value, the old value, and the path.
pub(super) type See<'a> = dyn FnMut(&Schema, &Value, Option<&Value>, &str) -> bool + 'a;

/// Calls `see` with a value and with everything below it: each with its schema, the old value in its place, and its path (keys
/// of maps in brackets). Metadata, which has rules of its own, is left out, and so is what is below a value that `see` returns
/// false for.
pub(super) fn walk(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    at: &str,
    see: &mut See<'_>,
) {
    if !see(schema, value, old, at) {
        return;
    }
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(child) = &schema.items {
                    let old = old.and_then(|old| same_item(schema, item, old));
                    walk(child, item, old, &format!("{at}[{index}]"), see);
                }
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                // An atomic object is compared as a whole.
                let old = old.filter(|_| !schema.atomic).and_then(|old| old.get(name));
                match (schema.properties.get(name), &schema.additional) {
                    (Some(child), _) if child.name == OBJECT_META => {}
                    (Some(child), _) => walk(child, value, old, &lists::field(at, name), see),
                    (None, Some(child)) => walk(child, value, old, &format!("{at}[{name}]"), see),
                    (None, None) => {}
                }
            }
        }
        _ => {}
    }
}
