//! Sets of owned fields, as the model keeps them: paths of keys as in fieldsV1.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub(super) type Keys = Vec<String>;
pub(super) type Set = BTreeSet<Keys>;

/// The leaves of an object, without what nobody owns.
pub(super) fn leaves(object: &Value) -> Set {
    let mut object = object.clone();
    let root = object.as_object_mut().unwrap();
    root.remove("apiVersion");
    root.remove("kind");
    if let Some(Value::Object(metadata)) = root.get_mut("metadata") {
        metadata.retain(|name, _| {
            ["labels", "annotations", "finalizers", "ownerReferences"].contains(&name.as_str())
        });
        // An empty map is a leaf: whoever applies that one would own and replace all metadata.
        if metadata.is_empty() {
            root.remove("metadata");
        }
    }
    let mut set = Set::new();
    collect(&object, &mut Vec::new(), &mut set);
    set
}

fn collect(value: &Value, path: &mut Keys, set: &mut Set) {
    match value {
        Value::Object(object) if !object.is_empty() && !is_whole(path) => {
            for (name, value) in object {
                path.push(format!("f:{name}"));
                collect(value, path, set);
                path.pop();
            }
        }
        Value::Array(items) if path.last().is_some_and(|key| key == "f:finalizers") => {
            for item in items {
                path.push(format!("v:{item}"));
                set.insert(path.clone());
                path.pop();
            }
        }
        Value::Array(items) if merge_key(items, path).is_some() => {
            let name = merge_key(items, path).unwrap();
            for item in items {
                path.push(format!("k:{}", serde_json::json!({ name: item[name] })));
                // Owner references are owned as a whole.
                if name == "uid" {
                    set.insert(path.clone());
                } else {
                    collect(item, path, set);
                }
                path.pop();
            }
        }
        _ if path.is_empty() => {}
        _ => {
            set.insert(path.clone());
        }
    }
}

/// Maps and structs that are owned as a whole.
fn is_whole(path: &[String]) -> bool {
    let last = path.last().map(String::as_str);
    last.is_some_and(|key| ["f:nodeSelector", "f:selector", "f:fieldRef"].contains(&key))
}

/// Lists of things with a name, and owner references, are merged by key.
pub(super) fn merge_key(items: &[Value], path: &[String]) -> Option<&'static str> {
    let name = match path.last()?.as_str() {
        "f:ownerReferences" => "uid",
        "f:containers" | "f:env" | "f:volumes" => "name",
        "f:ports" => "containerPort",
        _ => return None,
    };
    let all = items.iter().all(|item| item.get(name).is_some());
    (all && !items.is_empty()).then_some(name)
}

pub(super) fn to_json(set: &Set) -> Value {
    let mut root = Map::new();
    for path in set {
        let mut node = &mut root;
        for key in path {
            let below = node
                .entry(key.clone())
                .or_insert_with(|| Value::Object(Map::new()));
            node = below.as_object_mut().unwrap();
        }
    }
    Value::Object(root)
}

pub(super) fn from_json(fields: &Value) -> Set {
    fn walk(fields: &Value, path: &mut Keys, set: &mut Set) {
        let below: Vec<_> = fields
            .as_object()
            .unwrap()
            .iter()
            .filter(|(key, _)| *key != ".")
            .collect();
        if below.is_empty() && !path.is_empty() {
            set.insert(path.clone());
        }
        for (key, below) in below {
            path.push(key.clone());
            walk(below, path, set);
            path.pop();
        }
    }
    let mut set = Set::new();
    walk(fields, &mut Vec::new(), &mut set);
    set
}

fn find<'v>(items: &'v [Value], key: &str) -> Option<&'v Value> {
    let key: Map<String, Value> = serde_json::from_str(key).unwrap();
    items.iter().find(|item| {
        key.iter()
            .all(|(name, value)| item.get(name) == Some(value))
    })
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The value at a path.
pub(super) fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter()
        .try_fold(value, |value, key| match key.split_once(':')? {
            ("f", name) => value.get(name),
            ("k", key) => find(value.as_array()?, key),
            (_, text) => value.as_array()?.iter().find(|item| **item == parsed(text)),
        })
}

/// Writes the value at a path.
pub(super) fn put(target: &mut Value, path: &[String], value: &Value) {
    let Some((key, rest)) = path.split_first() else {
        value.clone_into(target);
        return;
    };
    match key.split_once(':').unwrap() {
        ("f", name) => {
            if !target.is_object() {
                *target = Value::Object(Map::new());
            }
            let slot = target
                .as_object_mut()
                .unwrap()
                .entry(name)
                .or_insert(Value::Null);
            put(slot, rest, value);
        }
        (kind, text) => {
            if !target.is_array() {
                *target = Value::Array(Vec::new());
            }
            let items = target.as_array_mut().unwrap();
            if kind == "v" {
                if !items.contains(value) {
                    items.push(value.clone());
                }
                return;
            }
            let position = items
                .iter()
                .position(|item| find(std::slice::from_ref(item), text).is_some());
            let position = position.unwrap_or_else(|| {
                items.push(serde_json::from_str(text).unwrap());
                items.len() - 1
            });
            put(&mut items[position], rest, value);
        }
    }
}

/// Removes the leaf at a path, and what is empty then.
pub(super) fn cut(target: &mut Value, path: &[String]) {
    let Some((key, rest)) = path.split_first() else {
        return;
    };
    match (key.split_once(':').unwrap(), target) {
        (("f", name), Value::Object(object)) => {
            if rest.is_empty() {
                object.remove(name);
            } else if let Some(below) = object.get_mut(name) {
                cut(below, rest);
                if below.as_object().is_some_and(Map::is_empty)
                    || below.as_array().is_some_and(Vec::is_empty)
                {
                    object.remove(name);
                }
            }
        }
        (("k", text), Value::Array(items)) => {
            let is = |item: &Value| find(std::slice::from_ref(item), text).is_some();
            if rest.is_empty() {
                items.retain(|item| !is(item));
            }
            for item in items.iter_mut().filter(|item| is(item)) {
                cut(item, rest);
            }
        }
        ((_, text), Value::Array(items)) => items.retain(|item| *item != parsed(text)),
        _ => {}
    }
}
