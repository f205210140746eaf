//! JSON merge patches, as kube-apiserver applies them.
//!
//! RFC 7396 keeps nulls within a list. kube-apiserver does not: in a list that is new, or replaces anything but an object, the
//! null fields of its objects are removed. Clients written in Go send such fields for times that are not set.

use serde_json::{Map, Value};

/// Merges a patch into a value.
pub(super) fn merge(value: &mut Value, patch: &Value) {
    match (value, patch) {
        (Value::Object(fields), Value::Object(patch)) => merge_fields(fields, patch),
        // What replaces an object stays as it was sent.
        (value @ Value::Object(_), patch) => *value = patch.clone(),
        (value, patch) => *value = without_nulls(patch),
    }
}

fn merge_fields(fields: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, patch) in patch {
        if patch.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.as_str()).or_insert(Value::Null), patch);
        }
    }
}

/// Without fields that are null. Items of lists that are null stay.
fn without_nulls(patch: &Value) -> Value {
    match patch {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields
                .map(|(name, value)| (name.clone(), without_nulls(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_are_merged_as_the_real_server_does() {
        let rows = [
            // RFC 7396.
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
            (
                json!({"a": [1, 2]}),
                json!({"a": {"b": null, "c": 1}}),
                json!({"a": {"c": 1}}),
            ),
            // What is different.
            (
                json!({}),
                json!({"taints": [{"key": "a", "timeAdded": null}]}),
                json!({"taints": [{"key": "a"}]}),
            ),
            (
                json!({"taints": [{"key": "b", "timeAdded": null}]}),
                json!({"taints": [{"key": "a", "timeAdded": null}]}),
                json!({"taints": [{"key": "a"}]}),
            ),
            (
                json!({"a": null}),
                json!({"a": [{"b": null}]}),
                json!({"a": [{}]}),
            ),
            (
                json!({}),
                json!({"a": [null, [null, {"b": null}]]}),
                json!({"a": [null, [null, {}]]}),
            ),
            (
                json!({"a": {}}),
                json!({"a": [{"b": null}]}),
                json!({"a": [{"b": null}]}),
            ),
        ];
        for (value, patch, expected) in rows {
            let mut found = value.clone();
            merge(&mut found, &patch);
            assert_eq!(found, expected, "{value} and {patch}");
        }
    }
}
