//! JSON as Go's encoder writes it, for annotations and the names of owned fields.

use std::fmt::Write;

use serde_json::Value;

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
    use serde_json::json;

    #[test]
    fn some_characters_are_escaped() {
        assert_eq!(
            super::json(&json!({"a": "<&>"})),
            r#"{"a":"\u003c\u0026\u003e"}"#
        );
    }
}
