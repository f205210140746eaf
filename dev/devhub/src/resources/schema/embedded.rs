//! Objects within objects (`x-kubernetes-embedded-resource`): they have a type, and metadata.

use serde_json::{Map, Value};

use super::lists::{field, key};
use super::{OBJECT_META, Schema};
use crate::status::FieldError;

pub(super) fn check(schema: &Schema, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, String::new(), &mut errors);
    errors
}

fn walk(schema: &Schema, value: &Value, at: String, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded {
                types(fields, &at, errors);
            }
            for (name, value) in fields {
                if let Some(child) = schema.properties.get(name) {
                    if child.name != OBJECT_META {
                        walk(child, value, field(&at, name), errors);
                    }
                } else if let Some(child) = &schema.additional {
                    walk(child, value, key(&at, name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(child) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    walk(child, item, format!("{at}[{index}]"), errors);
                }
            }
        }
        _ => {}
    }
}

fn types(fields: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let place = field(at, name);
        let words = match fields.get(name) {
            None => {
                errors.push(FieldError::required(place, ""));
                continue;
            }
            Some(Value::String(text)) if text.is_empty() => "must not be empty",
            Some(Value::String(text)) if name == "apiVersion" && text.matches('/').count() > 1 => {
                let words = format!("unexpected GroupVersion string: {text}");
                errors.push(FieldError::invalid(place, text.as_str(), words));
                continue;
            }
            Some(Value::String(_)) => continue,
            Some(_) => "must be a string",
        };
        let value = fields.get(name).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(place, value, words));
    }
}
