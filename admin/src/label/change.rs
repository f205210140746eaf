//! The labels of a cluster after a change.

use serde_json::{Map, Value, json};

use super::spec::Changes;
use crate::cluster_change::Due;
use crate::failure::CommandError;

/// Returns the patch that changes the labels of this cluster, as the hub sent it, and kubectl's word for it. Other labels stay.
///
/// # Errors
/// A label has another value, and `overwrite` is false; or the labels cannot be read.
pub(crate) fn label_due(
    name: &str,
    cluster: &Value,
    changes: &Changes,
    overwrite: bool,
) -> Result<Due, CommandError> {
    let stored = match &cluster["metadata"]["labels"] {
        Value::Null => &Map::new(),
        Value::Object(labels) => labels,
        _ => {
            let message = format!("metadata.labels of ManagedCluster {name} is not a map");
            return Err(CommandError::Unreadable(message));
        }
    };
    let (mut patch, mut conflicts, mut missing) = (Map::new(), Vec::new(), Vec::new());
    let mut adds = false;
    for (key, value) in changes.iter() {
        match (stored.get(key), value) {
            (None, None) => missing.push(format!("label {key:?} not found")),
            (Some(before), Some(value)) if before == value => {}
            (Some(before), Some(_)) if !overwrite => {
                let before = before.as_str().unwrap_or_default();
                conflicts.push(format!("'{key}' already has a value ({before})"));
            }
            (_, value) => {
                adds |= value.is_some();
                patch.insert(key.to_owned(), json!(value));
            }
        }
    }
    if !conflicts.is_empty() {
        let conflicts = conflicts.join(", ");
        return Err(CommandError::Refused(format!(
            "{conflicts}, and --overwrite is false"
        )));
    }
    let word = match (patch.is_empty(), adds) {
        (true, _) => "not labeled",
        (_, true) => "labeled",
        (_, false) => "unlabeled",
    };
    let mut line = format!("managedcluster/{name} {word}");
    for missing in missing {
        line = format!("{line}; {missing}");
    }
    if patch.is_empty() {
        return Ok(Due::Nothing(line));
    }
    let patch = json!({"metadata": {"labels": patch}});
    Ok(Due::Patch { patch, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(labels: &Value, line: &str, overwrite: bool) -> Result<(String, Value), String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let changes = Changes::parse(&words).unwrap();
        let cluster = json!({"metadata": {"name": "c1", "labels": labels}});
        match label_due("c1", &cluster, &changes, overwrite) {
            Err(why) => Err(why.to_string()),
            Ok(Due::Nothing(line)) => Ok((line, Value::Null)),
            Ok(Due::Patch { mut patch, line }) => Ok((line, patch["metadata"]["labels"].take())),
        }
    }

    #[test]
    fn a_change_concerns_its_own_labels_only() {
        let stored = json!({"a": "1", "b": "2"});
        for (sentence, labels, line, overwrite, word, patch) in [
            (
                "the first label",
                json!(null),
                "k=v",
                false,
                "labeled",
                json!({"k": "v"}),
            ),
            (
                "others stay",
                stored.clone(),
                "k=",
                false,
                "labeled",
                json!({"k": ""}),
            ),
            (
                "it is there",
                stored.clone(),
                "a=1",
                false,
                "not labeled",
                json!(null),
            ),
            (
                "it is there, and may be written",
                stored.clone(),
                "a=1",
                true,
                "not labeled",
                json!(null),
            ),
            (
                "another value",
                stored.clone(),
                "a=2",
                true,
                "labeled",
                json!({"a": "2"}),
            ),
            (
                "removed",
                stored.clone(),
                "a-",
                false,
                "unlabeled",
                json!({"a": null}),
            ),
            (
                "removed and added",
                stored.clone(),
                "a- c=3",
                false,
                "labeled",
                json!({"a": null, "c": "3"}),
            ),
            (
                "one is not there",
                stored.clone(),
                "a- x-",
                false,
                "unlabeled; label \"x\" not found",
                json!({"a": null}),
            ),
            (
                "none is there",
                stored.clone(),
                "x-",
                true,
                "not labeled; label \"x\" not found",
                json!(null),
            ),
        ] {
            let expected = (format!("managedcluster/c1 {word}"), patch);
            assert_eq!(said(&labels, line, overwrite), Ok(expected), "{sentence}");
        }
    }

    #[test]
    fn no_value_is_replaced_unasked_and_then_nothing_is_written() {
        let stored = json!({"a": "1", "b": "2"});
        for (labels, line, words) in [
            (
                stored.clone(),
                "a=2 c=3",
                "'a' already has a value (1), and --overwrite is false",
            ),
            (
                stored,
                "a= b=3 c-",
                "'a' already has a value (1), 'b' already has a value (2), and --overwrite is false",
            ),
            (
                json!("x"),
                "a=1",
                "metadata.labels of ManagedCluster c1 is not a map",
            ),
        ] {
            let error = said(&labels, line, false).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
