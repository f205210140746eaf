//! Reads the parts of an object that a controller needs, and skips the rest while reading: an object may have a megabyte.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// All labels of an object are kept up to this many bytes of memory in total: a selector may name them later.
const ALL_LABELS: usize = 64 * 1024;

/// The bytes of memory of an entry of a map or a list, besides its text.
const ENTRY: usize = 96;

/// The parts of a value that are kept.
#[derive(Clone, Copy, Debug)]
pub enum Keep<'a> {
    /// All of it.
    Whole,
    /// None of it.
    Nothing,
    /// Of an object these fields, each with its own rule. Of a list nothing. Any other value whole.
    Fields(&'a [(&'a str, Keep<'a>)]),
    /// Of an object all fields, these with their own rule.
    But(&'a [(&'a str, Keep<'a>)]),
    /// Of a text at most this many bytes, from its beginning. Any other value whole.
    Text(usize),
    /// Of labels all, if they are few, otherwise those that selectors name.
    Labels(&'a LabelKeys),
    /// Of a list of objects with a `name` and a `value`, the same by their names.
    Named(&'a LabelKeys),
    /// Of a list its first items, up to a bound on their memory.
    First(&'a First<'a>),
}

/// How much of a list is kept, whatever its items contain.
#[derive(Debug)]
pub struct First<'a> {
    most: usize,
    each: Keep<'a>,
    always: fn(&Value) -> bool,
    left_out: Cell<bool>,
}

/// The keys of labels that selectors name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LabelKeys(Arc<Mutex<Needed>>);

#[derive(Debug, Default)]
struct Needed {
    keys: HashSet<Box<str>>,
    /// Labels of an object were left out.
    left_out: bool,
    /// They are to be read again.
    is_due: bool,
}

/// Items of a list that count always are kept up to this number.
const ALWAYS: usize = 8;

/// Reads the parts of a JSON text that are kept.
///
/// # Errors
/// The text is not JSON, or a kept part is nested more than 128 deep.
pub fn trim(json: &[u8], keep: &Keep<'_>) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = keep.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

// === impl First ===

impl<'a> First<'a> {
    /// Keeps the first items that take at most this many bytes of memory, and of those beyond only the ones that count `always`.
    pub fn new(most: usize, each: Keep<'a>, always: fn(&Value) -> bool) -> Self {
        Self {
            most,
            each,
            always,
            left_out: Cell::new(false),
        }
    }

    /// Returns true if an item was left out.
    pub fn left_out(&self) -> bool {
        self.left_out.get()
    }

    fn read<'de, A: SeqAccess<'de>>(&self, mut access: A) -> Result<Value, A::Error> {
        let (mut items, mut bytes, mut more_kept) = (Vec::new(), 0_usize, 0);
        while let Some(item) = access.next_element_seed(&self.each)? {
            let more = memory(&item);
            if bytes.saturating_add(more) <= self.most {
                bytes += more;
                items.push(item);
            } else if more_kept < ALWAYS && (self.always)(&item) {
                more_kept += 1;
                items.push(item);
            } else {
                // Items after the first one that is left out are left out, too.
                bytes = self.most;
                self.left_out.set(true);
            }
        }
        Ok(items.into())
    }
}

/// Roughly the bytes that a value takes in memory as an object of its type.
fn memory(value: &Value) -> usize {
    let content = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(memory).sum(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields.map(|(name, value)| name.len() + memory(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    ENTRY + content
}

// === impl Keep ===

impl Keep<'_> {
    /// The rule for a field.
    fn of(&self, field: &str) -> Self {
        let (fields, other) = match *self {
            Self::Fields(fields) => (fields, Keep::Nothing),
            Self::But(fields) => (fields, Keep::Whole),
            Self::Nothing => return Keep::Nothing,
            _ => return Keep::Whole,
        };
        let named = fields.iter().find(|(name, _)| *name == field);
        named.map_or(other, |(_, keep)| *keep)
    }
}

impl<'de> DeserializeSeed<'de> for &Keep<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            Keep::Nothing => deserializer
                .deserialize_ignored_any(IgnoredAny)
                .map(|_| Value::Null),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for &Keep<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
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
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        let longest = match self {
            Keep::Text(longest) => *longest,
            _ => text.len(),
        };
        Ok(text[..text.floor_char_boundary(longest)].into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        match self {
            Keep::First(first) => return first.read(access),
            Keep::Named(keys) => return keys.read_named(access),
            _ => {}
        }
        let mut items = Vec::new();
        if matches!(self, Keep::Fields(_) | Keep::Labels(_)) {
            while access.next_element::<IgnoredAny>()?.is_some() {}
        } else {
            while let Some(item) = access.next_element_seed(&Keep::Whole)? {
                items.push(item);
            }
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        if let Keep::Labels(keys) = self {
            return keys.read(access);
        }
        let mut fields = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            match self.of(&name) {
                Keep::Nothing => {
                    access.next_value::<IgnoredAny>()?;
                }
                keep => {
                    let value = access.next_value_seed(&keep)?;
                    fields.insert(name, value);
                }
            }
        }
        Ok(fields.into())
    }
}

// === impl LabelKeys ===

impl LabelKeys {
    /// Adds keys. Returns true if objects were read without one of them: then their kind must be listed again.
    pub fn need<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> bool {
        let mut needed = self.lock();
        let mut is_new = false;
        for key in keys {
            if !needed.keys.contains(key) {
                needed.keys.insert(key.into());
                is_new = true;
            }
        }
        is_new && needed.left_out
    }

    /// Adds keys. If objects were read without one of them, [`Self::takes_in`] returns true afterwards.
    pub fn note<'a>(&self, keys: impl IntoIterator<Item = &'a str>) {
        if self.need(keys) {
            self.lock().is_due = true;
        }
    }

    /// Returns true, once, if objects must be listed again for keys that were noted.
    pub fn takes_in(&self) -> bool {
        std::mem::take(&mut self.lock().is_due)
    }

    /// Leaves labels out that no selector names, if all of them take more than this many bytes of memory.
    pub fn cut(&self, labels: &mut Value, most: usize) {
        let Some(labels) = labels.as_object_mut() else {
            return;
        };
        let bytes = |(key, value): (&String, &Value)| key.len() + memory(value);
        if labels.iter().map(bytes).sum::<usize>() > most {
            let needed = self.leave_out();
            labels.retain(|key, _| needed.keys.contains(&**key));
        }
    }

    fn read<'de, A: MapAccess<'de>>(&self, mut access: A) -> Result<Value, A::Error> {
        let (mut labels, mut bytes) = (Map::new(), 0_usize);
        while let Some(key) = access.next_key::<String>()? {
            if bytes > ALL_LABELS && !self.has(&key) {
                access.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: Value = access.next_value()?;
            bytes = bytes.saturating_add(key.len() + memory(&value));
            labels.insert(key, value);
            if bytes > ALL_LABELS {
                let needed = self.leave_out();
                labels.retain(|key, _| needed.keys.contains(&**key));
            }
        }
        Ok(labels.into())
    }

    fn read_named<'de, A: SeqAccess<'de>>(&self, mut access: A) -> Result<Value, A::Error> {
        let name = |item: &Value| item["name"].as_str().unwrap_or_default().to_owned();
        let fields = Keep::Fields(&[("name", Keep::Whole), ("value", Keep::Whole)]);
        let (mut items, mut bytes) = (Vec::new(), 0_usize);
        while let Some(item) = access.next_element_seed(&fields)? {
            if bytes > ALL_LABELS && !self.has(&name(&item)) {
                continue;
            }
            bytes = bytes.saturating_add(memory(&item));
            items.push(item);
            if bytes > ALL_LABELS {
                let needed = self.leave_out();
                items.retain(|item| needed.keys.contains(&*name(item)));
            }
        }
        Ok(items.into())
    }

    fn has(&self, key: &str) -> bool {
        self.lock().keys.contains(key)
    }

    /// Notes that labels are left out.
    fn leave_out(&self) -> MutexGuard<'_, Needed> {
        let mut needed = self.lock();
        needed.left_out = true;
        needed
    }

    fn lock(&self) -> MutexGuard<'_, Needed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn trimmed(value: &Value, keep: &Keep<'_>) -> Value {
        trim(value.to_string().as_bytes(), keep).unwrap()
    }

    #[test]
    fn what_is_not_kept_is_skipped() {
        let object = json!({
            "kind": "K",
            "metadata": {"name": "a", "managedFields": [{"manager": "m"}], "labels": {"managedFields": "x"}},
            "spec": {"text": "käse", "list": [1, {"a": -2.5}], "null": null},
            "status": {"much": ["x"]},
        });
        for (keep, expected) in [
            (Keep::Whole, object.clone()),
            (
                Keep::But(&[
                    ("metadata", Keep::But(&[("managedFields", Keep::Nothing)])),
                    ("status", Keep::Nothing),
                ]),
                json!({"kind": "K", "metadata": {"name": "a", "labels": {"managedFields": "x"}}, "spec": object["spec"]}),
            ),
            (
                Keep::Fields(&[(
                    "spec",
                    Keep::Fields(&[("text", Keep::Text(2)), ("list", Keep::Whole)]),
                )]),
                json!({"spec": {"text": "k", "list": [1, {"a": -2.5}]}}),
            ),
            (Keep::Fields(&[]), json!({})),
            (Keep::Nothing, Value::Null),
        ] {
            assert_eq!(trimmed(&object, &keep), expected, "{keep:?}");
        }
        let fields = Keep::Fields(&[("a", Keep::Whole)]);
        for (odd, kept) in [
            (json!(7), json!(7)),
            (json!([7]), json!([])),
            (json!("x"), json!("x")),
        ] {
            assert_eq!(trimmed(&odd, &fields), kept);
        }
    }

    #[test]
    fn what_is_skipped_may_be_nested_as_deep_as_it_likes() {
        let deep = format!(
            r#"{{"a":{}{},"b":1}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let keep = Keep::Fields(&[("b", Keep::Whole)]);
        assert_eq!(trim(deep.as_bytes(), &keep).unwrap(), json!({"b": 1}));
        assert!(trim(deep.as_bytes(), &Keep::Whole).is_err());
        assert!(trim(b"{} x", &keep).is_err());
    }

    #[test]
    fn of_many_labels_those_are_kept_that_selectors_name() {
        let keys = LabelKeys::default();
        let mut few = json!({"a": "1", "b": 7});
        assert!(!keys.need(["a"]));
        keys.cut(&mut few, 1000);
        assert_eq!(
            trimmed(&few, &Keep::Labels(&keys)),
            few,
            "few labels are all kept"
        );
        assert!(!keys.need(["b"]), "nothing was left out");
        let many: Map<String, Value> = (0..1000)
            .map(|i| (format!("label{i:03}"), json!("x")))
            .collect();
        let mut many = Value::from(many);
        many["a"] = json!("1");
        many["z"] = json!("2");
        assert_eq!(trimmed(&many, &Keep::Labels(&keys)), json!({"a": "1"}));
        assert!(!keys.need(["a", "b"]), "they were known");
        assert!(keys.need(["z"]), "it was left out");
        keys.cut(&mut few, 100);
        assert_eq!(few, json!({"a": "1", "b": 7}), "both are named");
        let mut three = json!({"a": "1", "c": "2", "d": "3"});
        keys.cut(&mut three, 100);
        assert_eq!(three, json!({"a": "1"}));
        assert_eq!(
            trimmed(&many, &Keep::Labels(&keys)),
            json!({"a": "1", "z": "2"})
        );
    }

    #[test]
    fn short_labels_count_with_the_memory_that_they_take() {
        let keys = LabelKeys::default();
        let many: Map<String, Value> = (0..1000).map(|i| (format!("{i:x}"), json!(""))).collect();
        let kept = trimmed(&many.into(), &Keep::Labels(&keys));
        assert_eq!(kept, json!({}), "a thousand entries take 100 kB");
    }

    #[test]
    fn of_many_claims_those_are_kept_that_are_named() {
        let keys = LabelKeys::default();
        let few = json!([{"name": "a", "value": "1"}]);
        assert_eq!(trimmed(&few, &Keep::Named(&keys)), few);
        let claim = |i: usize| json!({"name": format!("c{i}"), "value": "x".repeat(100)});
        let many: Vec<_> = (0..1000).map(claim).collect();
        let many = Value::from(many);
        assert_eq!(trimmed(&many, &Keep::Named(&keys)), json!([]));
        assert!(!keys.takes_in());
        keys.note(["c7", "c999"]);
        assert!(keys.takes_in() && !keys.takes_in());
        let kept = trimmed(&many, &Keep::Named(&keys));
        assert_eq!(kept, json!([claim(7), claim(999)]));
        keys.note(["c7"]);
        assert!(!keys.takes_in(), "it was known");
    }

    #[test]
    fn of_a_long_list_the_first_items_are_kept_and_those_that_count_always() {
        let is_last = |item: &Value| item["key"] == "k899";
        let taint = |i: usize| json!({"key": format!("k{i}"), "value": "x".repeat(1000)});
        let many: Vec<_> = (0..900).map(taint).collect();
        let first = First::new(4096, Keep::Whole, is_last);
        let kept = trimmed(&Value::from(many), &Keep::First(&first));
        let keys: Vec<_> = (kept.as_array().unwrap().iter())
            .map(|it| it["key"].as_str().unwrap())
            .collect();
        assert_eq!(keys, ["k0", "k1", "k2", "k899"]);
        assert!(first.left_out());
        let first = First::new(4096, Keep::Fields(&[("key", Keep::Whole)]), is_last);
        let few = Value::from(vec![taint(0), taint(1)]);
        let kept = trimmed(&few, &Keep::First(&first));
        assert_eq!(kept, json!([{"key": "k0"}, {"key": "k1"}]));
        assert!(!first.left_out());
    }
}
