//! The hash of a manifest that OCM's agent stores on objects with ignored fields: MD5 of Go's `%v` print of the object.
//!
//! It must be equal to the last byte, so that after a change of agents no object is applied anew.

use std::fmt::Write as _;

use md5::{Digest, Md5};
use serde_json::{Number, Value};

/// Returns the lowercase hex MD5 of an object as Go prints an `unstructured.Unstructured`.
pub(crate) fn config_spec_hash(object: &Value) -> String {
    let mut text = String::from("&{");
    print(object, &mut text);
    text.push('}');
    let digest = Md5::digest(text.as_bytes());
    digest
        .iter()
        .fold(String::with_capacity(32), |mut hex, byte| {
            // Writing into a String does not fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// Prints a value as Go's `%v`: <https://pkg.go.dev/fmt>. Keys of maps are sorted by their bytes.
fn print(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => print_number(number, text),
        Value::String(value) => text.push_str(value),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                print(item, text);
            }
            text.push(']');
        }
        Value::Object(object) => {
            let mut fields: Vec<_> = object.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push_str("map[");
            for (index, (name, value)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                text.push_str(name);
                text.push(':');
                print(value, text);
            }
            text.push(']');
        }
    }
}

/// Integers of 64 bits are int64 in Go, all else float64.
fn print_number(number: &Number, text: &mut String) {
    if let Some(integer) = number.as_i64() {
        text.push_str(&integer.to_string());
        return;
    }
    let Some(float) = number.as_f64() else { return };
    // Digits and exponent of the shortest text that reads as the same number. Go writes an exponent, of at least two digits, if it is
    // less than -4 or at least 6.
    let shortest = format!("{float:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        let _ = write!(text, "{float}");
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(text, "{digits}e{sign}{:02}", exponent.abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(json: &str) -> String {
        let mut text = String::new();
        print(&serde_json::from_str(json).unwrap(), &mut text);
        text
    }

    #[test]
    fn values_are_printed_as_go_prints_them() {
        for (json, expected) in [
            ("null", "<nil>"),
            ("true", "true"),
            ("-7", "-7"),
            ("9223372036854775807", "9223372036854775807"),
            // Beyond 63 bits: a float64.
            ("9223372036854775808", "9.223372036854776e+18"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("100000.0", "100000"),
            ("1000000.0", "1e+06"),
            ("123456789.5", "1.234567895e+08"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.5e-7", "1.5e-07"),
            ("1e100", "1e+100"),
            ("0.5", "0.5"),
            (r#""a b""#, "a b"),
            ("[]", "[]"),
            ("{}", "map[]"),
            (r#"["a","b",1]"#, "[a b 1]"),
            (
                r#"{"b":{"d":null,"c":[{}]},"a":""}"#,
                "map[a: b:map[c:[map[]] d:<nil>]]",
            ),
        ] {
            assert_eq!(printed(json), expected, "{json}");
        }
    }

    #[test]
    fn the_hash_of_a_config_map_is_that_of_ocm() {
        let object = serde_json::json!({
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"namespace": "default", "name": "test"},
            "data": {"foo1": "bar1"},
        });
        assert_eq!(
            config_spec_hash(&object),
            "4c07ba481d04e9c38e5ed3bf24139537"
        );
    }
}
