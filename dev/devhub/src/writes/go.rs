//! Values in Go's words. kube-apiserver's messages show values as Go's `fmt` prints them, and its JSON is Go's.

use std::fmt::Write;

use serde_json::{Map, Value};

/// `%v`
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => plain_map(fields),
    }
}

/// `%v` of a map.
pub(crate) fn plain_map(fields: &Map<String, Value>) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}:{}", plain(value)))
        .collect();
    format!("map[{}]", fields.join(" "))
}

/// `%#v`
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// `%T`, or the type that `reflect` names.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// JSON as Go's encoder writes it: with `<`, `>` and `&` escaped.
pub(crate) fn json(value: &Value) -> String {
    let plain = value.to_string();
    let mut text = String::with_capacity(plain.len());
    // These characters stand only within strings.
    for character in plain.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_printed_as_go_prints_them() {
        let value = json!({"b": [1, true, null, "x"], "a": {"c": 1.5}});
        assert_eq!(plain(&value), "map[a:map[c:1.5] b:[1 true <nil> x]]");
        assert_eq!(
            syntax(&value),
            r#"map[string]interface {}{"a":map[string]interface {}{"c":1.5}, "b":[]interface {}{1, true, interface {}(nil), "x"}}"#
        );
        assert_eq!(
            super::json(&json!({"a": "<&>"})),
            r#"{"a":"\u003c\u0026\u003e"}"#
        );
    }
}
