//! Fills in defaults, and removes nulls that are not values.

use serde_json::Value;

use super::kubernetes::unfolded;
use super::{Schema, Type};

/// Removes nulls that are no value and have no default, then fills in defaults: kube-apiserver's order.
pub(super) fn fill_in(schema: &Schema, value: &mut Value) {
    drop_nulls(schema, value);
    fill(schema, value);
}

/// Returns true if a null means that nothing is there.
fn is_no_value(value: &Value, schema: &Schema) -> bool {
    let anything = schema.r#type == Type::Any && !schema.name.is_empty();
    value.is_null() && !schema.nullable && !anything
}

fn drop_nulls(schema: &Schema, value: &mut Value) {
    let schema = unfolded(schema, value);
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(child) = schema.child(name) else {
                return true;
            };
            if is_no_value(value, child) && child.default.is_none() {
                return false;
            }
            drop_nulls(child, value);
            true
        }),
        Value::Array(list) => {
            if let Some(items) = schema.items.as_deref() {
                list.iter_mut().for_each(|item| drop_nulls(items, item));
            }
        }
        _ => {}
    }
}

fn fill(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, child) in &schema.properties {
                if let Some(default) = &child.default
                    && fields
                        .get(name)
                        .is_none_or(|value| is_no_value(value, child))
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                if let Some(child) = schema.child(name) {
                    replace_null(child, value);
                    fill(child, value);
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = schema.items.as_deref() {
                for item in list {
                    replace_null(items, item);
                    fill(items, item);
                }
            }
        }
        _ => {}
    }
}

fn replace_null(schema: &Schema, value: &mut Value) {
    if let Some(default) = &schema.default
        && is_no_value(value, schema)
    {
        *value = default.clone();
    }
}
