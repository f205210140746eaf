//! Values that are stored as if they were absent.
//!
//! `null` and an empty list are absent. An empty object is not: `podSelector: {}` selects all pods, `emptyDir: {}` is a kind of volume.
//! But the API server drops empty maps of the kinds that it stores in protobuf, and drops or adds empty structs that are no pointers in
//! their Go types.

use serde_json::Value;

use super::{Comparison, QUANTITY_MAPS, is_json};

/// Maps of built-in kinds, besides those of quantities.
const MAPS: [&str; 12] = [
    "labels",
    "annotations",
    "nodeSelector",
    "matchLabels",
    "data",
    "binaryData",
    "stringData",
    "parameters",
    "volumeAttributes",
    "options",
    // Of the schema in a CustomResourceDefinition.
    "properties",
    "patternProperties",
];
/// Structs of built-in kinds that are no pointers.
const STRUCTS: [&str; 6] = [
    "metadata",
    "spec",
    "status",
    "resources",
    "strategy",
    "updateStrategy",
];
/// The same in all kinds.
const METADATA: [&str; 3] = ["metadata", "metadata.labels", "metadata.annotations"];

// === impl Comparison ===

impl Comparison<'_, '_, '_> {
    /// Is a value at this path stored as if it were absent?
    pub(super) fn is_absent(&mut self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(object) => {
                self.drops_empty()
                    && object.iter().all(|(name, value)| {
                        self.at(name.as_str().into(), |it| it.is_absent(value))
                    })
            }
            _ => false,
        }
    }

    /// Is an empty object at this path stored as if it were absent?
    fn drops_empty(&self) -> bool {
        let is_one_of = |names: &[&str]| names.iter().any(|name| self.path.ends_with(name));
        let mut defaults = self.defaults.iter();
        METADATA.iter().any(|pattern| self.path.matches(pattern))
            || self.is_built_in
                && [&MAPS[..], &QUANTITY_MAPS, &STRUCTS]
                    .iter()
                    .any(|it| is_one_of(it))
            || defaults.any(|(pattern, value)| {
                self.path.matches(pattern) && is_json(&Value::Object(serde_json::Map::new()), value)
            })
    }
}
