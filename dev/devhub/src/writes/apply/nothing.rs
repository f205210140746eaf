//! Objects before their first write.

use serde_json::{Map, Value};

use super::Manager;
use crate::object::Object;
use crate::resources::schema::{ListKind, Schema, Type};

/// Structs that are there though they are not required.
const STRUCTS: &[&str] = &[
    "metadata", "source", "spec", "status", "strategy", "template",
];

/// The object before it is created.
///
/// Built-in kinds are Go structs, and have fields from the start: empty ones, which nobody comes to own by leaving them
/// empty, or by filling something in below.
pub(crate) fn nothing(schema: &Schema, manager: &Manager<'_>) -> Object {
    let mut nothing = Object::default();
    if !manager.custom {
        *nothing.fields_mut() = zero_fields(schema);
        nothing.set(&["metadata"], Map::new());
    }
    nothing.set_type(manager.api_version, manager.kind);
    nothing
}

/// What a field has to be when nobody wrote it.
fn zero(schema: &Schema) -> Option<Value> {
    match schema.r#type {
        Type::Object if schema.properties.is_empty() => Some(Value::Null),
        Type::Object => Some(Value::Object(zero_fields(schema))),
        Type::Array => Some(Value::Null),
        Type::String if schema.format == "date-time" => Some(Value::Null),
        Type::String => Some("".into()),
        Type::Integer | Type::Number => Some(0.into()),
        Type::Boolean => Some(false.into()),
        Type::Any | Type::IntOrString => None,
    }
}

fn zero_fields(schema: &Schema) -> Map<String, Value> {
    let fields = schema.properties.iter().filter_map(|(name, field)| {
        let is_struct = field.r#type == Type::Object && STRUCTS.contains(&name.as_str());
        // Lists may be there as null (a role's rules), and strings empty (an event's reportingComponent).
        let is_leaf = match field.r#type {
            Type::Array => field.list == ListKind::Atomic,
            r#type => r#type == Type::String,
        };
        let zero = if schema.required.contains(name) || is_struct || is_leaf {
            zero(field)?
        } else {
            return None;
        };
        Some((name.clone(), zero))
    });
    fields.collect()
}
