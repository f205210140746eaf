//! Items of lists by their keys, found without a search.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Segment, has_key, segments, text};

/// Positions of the items of a list, by their keys.
#[derive(Default)]
pub(super) struct Items {
    whole: HashMap<String, usize>,
    /// Items that lack fields of the key.
    partial: Vec<usize>,
}

// === impl Items ===

impl Items {
    /// The items of a list, by the fields of which the owned fields have keys. Empty if it is not a list with keys.
    pub(super) fn of(list: Option<&Value>, fields: &Value) -> Self {
        let mut items = Self::default();
        let key = segments(fields).find_map(|(segment, _)| match segment {
            Segment::Key(key) => Some(key),
            _ => None,
        });
        let Some(key) = key else { return items };
        let list = list.and_then(Value::as_array).into_iter().flatten();
        for (position, item) in list.enumerate() {
            let found: Map<String, Value> = key
                .keys()
                .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
                .collect();
            if found.len() == key.len() {
                items.whole.entry(text(&found)).or_insert(position);
            } else {
                items.partial.push(position);
            }
        }
        items
    }

    /// The position of the item with a key.
    pub(super) fn position(&self, list: &[Value], key: &Map<String, Value>) -> Option<usize> {
        let whole = self.whole.get(&text(key)).copied();
        whole.or_else(|| {
            let mut partial = self.partial.iter().copied();
            partial.find(|position| list.get(*position).is_some_and(|item| has_key(item, key)))
        })
    }

    /// The item with a key.
    pub(super) fn item<'v>(
        &self,
        list: Option<&'v Value>,
        key: &Map<String, Value>,
    ) -> Option<&'v Value> {
        let list = list?.as_array()?;
        list.get(self.position(list, key)?)
    }
}
