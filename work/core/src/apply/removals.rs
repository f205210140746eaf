//! Labels and annotations whose keys end in a hyphen, as in `kubectl label NAME KEY-`: the key without the hyphen is removed.
//!
//! As OCM's agent does: with the strategy Update from an existing object, too; with CreateOnly they are only left out.

use serde_json::{Map, Value, json};

use super::Applying;
use super::plan::Write;
use super::strategy::Strategy;
use crate::Step;
use crate::differs::Findings;
use crate::path::Path;

/// The keys to remove, with the field of the metadata that they are in.
#[derive(Debug, Default, Hash)]
pub(super) struct Removals(Vec<(&'static str, String)>);

// === impl Removals ===

impl Removals {
    /// Takes the keys out of a manifest. With server-side apply they are left to the API server, which refuses them, and so are keys with
    /// values that are no strings.
    pub(super) fn take(strategy: &Strategy, body: &mut Value) -> Self {
        let mut removals = Self::default();
        if matches!(strategy, Strategy::ServerSide(_)) {
            return removals;
        }
        for field in ["labels", "annotations"] {
            let Some(Value::Object(map)) = body["metadata"].get_mut(field) else {
                continue;
            };
            let all = std::mem::take(map);
            let (to_remove, kept): (Map<_, _>, Map<_, _>) =
                all.into_iter().partition(|(key, value)| {
                    key.ends_with('-') && (value.is_string() || value.is_null())
                });
            *map = kept;
            let keys = to_remove.keys().map(|key| key.trim_end_matches('-'));
            // A key that is to be set, too, is set.
            let keys = keys.filter(|key| !map.contains_key(*key));
            let keys: Vec<_> = keys.map(|key| (field, key.to_owned())).collect();
            if matches!(strategy, Strategy::Update) {
                removals.0.extend(keys);
            }
        }
        removals
    }

    /// The keys that an object has: path, field of the metadata, key and value.
    fn of<'a>(
        &'a self,
        live: &'a Value,
    ) -> impl Iterator<Item = (Path, &'static str, &'a str, &'a Value)> {
        self.0.iter().filter_map(|(field, key)| {
            let value = live["metadata"][*field].get(key)?;
            let path = ["metadata", *field, key.as_str()].map(Into::into);
            Some((Path(path.into()), *field, key.as_str(), value))
        })
    }
}

// === impl Applying ===

impl Applying {
    /// Keys that came back after their removal stay accepted while other content is written.
    pub(super) fn keep_accepted_removals(&self, live: &Value, findings: &mut Findings<'_>) {
        for (path, _, _, value) in self.removals.of(live) {
            findings.is_accepted(&path, None, Some(value));
        }
    }

    /// Removes the keys that an object has. The other content is written before, so that a key that stays is accepted alone.
    pub(super) fn plan_removal(&self, live: &Value, findings: &mut Findings<'_>) -> Option<Write> {
        self.removals.of(live).next()?;
        let metadata = &live["metadata"];
        let mut patch = json!({"resourceVersion": metadata["resourceVersion"]});
        let mut body = live.clone();
        findings.muted = false;
        for (path, field, key, value) in self.removals.of(live) {
            findings.differs(&path, None, Some(value), None);
            patch[field][key] = Value::Null;
            if let Value::Object(map) = &mut body["metadata"][field] {
                map.remove(key);
            }
        }
        findings.due.then(|| {
            Write::Remove(if self.without_patch {
                Step::Replace(body)
            } else {
                Step::Merge(json!({"metadata": patch}))
            })
        })
    }
}
