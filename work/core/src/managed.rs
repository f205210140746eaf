//! metadata.managedFields: which field manager owns which fields.
//!
//! The form of fieldsV1: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/>. A key `f:name` is a
//! field, `k:{...}` an item of a list by its key, `v:value` an item by its value, `i:0` an item by its position, and `.` the thing
//! itself. An empty object is a leaf.

use serde_json::{Map, Value};

use crate::path::{Part, Path};

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

/// Is this the item of the key? Fields of the key that the item lacks may be filled in by defaults, such as `protocol`.
pub(crate) fn has_key(item: &Value, key: &Map<String, Value>) -> bool {
    let mut some = false;
    let all = key.iter().all(|(name, value)| match item.get(name) {
        Some(found) => {
            some |= found == value;
            found == value
        }
        None => item.is_object(),
    });
    all && some
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
                let Some(live) = item(Some(live), &key) else {
                    continue;
                };
                let ours = item(ours, &key);
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

/// The key of a step in fieldsV1.
fn key(part: &Part) -> String {
    match part {
        Part::Field(name) => format!("f:{name}"),
        Part::Key(key) => format!("k:{}", Value::Object(key.clone())),
        Part::Member(value) => format!("v:{value}"),
        Part::Index(index) => format!("i:{index}"),
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
                let Some(value) = item(Some(live), &key) else {
                    continue;
                };
                let inside = within.map(|within| item(Some(within), &key));
                if inside == Some(None) {
                    continue;
                }
                let position = items.iter().position(|item| has_key(item, &key));
                let position = position.unwrap_or_else(|| {
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
            let owned: Vec<_> = fields.into_iter().flat_map(segments).collect();
            for (index, value) in items.iter().enumerate() {
                let below = owned.iter().find_map(|(segment, below)| match segment {
                    Segment::Key(key) => has_key(value, key).then_some(*below),
                    Segment::Member(member) => (member == value).then_some(*below),
                    _ => None,
                });
                path.within(Part::Index(index), |path| {
                    unowned(below, value, path, found)
                });
            }
        }
        _ => {}
    }
}

/// managedFields in which `paths` have moved from the entries of a manager that were not written by server-side apply to the one that
/// was. The next apply by that manager removes those that it does not have.
pub(crate) fn moved(live: &Value, manager: &str, paths: &[Path]) -> Option<Value> {
    let mut entries = live["metadata"]["managedFields"].as_array()?.clone();
    let whole = |entry: &Value| entry["subresource"].as_str().unwrap_or("").is_empty();
    let is = |entry: &Value, operation: &str| {
        entry["manager"] == manager && entry["operation"] == operation && whole(entry)
    };
    if !entries.iter().any(|entry| is(entry, "Apply")) {
        let mut entry = entries.iter().find(|entry| is(entry, "Update"))?.clone();
        entry["operation"] = "Apply".into();
        entry["fieldsV1"] = Value::Object(Map::new());
        entries.push(entry);
    }
    let mut taken = Vec::new();
    for entry in entries.iter_mut().filter(|entry| is(entry, "Update")) {
        for path in paths {
            taken.extend(take(&mut entry["fieldsV1"], &path.0).map(|node| (path, node)));
        }
    }
    for entry in entries.iter_mut().filter(|entry| is(entry, "Apply")) {
        for (path, node) in taken.drain(..) {
            insert(&mut entry["fieldsV1"], &path.0, node);
        }
    }
    entries.retain(|entry| {
        entry["fieldsV1"]
            .as_object()
            .is_some_and(|it| !it.is_empty())
    });
    Some(Value::Array(entries))
}

/// Puts a node at a path.
fn insert(mut fields: &mut Value, path: &[Part], inserted: Value) {
    for part in path {
        let Value::Object(node) = fields else { return };
        fields = node
            .entry(key(part))
            .or_insert_with(|| Value::Object(Map::new()));
    }
    *fields = inserted;
}

/// Takes the node at a path, and those above it that are empty then.
fn take(fields: &mut Value, path: &[Part]) -> Option<Value> {
    let (first, rest) = path.split_first()?;
    let node = fields.as_object_mut()?;
    // The keys of items are compared as values, because their text may be written differently.
    let key = node.keys().find(|key| match (Segment::of(key), first) {
        (Segment::Field(name), Part::Field(field)) => name == field,
        (Segment::Key(found), Part::Key(key)) => found == *key,
        (Segment::Member(found), Part::Member(value)) => found == *value,
        _ => false,
    });
    let key = key?.clone();
    if rest.is_empty() {
        return node.remove(&key);
    }
    let below = node.get_mut(&key)?;
    let taken = take(below, rest);
    if below.as_object().is_some_and(Map::is_empty) {
        node.remove(&key);
    }
    taken
}
