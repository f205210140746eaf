//! The manifest laid over an object, for API servers or kinds that do not allow server-side apply.

use serde_json::Value;

use crate::compare::whole::is_leaf;
use crate::compare::{ListKind, Node, below, is_void, key, keyed_below};
use crate::managed::{has_key, text};

/// Writes the fields of a manifest into an object. Items of lists with keys are merged; other lists are replaced, and so are atomic
/// values, which `nodes` of managedFields show.
pub(crate) fn overlay(live: &mut Value, ours: &Value, nodes: &[Node<'_>]) {
    match (live, ours) {
        (_, Value::Null) => {}
        (live, ours) if is_leaf(nodes) && !is_void(ours) => ours.clone_into(live),
        (Value::Object(live), Value::Object(ours)) => {
            for (name, value) in ours {
                match live.get_mut(name) {
                    Some(live) => overlay(live, value, &below(nodes, name)),
                    None => {
                        live.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(live), Value::Array(ours)) => {
            // Two items with one key, which the API server allows in some lists, are told apart by their names.
            let names = match ListKind::of(ours, live, nodes) {
                ListKind::Keyed(names) if have_own_keys(ours, &names) => names,
                _ => match ListKind::of(ours, live, &[]) {
                    ListKind::Keyed(names) => names,
                    ListKind::Set | ListKind::Whole => {
                        ours.clone_into(live);
                        return;
                    }
                },
            };
            let nodes = keyed_below(nodes);
            for item in ours {
                let key = key(item, &names);
                let below = nodes.get(&text(&key)).map_or(&[][..], Vec::as_slice);
                match live.iter_mut().find(|live| has_key(live, &key)) {
                    Some(live) => overlay(live, item, below),
                    None => live.push(item.clone()),
                }
            }
        }
        (live, ours) => ours.clone_into(live),
    }
}

/// Has each item a key of its own?
fn have_own_keys(items: &[Value], names: &[String]) -> bool {
    let mut keys: Vec<_> = items.iter().map(|item| text(&key(item, names))).collect();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}
