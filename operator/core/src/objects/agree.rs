//! Whether a stored object is as it should be.

use serde_json::{Map, Value};

/// Returns whether the stored value has everything that is wanted. It may have more: fields that the API server fills in, or that others set.
/// Lists agree if they have as many elements, and these agree in turn.
#[must_use]
pub fn agrees(wanted: &Value, stored: Option<&Value>) -> bool {
    let Some(stored) = stored else {
        return is_empty(wanted);
    };
    match (wanted, stored) {
        (Value::Object(wanted), Value::Object(stored)) => wanted
            .iter()
            .all(|(key, value)| agrees(value, stored.get(key))),
        (Value::Array(wanted), Value::Array(stored)) => {
            wanted.len() == stored.len()
                && wanted
                    .iter()
                    .zip(stored)
                    .all(|(wanted, stored)| agrees(wanted, Some(stored)))
        }
        (Value::Number(wanted), Value::Number(stored)) => {
            wanted == stored || wanted.as_f64() == stored.as_f64()
        }
        _ => wanted == stored || (is_empty(wanted) && is_empty(stored)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => false,
    }
}

/// Returns whether a field that this manager applied is not wanted any more. `fields`: the `fieldsV1` of its entry in the stored object, as
/// in [Kubernetes](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/).
pub(super) fn has_stale(fields: &Map<String, Value>, wanted: &Value) -> bool {
    fields.iter().any(|(path, below)| {
        let Some(part) = part_of(path, wanted) else {
            return true;
        };
        let below = below.as_object().filter(|it| !it.is_empty());
        match (part, below) {
            // The element or the field itself.
            (_, None) | (Part::Itself, _) => false,
            (Part::Of(value), Some(below)) => has_stale(below, value),
        }
    })
}

/// What a path leads to.
enum Part<'a> {
    /// The value that has the path.
    Itself,
    Of(&'a Value),
}

/// What is wanted where a path leads; `None` if nothing is.
fn part_of<'a>(path: &str, wanted: &'a Value) -> Option<Part<'a>> {
    if path == "." {
        return Some(Part::Itself);
    }
    let (kind, rest) = path.split_once(':')?;
    match kind {
        "f" => wanted.get(rest).map(Part::Of),
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
            let has_keys = |it: &&Value| {
                let mut keys = keys.iter();
                // A key that is not wanted has the default.
                keys.all(|(key, value)| it.get(key).is_none_or(|it| it == value))
            };
            wanted.as_array()?.iter().find(has_keys).map(Part::Of)
        }
        "v" => {
            let value: Value = serde_json::from_str(rest).ok()?;
            let found = wanted.as_array()?.iter().find(|it| **it == value);
            found.map(Part::Of)
        }
        // A path of a newer API server.
        _ => Some(Part::Itself),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_object_agrees_if_it_has_all_that_is_wanted() {
        for (sentence, wanted, stored, expected) in [
            ("equal", json!({"a": 1}), json!({"a": 1}), true),
            (
                "more is stored",
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
                true,
            ),
            (
                "less is stored",
                json!({"a": 1, "b": 2}),
                json!({"a": 1}),
                false,
            ),
            ("another value", json!({"a": "1"}), json!({"a": "2"}), false),
            (
                "a number as the API server writes it",
                json!({"a": 1}),
                json!({"a": 1.0}),
                true,
            ),
            (
                "nothing wanted, nothing stored",
                json!({"a": {}, "b": [], "c": null}),
                json!({}),
                true,
            ),
            (
                "nothing wanted, something stored",
                json!({"a": []}),
                json!({"a": [1]}),
                false,
            ),
            ("false is something", json!({"a": false}), json!({}), false),
            (
                "elements with defaults",
                json!([{"p": 1}]),
                json!([{"p": 1, "q": "TCP"}]),
                true,
            ),
            (
                "one element more",
                json!([{"p": 1}]),
                json!([{"p": 1}, {"p": 2}]),
                false,
            ),
            ("another order", json!([1, 2]), json!([2, 1]), false),
        ] {
            assert_eq!(agrees(&wanted, Some(&stored)), expected, "{sentence}");
        }
    }

    #[test]
    fn what_was_applied_and_is_not_wanted_is_stale() {
        let wanted = json!({
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [{"name": "c", "args": ["x"], "ports": [{"containerPort": 1}]}],
                "finalizers": ["f"],
            },
        });
        for (sentence, fields, expected) in [
            ("nothing", json!({}), false),
            (
                "a label",
                json!({"f:metadata": {"f:labels": {"f:a": {}}}}),
                false,
            ),
            (
                "a label that is gone",
                json!({"f:metadata": {"f:labels": {"f:z": {}}}}),
                true,
            ),
            (
                "an element, a field of it, and a list as a whole",
                json!({"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:args": {}}}}}),
                false,
            ),
            (
                "an element that is gone",
                json!({"f:spec": {"f:containers": {"k:{\"name\":\"d\"}": {".": {}}}}}),
                true,
            ),
            (
                "a field of an element that is gone",
                json!({"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:env": {}}}}}),
                true,
            ),
            (
                "a key with a default",
                json!({"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:ports": {
                    "k:{\"containerPort\":1,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}},
                }}}}}),
                false,
            ),
            (
                "a value",
                json!({"f:spec": {"f:finalizers": {"v:\"f\"": {}}}}),
                false,
            ),
            (
                "a value that is gone",
                json!({"f:spec": {"f:finalizers": {"v:\"g\"": {}}}}),
                true,
            ),
        ] {
            let fields = fields.as_object().unwrap();
            assert_eq!(has_stale(fields, &wanted), expected, "{sentence}");
        }
    }
}
