//! OCM's function on texts in JSON.

use super::{Function, Returned, no_overload, priced};
use crate::failure::charge;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[priced("parseJSON", &[1], |args, steps| {
    // Each few bytes may be a value.
    if let Value::String(text) = &args[0] {
        charge(steps, text.len() as u64 / 4)?;
    }
    Ok(parse_json(args)?)
})];

fn parse_json(args: &[Value]) -> Returned {
    let Value::String(text) = &args[0] else {
        return no_overload();
    };
    // Nesting is bounded by serde_json. In OCM all numbers are doubles.
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    Ok(with_doubles(Value::from(&json)))
}

fn with_doubles(value: Value) -> Value {
    match value {
        Value::Int(value) => Value::Double(value as f64),
        Value::List(items) => Value::list(items.iter().cloned().map(with_doubles)),
        Value::Map(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| (key.clone(), with_doubles(value.clone())));
            Value::Map(std::sync::Arc::new(entries.collect()))
        }
        other => other,
    }
}
