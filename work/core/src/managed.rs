//! metadata.managedFields: which field manager owns which fields.
//!
//! The form of fieldsV1: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/>. A key `f:name` is a
//! field, `k:{...}` an item of a list by its key, `v:value` an item by its value, `i:0` an item by its position, and `.` the thing
//! itself. An empty object is a leaf.

mod items;
mod moved;

use serde_json::{Map, Value};

use crate::path::{Part, Path};
use items::Items;
pub(crate) use moved::{claimed, moved};

/// One entry of managedFields that is not about a subresource.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) manager: &'a str,
    /// Written by server-side apply.
    pub(crate) applied: bool,
    pub(crate) time: &'a str,
    pub(crate) fields: &'a Value,
}

/// The entries of an object that are not about a subresource. Malformed ones are left out.
pub(crate) fn entries(live: &Value) -> Vec<Entry<'_>> {
    let entries = live["metadata"]["managedFields"].as_array();
    entries
        .into_iter()
        .flatten()
        .filter(|entry| entry["subresource"].as_str().unwrap_or("").is_empty())
        .filter_map(|entry| {
            Some(Entry {
                manager: entry["manager"].as_str()?,
                applied: entry["operation"] == "Apply",
                time: entry["time"].as_str().unwrap_or_default(),
                fields: entry.get("fieldsV1")?,
            })
        })
        .collect()
}

/// One key of fieldsV1.
pub(crate) enum Segment<'a> {
    Field(&'a str),
    Key(Map<String, Value>),
    Member(Value),
    /// `.`, a position, or malformed.
    Other,
}

// === impl Segment ===

impl<'a> Segment<'a> {
    pub(crate) fn of(key: &'a str) -> Self {
        match key.split_once(':') {
            Some(("f", name)) => Self::Field(name),
            Some(("k", key)) => serde_json::from_str(key).map_or(Self::Other, Self::Key),
            Some(("v", value)) => serde_json::from_str(value).map_or(Self::Other, Self::Member),
            _ => Self::Other,
        }
    }
}

/// The segments of a node, with what is below them.
fn segments(fields: &Value) -> impl Iterator<Item = (Segment<'_>, &Value)> {
    fields
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, below)| (Segment::of(key), below))
}

/// Has the node nothing below it? Then the whole value belongs to the manager.
fn is_leaf(fields: &Value) -> bool {
    fields
        .as_object()
        .is_none_or(|node| node.keys().all(|key| key == "."))
}

/// The field of keys of which the default is known, and the default. See
/// <https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy>.
pub(crate) const KEY_DEFAULT: (&str, &str) = ("protocol", "TCP");

/// Is this the item of the key? Fields of the key that the item lacks may be filled in by defaults.
pub(crate) fn has_key(item: &Value, key: &Map<String, Value>) -> bool {
    let mut some = false;
    let all = key.iter().all(|(name, value)| match item.get(name) {
        Some(found) => {
            some |= found == value;
            found == value
        }
        None => item.is_object() && (name != KEY_DEFAULT.0 || value == KEY_DEFAULT.1),
    });
    all && some
}

/// The text of a key. Fields are sorted.
pub(crate) fn text(key: &Map<String, Value>) -> String {
    key.iter()
        .map(|(name, value)| format!("{name}={value},"))
        .collect()
}

/// The item of a list with this key.
pub(crate) fn item<'v>(list: Option<&'v Value>, key: &Map<String, Value>) -> Option<&'v Value> {
    list?.as_array()?.iter().find(|item| has_key(item, key))
}

fn member<'v>(list: Option<&'v Value>, value: &Value) -> Option<&'v Value> {
    list?.as_array()?.iter().find(|item| *item == value)
}

/// Calls back with each leaf that a manager owns, that the object still has, and that the manifest does not have.
pub(crate) fn dropped<'a>(
    fields: &'a Value,
    ours: Option<&Value>,
    live: &'a Value,
    path: &mut Path,
    found: &mut impl FnMut(&Path, &'a Value),
) {
    let items = (Items::of(Some(live), fields), Items::of(ours, fields));
    for (segment, below) in segments(fields) {
        let (step, ours, live) = match segment {
            Segment::Field(name) => {
                let Some(live) = live.get(name) else { continue };
                (
                    Part::Field(name.to_owned()),
                    ours.and_then(|ours| ours.get(name)),
                    live,
                )
            }
            Segment::Key(key) => {
                let Some(live) = items.0.item(Some(live), &key) else {
                    continue;
                };
                let ours = items.1.item(ours, &key);
                if ours.is_none() {
                    path.0.push(Part::Key(key));
                    found(path, live);
                    path.0.pop();
                    continue;
                }
                (Part::Key(key), ours, live)
            }
            Segment::Member(value) => {
                let Some(live) = member(Some(live), &value) else {
                    continue;
                };
                let ours = member(ours, &value);
                (Part::Member(value), ours, live)
            }
            Segment::Other => continue,
        };
        path.0.push(step);
        if !is_leaf(below) {
            dropped(below, ours, live, path, found);
        } else if ours.is_none() {
            found(path, live);
        }
        path.0.pop();
    }
}

/// The value at a path.
pub(crate) fn at<'v>(value: &'v Value, steps: &[Part]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Part::Field(name) => value.get(name),
        Part::Key(key) => item(Some(value), key),
        Part::Member(wanted) => member(Some(value), wanted),
        Part::Index(index) => value.get(index),
    })
}

/// Removes the value at a path.
pub(crate) fn remove(value: &mut Value, steps: &[Part]) {
    let Some((first, rest)) = steps.split_first() else {
        return;
    };
    match (first, rest.is_empty()) {
        (Part::Field(name), true) => {
            if let Value::Object(object) = value {
                object.remove(name);
            }
        }
        (Part::Field(name), false) => {
            if let Some(value) = value.get_mut(name) {
                remove(value, rest);
            }
        }
        (Part::Key(key), true) => {
            if let Value::Array(items) = value {
                items.retain(|item| !has_key(item, key));
            }
        }
        (Part::Key(key), false) => {
            let items = value.as_array_mut().into_iter().flatten();
            for item in items.filter(|item| has_key(item, key)).take(1) {
                remove(item, rest);
            }
        }
        (Part::Member(wanted), _) => {
            if let Value::Array(items) = value {
                items.retain(|item| item != wanted);
            }
        }
        (Part::Index(_), _) => {}
    }
}

/// Adds to `body` the fields that a manager owns and `body` lacks, with the values of the live object. With `within`, only fields that
/// this object has. Returns true if something was added.
pub(crate) fn unite(
    body: &mut Value,
    fields: &Value,
    live: &Value,
    within: Option<&Value>,
) -> bool {
    let mut added = false;
    let found = Items::of(Some(live), fields);
    let inner = Items::of(within, fields);
    let held = Items::of(Some(body), fields);
    for (segment, below) in segments(fields) {
        let leaf = is_leaf(below);
        match (segment, &mut *body) {
            (Segment::Field(name), Value::Object(object)) => {
                let Some(value) = live.get(name) else {
                    continue;
                };
                let inside = within.map(|within| within.get(name));
                if inside == Some(None) {
                    continue;
                }
                if leaf {
                    if !object.contains_key(name) {
                        object.insert(name.to_owned(), value.clone());
                        added = true;
                    }
                    continue;
                }
                let missing = !object.contains_key(name);
                let empty = match value {
                    Value::Array(_) => Value::Array(Vec::new()),
                    _ => Value::Object(Map::new()),
                };
                let slot = object.entry(name).or_insert(empty);
                if unite(slot, below, value, inside.flatten()) {
                    added = true;
                } else if missing {
                    object.remove(name);
                }
            }
            (Segment::Key(key), Value::Array(items)) => {
                let Some(value) = found.item(Some(live), &key) else {
                    continue;
                };
                let inside = within.map(|within| inner.item(Some(within), &key));
                if inside == Some(None) {
                    continue;
                }
                let position = held.position(items, &key).unwrap_or_else(|| {
                    added = true;
                    // An item without fields in it is owned as a whole, such as an owner reference.
                    let whole = below.as_object().is_some_and(Map::is_empty);
                    items.push(if whole {
                        value.clone()
                    } else {
                        Value::Object(key.clone())
                    });
                    items.len() - 1
                });
                added |= unite(&mut items[position], below, value, inside.flatten());
            }
            (Segment::Member(value), Value::Array(items)) => {
                let inside = within.is_none_or(|within| member(Some(within), &value).is_some());
                if inside && member(Some(live), &value).is_some() && !items.contains(&value) {
                    items.push(value);
                    added = true;
                }
            }
            _ => {}
        }
    }
    added
}

/// Calls back with each leaf of `ours` that the manager does not own.
pub(crate) fn unowned(
    fields: Option<&Value>,
    ours: &Value,
    path: &mut Path,
    found: &mut impl FnMut(&Path),
) {
    match ours {
        // An empty or absent value is not recorded.
        Value::Null => {}
        Value::Object(object) if object.is_empty() => {}
        Value::Array(items) if items.is_empty() => {}
        _ if fields.is_none() => found(path),
        _ if fields.is_some_and(is_leaf) => {}
        Value::Object(object) => {
            for (name, value) in object {
                let below = fields.and_then(|fields| fields.get(format!("f:{name}")));
                path.within(name.as_str().into(), |path| {
                    unowned(below, value, path, found)
                });
            }
        }
        Value::Array(items) => {
            let held = Items::of(Some(ours), fields.unwrap_or(&Value::Null));
            let mut owned = vec![None; items.len()];
            for (segment, below) in fields.into_iter().flat_map(segments) {
                let position = match segment {
                    Segment::Key(key) => held.position(items, &key),
                    Segment::Member(member) => items.iter().position(|item| *item == member),
                    Segment::Field(_) | Segment::Other => None,
                };
                if let Some(position) = position {
                    owned[position] = Some(below);
                }
            }
            for (index, (value, below)) in items.iter().zip(owned).enumerate() {
                path.within(Part::Index(index), |path| {
                    unowned(below, value, path, found);
                });
            }
        }
        _ => {}
    }
}
