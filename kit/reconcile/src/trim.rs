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
pub fn trim(json: &str, keep: &Keep<'_>) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
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
        let labels = self.kept(|leaves_out| {
            while let Some(key) = access.next_key::<String>()? {
                if !leaves_out(&key) {
                    return Ok(Some((key, access.next_value()?)));
                }
                access.next_value::<IgnoredAny>()?;
            }
            Ok(None)
        })?;
        Ok(labels.into_iter().collect::<Map<_, _>>().into())
    }

    fn read_named<'de, A: SeqAccess<'de>>(&self, mut access: A) -> Result<Value, A::Error> {
        let fields = Keep::Fields(&[("name", Keep::Whole), ("value", Keep::Whole)]);
        let items = self.kept(|leaves_out| {
            while let Some(item) = access.next_element_seed(&fields)? {
                let name = item["name"].as_str().unwrap_or_default();
                if !leaves_out(name) {
                    return Ok(Some((name.to_owned(), item)));
                }
            }
            Ok(None)
        })?;
        let items = items.into_iter().map(|(_, item)| item);
        Ok(items.collect::<Vec<_>>().into())
    }

    /// Keeps all items, or those that selectors name if all take much memory. `next` reads an item that is not left out.
    fn kept<E>(
        &self,
        mut next: impl FnMut(&dyn Fn(&str) -> bool) -> Result<Option<(String, Value)>, E>,
    ) -> Result<Vec<(String, Value)>, E> {
        let (mut items, mut bytes) = (Vec::new(), 0_usize);
        while let Some((key, item)) =
            next(&|key| bytes > ALL_LABELS && !self.lock().keys.contains(key))?
        {
            bytes = bytes.saturating_add(key.len() + memory(&item));
            items.push((key, item));
            if bytes > ALL_LABELS {
                let needed = self.leave_out();
                items.retain(|(key, _)| needed.keys.contains(&**key));
            }
        }
        Ok(items)
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
mod tests;
