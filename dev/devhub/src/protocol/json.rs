//! Reads JSON as the API server does: of several fields with the same name the last counts, and the others are reported.

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

/// The most duplicates that are reported.
const DUPLICATES_MAX: usize = 100;

/// Reads a document.
///
/// # Errors
/// The bytes are not a JSON document; the error says where.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, String> {
    // As Go does with what is no UTF-8.
    let text = String::from_utf8_lossy(bytes);
    let mut duplicates = Vec::new();
    let mut decoder = serde_json::Deserializer::from_str(&text);
    let mut path = String::new();
    let seed = Seed {
        path: &mut path,
        duplicates: &mut duplicates,
    };
    let value = seed.deserialize(&mut decoder);
    let value = value.and_then(|value| decoder.end().map(|()| value));
    let value = value.map_err(|error| error.to_string())?;
    Ok(Document { value, duplicates })
}

/// Builds a value, and knows where in the document it is.
struct Seed<'a> {
    path: &'a mut String,
    duplicates: &'a mut Vec<String>,
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
                duplicates: self.duplicates,
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
            let again = fields.contains_key(&name) && !self.duplicates.contains(self.path);
            if again && self.duplicates.len() < DUPLICATES_MAX {
                self.duplicates.push(self.path.clone());
            }
            let seed = Seed {
                path: self.path,
                duplicates: self.duplicates,
            };
            let value = entries.next_value_seed(seed)?;
            self.path.truncate(above);
            fields.insert(name, value);
        }
        Ok(fields.into())
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
    }
}
