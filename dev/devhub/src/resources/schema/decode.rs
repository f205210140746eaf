//! Finds values of the wrong type, which a decoder refuses before validation.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::kubernetes::{object_meta, unfolded};
use super::lists::field;
use super::{Schema, Type};

pub(super) fn decode_error(schema: &Schema, value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    if !schema.name.is_empty() {
        return check(schema, value, "").err();
    }
    // Of a custom object only the metadata has a type.
    check(object_meta(), fields.get("metadata")?, "metadata").err()
}

fn check(schema: &Schema, value: &Value, at: &str) -> Result<(), String> {
    let schema = unfolded(schema, value);
    if value.is_null() {
        return Ok(());
    }
    let type_name = schema.name.rsplit('.').next().unwrap_or_default();
    let fits = match (schema.r#type, value) {
        _ if matches!(type_name, "Time" | "MicroTime") => value
            .as_str()
            .is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok()),
        _ if type_name == "Quantity" => match value {
            Value::String(text) => is_quantity(text),
            value => value.is_number(),
        },
        (Type::Object, Value::Object(fields)) => {
            return fields
                .iter()
                .try_for_each(|(name, value)| match schema.child(name) {
                    Some(child) => check(child, value, &field(at, name)),
                    None => Ok(()),
                });
        }
        (Type::Array, Value::Array(items)) => {
            let items = items.iter().enumerate().zip(schema.items.iter().cycle());
            let mut checked = items.map(|((index, item), child)| {
                let at = format!("{at}[{index}]");
                check(child, item, &at)
            });
            return checked.find(Result::is_err).unwrap_or(Ok(()));
        }
        (Type::String, Value::String(text)) if schema.format == "byte" => {
            // Go's decoder passes over line ends.
            STANDARD.decode(text.replace(['\r', '\n'], "")).is_ok()
        }
        (Type::String, Value::Array(items)) if schema.format == "byte" => items
            .iter()
            .all(|item| item.as_u64().is_some_and(|byte| byte < 256)),
        (Type::Integer, Value::Number(number)) => number
            .as_i64()
            .is_some_and(|int| schema.format != "int32" || i32::try_from(int).is_ok()),
        (Type::IntOrString, Value::Number(number)) => number
            .as_i64()
            .is_some_and(|int| i32::try_from(int).is_ok()),
        (Type::Any, _)
        | (Type::String | Type::IntOrString, Value::String(_))
        | (Type::Boolean, Value::Bool(_))
        | (Type::Number, Value::Number(_)) => true,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let expected = match schema.r#type.as_str() {
        "" => "another type",
        name => name,
    };
    Err(format!("{at}: the value is not of type {expected}"))
}

/// A number with a unit.
fn is_quantity(text: &str) -> bool {
    const UNITS: [&str; 16] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let number = &text[..text.len() - unit.len()];
    (UNITS.contains(&unit) && number.parse::<f64>().is_ok())
        || text.parse::<f64>().is_ok_and(f64::is_finite)
}
