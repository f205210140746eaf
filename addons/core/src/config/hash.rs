//! The hash of a config, as add-on managers store it.
//!
//! It is the SHA-256 of the object's JSON without `apiVersion`, `kind`, `metadata` and `status`, as Go's `encoding/json` writes it. An
//! add-on whose hash is another one is rolled out anew: the bytes must equal those of OCM.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};
use serde_json::{Map, Number, Value};

/// Fields that are not part of a config's content.
const WITHOUT: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// Returns the hash of a config, in hexadecimal digits.
///
/// # Errors
/// The text is not a JSON object.
pub fn spec_hash(json: &str) -> Result<String, serde_json::Error> {
    let mut object: Map<String, Value> = serde_json::from_str(json)?;
    object.retain(|field, _| !WITHOUT.contains(&&**field));
    let text = canonical(&Value::Object(object));
    let mut hash = String::new();
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    Ok(hash)
}

/// Returns a value as Go's `json.Marshal` writes it, with the fields of objects in the order of their names.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            // Whether the map is sorted depends on a feature of serde_json.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, value)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// Kubernetes' decoder makes an int64 of a number if it can, else a float64.
fn write_number(number: &Number, out: &mut String) {
    if let Some(integer) = number.as_i64() {
        let _ = write!(out, "{integer}");
        return;
    }
    let float = number.as_f64().unwrap_or_default();
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        // Rust has no sign in a positive exponent.
        let text = format!("{float:e}");
        out.push_str(&match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                format!("{digits}e+{exponent}")
            }
            _ => text,
        });
    } else {
        let _ = write!(out, "{float}");
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Go writes JSON that may stand in HTML and in JavaScript.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests;
