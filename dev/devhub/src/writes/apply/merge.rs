//! Merges a configuration into an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::PathElement;
use super::shape::{ListShape, MapShape, Shape, Sort};

/// The live value with what the configuration says. Nothing is removed; null and empty containers in the configuration
/// leave items and fields alone.
pub(crate) fn merged(live: &Value, configuration: &Value, shape: Shape<'_>) -> Value {
    match shape.sort(Some(configuration)) {
        Sort::Map(map) if !map.atomic => merged_maps(live, configuration, map),
        Sort::List(list) if !list.is_atomic() => merged_lists(live, configuration, list),
        Sort::Map(_) | Sort::List(_) | Sort::Scalar(_) => configuration.clone(),
    }
}

fn merged_maps(live: &Value, configuration: &Value, map: MapShape<'_>) -> Value {
    let empty = Map::new();
    let old = live.as_object().unwrap_or(&empty);
    let new = configuration.as_object().unwrap_or(&empty);
    if old.is_empty() && new.is_empty() {
        return configuration.clone();
    }
    let mut fields = old.clone();
    for (name, value) in new {
        let value = match old.get(name) {
            Some(old) => merged(old, value, map.field_or_deduced(name)),
            None => value.clone(),
        };
        fields.insert(name.clone(), value);
    }
    Value::Object(fields)
}

fn merged_lists(live: &Value, configuration: &Value, list: ListShape<'_>) -> Value {
    let steps = |value: &Value| -> Vec<(PathElement, Value)> {
        let items = value.as_array().into_iter().flatten();
        items
            .filter_map(|item| Some((list.step(item).ok()?, item.clone())))
            .collect()
    };
    let (old, new) = (steps(live), steps(configuration));
    if old.is_empty() && new.is_empty() {
        return configuration.clone();
    }
    // An item that is in the list twice is not merged, but replaced.
    let mut singles: BTreeMap<&PathElement, Option<&Value>> = BTreeMap::new();
    for (step, item) in &old {
        singles
            .entry(step)
            .and_modify(|single| *single = None)
            .or_insert(Some(item));
    }
    let items = order(&old, &new).into_iter().map(|place| match place {
        Place::Old(item) => item.clone(),
        Place::New(step, item) => match singles.get(step).copied().flatten() {
            Some(old) => merged(old, item, list.item()),
            None => item.clone(),
        },
    });
    Value::Array(items.collect())
}

/// Where an item of a merged list comes from.
enum Place<'a> {
    /// The live list only.
    Old(&'a Value),
    /// The configuration.
    New(&'a PathElement, &'a Value),
}

/// The order of a merged list. What the configuration names is in the configuration's order; what only the live list has
/// keeps its place between the items that both have.
fn order<'a>(old: &'a [(PathElement, Value)], new: &'a [(PathElement, Value)]) -> Vec<Place<'a>> {
    let in_old: BTreeSet<_> = old.iter().map(|(step, _)| step).collect();
    let in_new: BTreeSet<_> = new.iter().map(|(step, _)| step).collect();
    let mut shared = new
        .iter()
        .map(|(step, _)| step)
        .filter(|step| in_old.contains(step));
    let mut next_shared = shared.next();
    let mut taken = BTreeSet::new();
    let mut order = Vec::with_capacity(old.len() + new.len());
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let next_new = new.peek().map(|(step, _)| step);
        if let Some((step, item)) = old.peek() {
            if !in_new.contains(step) {
                order.push(Place::Old(item));
                old.next();
                continue;
            }
            if next_new == Some(step) {
                old.next();
            } else if next_new.is_some() && next_shared.is_some_and(|next| next != step) {
                // It comes, or came, where the configuration has it.
                old.next();
                continue;
            } else if next_new.is_none() || taken.contains(step) {
                old.next();
            }
        }
        match new.next() {
            Some((step, item)) => {
                order.push(Place::New(step, item));
                taken.insert(step);
                if next_shared == Some(step) {
                    next_shared = shared.next();
                }
            }
            None if old.peek().is_none() => return order,
            None => {}
        }
    }
}
