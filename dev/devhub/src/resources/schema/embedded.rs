//! Checks objects within objects (`x-kubernetes-embedded-resource`): they must have a type.

use serde_json::{Map, Value};

use super::Schema;
use super::lists::field;
use super::walk::walk;
use crate::status::FieldError;

pub(super) fn check(schema: &Schema, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, None, "", &mut |schema, value, _, at| {
        if let (true, Value::Object(fields)) = (schema.embedded, value) {
            types(fields, at, &mut errors);
        }
        true
    });
    errors
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
