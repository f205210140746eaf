//! The manifest laid over an object, for API servers or kinds that do not allow server-side apply.

use serde_json::Value;

use crate::compare::{ListKind, key};
use crate::managed::has_key;

/// Writes the fields of a manifest into an object. Items of lists with keys are merged; other lists are replaced.
pub(crate) fn overlay(live: &mut Value, ours: &Value) {
    match (live, ours) {
        (_, Value::Null) => {}
        (Value::Object(live), Value::Object(ours)) => {
            for (name, value) in ours {
                match live.get_mut(name) {
                    Some(live) => overlay(live, value),
                    None => {
                        live.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(live), Value::Array(ours)) => {
            let ListKind::Keyed(names) = ListKind::of(ours, live, &[]) else {
                ours.clone_into(live);
                return;
            };
            for item in ours {
                let key = key(item, &names);
                match live.iter_mut().find(|live| has_key(live, &key)) {
                    Some(live) => overlay(live, item),
                    None => live.push(item.clone()),
                }
            }
        }
        (live, ours) => ours.clone_into(live),
    }
}
