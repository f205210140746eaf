//! JSON as the API server reads it: the last of several fields of one name counts, the others are told; and what is no JSON is
//! refused in the words of Go's decoder, which users know.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A document.
#[derive(Debug, PartialEq)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// Paths of fields that were there more than once, such as `spec.taints[0].key`.
    pub(crate) duplicates: Vec<String>,
}

/// So many duplicates are told.
const DUPLICATES_MAX: usize = 100;

/// Reads a document.
///
/// # Errors
/// Why it is none, as Go's decoder says it.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, String> {
    // As Go does with what is no UTF-8.
    let text = String::from_utf8_lossy(bytes);
    let mut duplicates = Vec::new();
    let mut found = |path: &str, again: bool| {
        let is_new = |path| !duplicates.iter().any(|duplicate| duplicate == path);
        if again && duplicates.len() < DUPLICATES_MAX && is_new(path) {
            duplicates.push(path.to_owned());
        }
    };
    let value = match decode(&text, &mut found) {
        Ok(value) => value,
        Err(error) => match syntax_error(bytes) {
            Some(error) => return Err(error),
            None => decode(&whole_characters(&text), &mut found).map_err(|_| error.to_string())?,
        },
    };
    Ok(Document { value, duplicates })
}

/// Shows every field of a document in its order: its path, and whether it was there before. Of what is no JSON, those in front.
pub(crate) fn fields(bytes: &[u8], found: &mut dyn FnMut(&str, bool)) {
    // The fields are all that is asked for.
    drop(decode(&String::from_utf8_lossy(bytes), found));
}

fn decode(text: &str, found: &mut dyn FnMut(&str, bool)) -> serde_json::Result<Value> {
    let mut decoder = serde_json::Deserializer::from_str(text);
    let mut path = String::new();
    let seed = Seed {
        path: &mut path,
        found,
    };
    let value = seed.deserialize(&mut decoder)?;
    decoder.end()?;
    Ok(value)
}

/// Replaces escapes that are half a character (one surrogate without the other), as Go does.
fn whole_characters(text: &str) -> String {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut whole = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        whole.push_str(&text[at..at + found]);
        at += found;
        let (escape, length) = match (unit(at), unit(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (text.get(at..at + 12), 12),
            (Some(0xd800..0xe000), _) => (Some("\\ufffd"), 6),
            _ => (text.get(at..at + 2), 2),
        };
        let Some(escape) = escape else { break };
        whole.push_str(escape);
        at += length;
    }
    whole.push_str(&text[at..]);
    whole
}

/// Builds a value, and knows where in the document it is.
struct Seed<'a> {
    path: &'a mut String,
    /// Told of each field, and whether it was there before.
    found: &'a mut dyn FnMut(&str, bool),
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        let above = self.path.len();
        loop {
            self.path.truncate(above);
            self.path.push_str(&format!("[{}]", list.len()));
            let seed = Seed {
                path: self.path,
                found: self.found,
            };
            match items.next_element_seed(seed)? {
                Some(item) => list.push(item),
                None => break,
            }
        }
        self.path.truncate(above);
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        let above = self.path.len();
        while let Some(name) = entries.next_key::<String>()? {
            if above > 0 {
                self.path.push('.');
            }
            self.path.push_str(&name);
            (self.found)(self.path, fields.contains_key(&name));
            let seed = Seed {
                path: self.path,
                found: self.found,
            };
            let value = entries.next_value_seed(seed)?;
            self.path.truncate(above);
            fields.insert(name, value);
        }
        Ok(fields.into())
    }
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Name,
    NameOrEnd,
    Colon,
    AfterField,
    AfterItem,
    Nothing,
}

/// What Go's scanner says of bytes that are no JSON. None if it finds nothing wrong.
fn syntax_error(bytes: &[u8]) -> Option<String> {
    let mut open: Vec<u8> = Vec::new();
    let mut expect = Expect::Value;
    let mut at = 0;
    let ends = || Some("unexpected end of JSON input".to_owned());
    let after_value = |open: &[u8]| match open.last() {
        None => Expect::Nothing,
        Some(b'{') => Expect::AfterField,
        Some(_) => Expect::AfterItem,
    };
    loop {
        while bytes.get(at).is_some_and(|byte| b" \t\r\n".contains(byte)) {
            at += 1;
        }
        let Some(&byte) = bytes.get(at) else {
            return if expect == Expect::Nothing {
                None
            } else {
                ends()
            };
        };
        let wrong = |where_: &str| Some(format!("invalid character {} {where_}", quoted(byte)));
        match (expect, byte) {
            (Expect::ValueOrEnd, b']') | (Expect::AfterItem, b']') => {
                open.pop();
                expect = after_value(&open);
                at += 1;
            }
            (Expect::NameOrEnd, b'}') | (Expect::AfterField, b'}') => {
                open.pop();
                expect = after_value(&open);
                at += 1;
            }
            (Expect::Value | Expect::ValueOrEnd, b'{') => {
                open.push(b'{');
                expect = Expect::NameOrEnd;
                at += 1;
            }
            (Expect::Value | Expect::ValueOrEnd, b'[') => {
                open.push(b'[');
                expect = Expect::ValueOrEnd;
                at += 1;
            }
            (Expect::Value | Expect::ValueOrEnd, _) => {
                at = match scalar(bytes, at) {
                    Ok(next) => next,
                    Err(error) => return error.or_else(ends),
                };
                expect = after_value(&open);
            }
            (Expect::Name | Expect::NameOrEnd, b'"') => {
                at = match string(bytes, at) {
                    Ok(next) => next,
                    Err(error) => return error.or_else(ends),
                };
                expect = Expect::Colon;
            }
            (Expect::Name | Expect::NameOrEnd, _) => {
                return wrong("looking for beginning of object key string");
            }
            (Expect::Colon, b':') => {
                expect = Expect::Value;
                at += 1;
            }
            (Expect::Colon, _) => return wrong("after object key"),
            (Expect::AfterField, b',') => {
                expect = Expect::Name;
                at += 1;
            }
            (Expect::AfterField, _) => return wrong("after object key:value pair"),
            (Expect::AfterItem, b',') => {
                expect = Expect::Value;
                at += 1;
            }
            (Expect::AfterItem, _) => return wrong("after array element"),
            (Expect::Nothing, _) => return wrong("after top-level value"),
        }
    }
}

/// Where a scalar ends. The error is none where the text ends in it.
fn scalar(bytes: &[u8], at: usize) -> Result<usize, Option<String>> {
    match bytes[at] {
        b'"' => string(bytes, at),
        b't' => literal(bytes, at, "true"),
        b'f' => literal(bytes, at, "false"),
        b'n' => literal(bytes, at, "null"),
        b'-' | b'0'..=b'9' => number(bytes, at),
        other => Err(Some(format!(
            "invalid character {} looking for beginning of value",
            quoted(other)
        ))),
    }
}

fn literal(bytes: &[u8], at: usize, word: &str) -> Result<usize, Option<String>> {
    for (index, expected) in word.bytes().enumerate() {
        let byte = *bytes.get(at + index).ok_or(None)?;
        if byte != expected {
            return Err(Some(format!(
                "invalid character {} in literal {word} (expecting {})",
                quoted(byte),
                quoted(expected)
            )));
        }
    }
    Ok(at + word.len())
}

fn number(bytes: &[u8], mut at: usize) -> Result<usize, Option<String>> {
    let digit = |at: usize, where_: &str| match bytes.get(at) {
        None => Err(None),
        Some(b'0'..=b'9') => Ok(()),
        Some(&other) => Err(Some(format!(
            "invalid character {} {where_}",
            quoted(other)
        ))),
    };
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    if bytes[at] == b'-' {
        at += 1;
        digit(at, "in numeric literal")?;
    }
    at = if bytes[at] == b'0' {
        at + 1
    } else {
        digits(at)
    };
    if bytes.get(at) == Some(&b'.') {
        digit(at + 1, "after decimal point in numeric literal")?;
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        digit(at, "in exponent of numeric literal")?;
        at = digits(at);
    }
    Ok(at)
}

fn string(bytes: &[u8], mut at: usize) -> Result<usize, Option<String>> {
    let wrong =
        |byte: u8, where_: &str| Err(Some(format!("invalid character {} {where_}", quoted(byte))));
    loop {
        at += 1;
        match *bytes.get(at).ok_or(None)? {
            b'"' => return Ok(at + 1),
            b'\\' => {
                at += 1;
                match *bytes.get(at).ok_or(None)? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            at += 1;
                            let byte = *bytes.get(at).ok_or(None)?;
                            if !byte.is_ascii_hexdigit() {
                                return wrong(byte, "in \\u hexadecimal character escape");
                            }
                        }
                    }
                    other => return wrong(other, "in string escape code"),
                }
            }
            control @ 0..0x20 => return wrong(control, "in string literal"),
            _ => {}
        }
    }
}

/// A byte as Go's scanner quotes it.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => r#"'"'"#.to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..0xa0 => format!("'\\u{byte:04x}'"),
        other => format!("'{}'", char::from(other)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_of_several_fields_counts_and_the_others_are_told() {
        let text =
            r#"{"a": 1, "b": [{"c": 1, "c": 2, "c": 3}], "d": {"e": {}, "e": null}, "a": "x"}"#;
        let document = read(text.as_bytes()).unwrap();
        assert_eq!(
            document.value,
            json!({"a": "x", "b": [{"c": 3}], "d": {"e": null}})
        );
        assert_eq!(document.duplicates, ["b[0].c", "d.e", "a"]);
    }

    #[test]
    fn numbers_stay_what_they_are() {
        let document = read(b"[1, -1, 18446744073709551615, 1.0, 1e3, true]").unwrap();
        assert_eq!(
            document.value.to_string(),
            "[1,-1,18446744073709551615,1.0,1000.0,true]"
        );
    }

    #[test]
    fn what_is_no_json_is_refused_in_gos_words() {
        let rows = [
            ("", "unexpected end of JSON input"),
            ("  ", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("{\"a\"", "unexpected end of JSON input"),
            ("\"abc", "unexpected end of JSON input"),
            (
                "not json",
                "invalid character 'o' in literal null (expecting 'u')",
            ),
            (
                "xyz",
                "invalid character 'x' looking for beginning of value",
            ),
            (
                "{a: 1}",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            (
                "{\"a\": 1 \"b\"",
                "invalid character '\"' after object key:value pair",
            ),
            (
                "{\"a\": 1,}",
                "invalid character '}' looking for beginning of object key string",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            ("{} x", "invalid character 'x' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            ("-x", "invalid character 'x' in numeric literal"),
            (
                "1.x",
                "invalid character 'x' after decimal point in numeric literal",
            ),
            (
                "1ex",
                "invalid character 'x' in exponent of numeric literal",
            ),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            (
                "\"\\u00x0\"",
                "invalid character 'x' in \\u hexadecimal character escape",
            ),
            (
                "'a'",
                "invalid character '\\'' looking for beginning of value",
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn half_a_character_is_replaced() {
        let rows = [
            (r#""\ud800""#, "\u{fffd}"),
            (
                r#""\ud83d\ude00 \ude00\ud83d \\ud800""#,
                "😀 \u{fffd}\u{fffd} \\ud800",
            ),
            (r#""\ud800é\n""#, "\u{fffd}é\n"),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text.as_bytes()).unwrap().value, expected, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let text = "[".repeat(100_000);
        assert!(read(text.as_bytes()).is_err());
        let text = format!("{text}{}", "]".repeat(100_000));
        assert!(read(text.as_bytes()).unwrap_err().contains("recursion"));
    }

    proptest::proptest! {
        #[test]
        fn what_serde_refuses_is_refused_and_nothing_panics(text in "[\\[\\]{}:,\"a-e0-9.\\\\ -]{0,16}") {
            let plain = serde_json::from_str::<Value>(&text);
            let read = read(text.as_bytes());
            proptest::prop_assert_eq!(plain.ok(), read.ok().map(|document| document.value));
        }

        #[test]
        fn go_finds_fault_where_serde_does(text in "[\\[\\]{}:,\"a-e0-9.\\\\ -]{0,16}") {
            let plain = serde_json::from_str::<serde::de::IgnoredAny>(&text);
            if plain.is_ok() {
                proptest::prop_assert_eq!(syntax_error(text.as_bytes()), None);
            } else if !plain.unwrap_err().to_string().contains("out of range") {
                proptest::prop_assert!(syntax_error(text.as_bytes()).is_some(), "{}", text);
            }
        }
    }
}
