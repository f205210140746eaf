//! Walks over typed objects: the fields of a value, the differences of two values, and a value without some fields.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::{PathElement, same};
use super::set::{FieldSet, Path};
use super::shape::{ListShape, Shape, Sort};

/// The fields that a value mentions: what an applier of it owns.
///
/// A leaf is a field, and so are an item of a list and an entry of a map. An object with declared fields is not a leaf,
/// unless it is empty.
pub(crate) fn fields_of(value: &Value, shape: Shape<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    mention(value, shape, &mut Vec::new(), &mut set);
    set
}

fn mention(value: &Value, shape: Shape<'_>, path: &mut Path, set: &mut FieldSet) {
    match (shape.sort(Some(value)), value) {
        (Sort::Scalar(_), _) => set.insert(path),
        (Sort::Map(map), _) if map.atomic => set.insert(path),
        (Sort::List(list), _) if list.is_atomic() => set.insert(path),
        (Sort::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                path.push(PathElement::field(name));
                mention(value, map.field_or_deduced(name), path, set);
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if empty || !map.declares(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Sort::List(list), Value::Array(items)) => {
            for (step, items) in by_step(list, items) {
                path.push(step);
                // Parts of an item that occurs twice cannot be owned.
                if let [item] = items.as_slice() {
                    mention(item, list.item(), path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
        (Sort::Map(_) | Sort::List(_), _) => {}
    }
}

/// The items of a set or map. What has no place in one is left out.
fn by_step<'v>(
    list: ListShape<'_>,
    items: impl IntoIterator<Item = &'v Value>,
) -> BTreeMap<PathElement, Vec<&'v Value>> {
    let mut by_step: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for item in items {
        if let Ok(step) = list.step(item) {
            by_step.entry(step).or_default().push(item);
        }
    }
    by_step
}

/// In what two values differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// What only the new one has.
    pub(crate) added: FieldSet,
    /// What both have, and otherwise.
    pub(crate) modified: FieldSet,
    /// What only the old one has.
    pub(crate) removed: FieldSet,
}

impl Difference {
    /// The difference between two values of a type.
    pub(crate) fn between(old: &Value, new: &Value, shape: Shape<'_>) -> Self {
        let mut difference = Self::default();
        difference.compare(shape, Some(old), Some(new), &mut Vec::new());
        difference
    }

    /// What is outside of the trees named.
    pub(crate) fn without(self, trees: &FieldSet) -> Self {
        Self {
            added: self.added.without_trees(trees),
            modified: self.modified.without_trees(trees),
            removed: self.removed.without_trees(trees),
        }
    }

    /// What the new value has otherwise than the old one.
    pub(crate) fn written(&self) -> FieldSet {
        self.modified.clone().union(&self.added)
    }

    fn compare(
        &mut self,
        shape: Shape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        path: &mut Path,
    ) {
        let is_leaf = match (old, new) {
            (Some(_), None) => self.compare_as(shape.sort(old), old, new, path),
            (Some(_), Some(_)) => {
                let (was, is) = (shape.sort(old), shape.sort(new));
                if std::mem::discriminant(&was) != std::mem::discriminant(&is) {
                    self.compare_as(was, old, new, path);
                }
                self.compare_as(is, old, new, path)
            }
            (None, _) => self.compare_as(shape.sort(new), old, new, path),
        };
        if !is_leaf {
            if old.is_none() {
                self.added.insert(path);
            } else if new.is_none() {
                self.removed.insert(path);
            }
        }
    }

    /// Returns whether it was compared as one value.
    fn compare_as<'v>(
        &mut self,
        sort: Sort<'_>,
        old: Option<&'v Value>,
        new: Option<&'v Value>,
        path: &mut Path,
    ) -> bool {
        match sort {
            Sort::Map(map) if !map.atomic => {
                let (before, after) = (fields(old), fields(new));
                if before.is_some() || after.is_some() {
                    let names: BTreeSet<&String> = before
                        .into_iter()
                        .chain(after)
                        .flat_map(Map::keys)
                        .collect();
                    for name in names {
                        path.push(PathElement::field(name));
                        let of = |fields: Option<&'v Map<String, Value>>| fields?.get(name);
                        self.compare(map.field_or_deduced(name), of(before), of(after), path);
                        path.pop();
                    }
                    return false;
                }
            }
            Sort::List(list) if !list.is_atomic() => {
                let before = items(old);
                let after = items(new);
                if !before.is_empty() || !after.is_empty() {
                    self.compare_items(list, before, after, path);
                    return false;
                }
            }
            Sort::Map(_) | Sort::List(_) | Sort::Scalar(_) => {}
        }
        match (old, new) {
            (None, _) => self.added.insert(path),
            (Some(_), None) => self.removed.insert(path),
            (Some(old), Some(new)) if !same(old, new) => self.modified.insert(path),
            (Some(_), Some(_)) => {}
        }
        true
    }

    fn compare_items(
        &mut self,
        list: ListShape<'_>,
        old: &[Value],
        new: &[Value],
        path: &mut Path,
    ) {
        let (old, new) = (by_step(list, old), by_step(list, new));
        let new_steps = new.keys().filter(|step| !old.contains_key(*step));
        for step in old.keys().chain(new_steps) {
            let before = old.get(step).map_or(&[][..], Vec::as_slice);
            let after = new.get(step).map_or(&[][..], Vec::as_slice);
            path.push(step.clone());
            match (before, after) {
                ([] | [_], [] | [_]) => {
                    let (before, after) = (before.first().copied(), after.first().copied());
                    self.compare(list.item(), before, after, path);
                }
                // Items that are there twice are one value.
                ([_, _, ..], [_, _, ..]) => {
                    let equal = before.len() == after.len()
                        && before
                            .iter()
                            .zip(after)
                            .all(|(one, other)| same(one, other));
                    if !equal {
                        self.modified.insert(path);
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(item) = after.first() {
                        self.compare(list.item(), None, Some(item), path);
                    }
                    self.removed.insert(path);
                }
                (_, [_, _, ..]) => {
                    if let Some(item) = before.first() {
                        self.compare(list.item(), Some(item), None, path);
                    }
                    self.added.insert(path);
                }
            }
            path.pop();
        }
    }
}

/// The fields of an object that has any.
fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value?.as_object().filter(|fields| !fields.is_empty())
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A value without these fields and items. An object or a list that loses all it had stays, and is empty.
pub(crate) fn without(value: &Value, fields: &FieldSet, shape: Shape<'_>) -> Value {
    match (shape.sort(Some(value)), value) {
        (Sort::Map(map), Value::Object(object)) if !map.atomic => {
            let kept = object.iter().filter_map(|(name, value)| {
                let step = PathElement::field(name);
                let shape = map.field_or_deduced(name);
                Some((name.clone(), rest(value, &step, fields, shape)?))
            });
            Value::Object(kept.collect())
        }
        (Sort::List(list), Value::Array(items)) if !list.is_atomic() => {
            let kept = items.iter().filter_map(|item| match list.step(item) {
                Ok(step) => rest(item, &step, fields, list.item()),
                Err(_) => Some(item.clone()),
            });
            Value::Array(kept.collect())
        }
        (Sort::Map(_), Value::Object(_)) => Value::Object(Map::new()),
        (Sort::List(_), Value::Array(_)) => Value::Array(Vec::new()),
        _ => value.clone(),
    }
}

/// What is left of a field or an item.
fn rest(value: &Value, step: &PathElement, fields: &FieldSet, shape: Shape<'_>) -> Option<Value> {
    if fields.has(step) {
        return None;
    }
    let below = fields.below(step);
    Some(if below.is_empty() {
        value.clone()
    } else {
        without(value, below, shape)
    })
}

/// The set, and with each path in it the declared fields that it passes through.
pub(crate) fn with_declared_parents(set: &FieldSet, shape: Option<Shape<'_>>) -> FieldSet {
    let mut all = FieldSet::default();
    for (step, member, below) in set.steps() {
        let declared = !below.is_empty() && shape.is_some_and(|shape| shape.names(step));
        let shape = shape.and_then(|shape| shape.below(step));
        all.put(
            step.clone(),
            member || declared,
            with_declared_parents(below, shape),
        );
    }
    all
}

/// Rewrites a field set after a value became atomic: its owner owns the whole value.
pub(crate) fn as_schema_has_it(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    let mut whole = FieldSet::default();
    collect_atomic(set, shape, &mut Vec::new(), &mut whole);
    set.without_trees(&whole).union(&whole)
}

fn collect_atomic(set: &FieldSet, shape: Shape<'_>, path: &mut Path, whole: &mut FieldSet) {
    for (step, _, below) in set.steps() {
        if below.is_empty() {
            continue;
        }
        let Some(shape) = shape.below(step) else {
            continue;
        };
        path.push(step.clone());
        let is_atomic = match shape.sort(None) {
            Sort::Map(map) => map.atomic && !map.is_deduced(),
            Sort::List(list) => list.is_atomic(),
            Sort::Scalar(_) => false,
        };
        if is_atomic {
            whole.insert(path);
        } else {
            collect_atomic(below, shape, path, whole);
        }
        path.pop();
    }
}
