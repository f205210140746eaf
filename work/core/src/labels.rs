//! The labels of an AppliedManifestWork.
//!
//! # Promises
//! - It has each label of its ManifestWork.
//! - A label that leaves the ManifestWork is removed if the agent had set it and its value has not changed since.
//! - Other labels stay, also those that equal a label of the ManifestWork and were there before it.
//!
//! The annotation `berth.open-cluster-management.io/set-labels` records what the agent set. Labels and annotation change in one write, so that a restart loses nothing.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

/// On an AppliedManifestWork: the labels that the agent set, as JSON. Absent if it set none.
const SET_LABELS: &str = "berth.open-cluster-management.io/set-labels";

/// Upper bound on the bytes of the record. All annotations of an object may have 256 KiB; labels without room in the record stay.
const LONGEST: usize = 64 << 10;

type Labels = BTreeMap<String, String>;

/// A merge patch of the metadata of an AppliedManifestWork; empty if it has all labels of its ManifestWork and no others of the agent.
#[must_use]
pub fn labels_due(of_work: Option<&Labels>, applied: &ObjectMeta) -> Map<String, Value> {
    let (none, empty) = (Labels::new(), Labels::new());
    let wanted = of_work.unwrap_or(&none);
    let live = applied.labels.as_ref().unwrap_or(&empty);
    let stored = applied
        .annotations
        .as_ref()
        .and_then(|it| it.get(SET_LABELS));
    let set: Labels = stored
        .and_then(|it| serde_json::from_str(it).ok())
        .unwrap_or_default();
    let mut labels = Map::new();
    let mut now_set = Labels::new();
    for (key, value) in wanted {
        let is_live = live.get(key) == Some(value);
        if !is_live {
            labels.insert(key.clone(), json!(value));
        }
        if !is_live || set.get(key) == Some(value) {
            now_set.insert(key.clone(), value.clone());
        }
    }
    for (key, value) in &set {
        if !wanted.contains_key(key) && live.get(key) == Some(value) {
            labels.insert(key.clone(), Value::Null);
        }
    }
    let record = record(now_set);
    let mut due = Map::new();
    if !labels.is_empty() {
        due.insert("labels".to_owned(), labels.into());
    }
    if record.as_ref() != stored {
        due.insert("annotations".to_owned(), json!({SET_LABELS: record}));
    }
    due
}

/// The value of the annotation: the first labels that have room in it.
fn record(mut set: Labels) -> Option<String> {
    let mut room = LONGEST;
    set.retain(|key, value| {
        // Quotes, colon and comma. Labels have no characters that JSON escapes.
        let bytes = key.len() + value.len() + 6;
        let fits = bytes <= room;
        room -= if fits { bytes } else { room };
        fits
    });
    (!set.is_empty()).then(|| json!(set).to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(text: &str) -> Labels {
        let pairs = text
            .split_whitespace()
            .map(|it| it.split_once('=').unwrap());
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    fn applied(live: &str, record: &str) -> ObjectMeta {
        let annotations =
            (!record.is_empty()).then(|| [(SET_LABELS.to_owned(), record.to_owned())]);
        ObjectMeta {
            labels: Some(labels(live)),
            annotations: annotations.map(BTreeMap::from),
            ..ObjectMeta::default()
        }
    }

    fn patched(metadata: &ObjectMeta, due: Map<String, Value>) -> ObjectMeta {
        let mut patched = json!(metadata);
        json_patch::merge(&mut patched, &due.into());
        serde_json::from_value(patched).unwrap()
    }

    #[test]
    fn only_labels_that_the_agent_set_are_removed() {
        for (sentence, wanted, live, record, expected) in [
            ("nothing to do", "", "", "", json!({})),
            ("the labels of others stay", "", "x=1", "", json!({})),
            (
                "a new label is set and recorded",
                "a=1",
                "x=1",
                "",
                json!({"labels": {"a": "1"}, "annotations": {SET_LABELS: r#"{"a":"1"}"#}}),
            ),
            (
                "a label that is set stays",
                "a=1",
                "a=1",
                r#"{"a":"1"}"#,
                json!({}),
            ),
            (
                "a label that another client set first is not the agent's",
                "a=1",
                "a=1",
                "",
                json!({}),
            ),
            (
                "a changed label is put back",
                "a=1",
                "a=2",
                r#"{"a":"1"}"#,
                json!({"labels": {"a": "1"}}),
            ),
            (
                "a new value is recorded",
                "a=2",
                "a=1",
                r#"{"a":"1"}"#,
                json!({"labels": {"a": "2"}, "annotations": {SET_LABELS: r#"{"a":"2"}"#}}),
            ),
            (
                "a label that leaves is removed, and others stay",
                "b=1",
                "a=1 b=1 x=1",
                r#"{"a":"1","b":"1"}"#,
                json!({"labels": {"a": null}, "annotations": {SET_LABELS: r#"{"b":"1"}"#}}),
            ),
            (
                "the last label takes the record along",
                "",
                "a=1 x=1",
                r#"{"a":"1"}"#,
                json!({"labels": {"a": null}, "annotations": {SET_LABELS: null}}),
            ),
            (
                "a label that leaves stays if another client changed it",
                "",
                "a=2",
                r#"{"a":"1"}"#,
                json!({"annotations": {SET_LABELS: null}}),
            ),
            (
                "a label that leaves and is gone already",
                "",
                "",
                r#"{"a":"1"}"#,
                json!({"annotations": {SET_LABELS: null}}),
            ),
            (
                "a record that cannot be read removes nothing",
                "b=1",
                "a=1",
                "a,b",
                json!({"labels": {"b": "1"}, "annotations": {SET_LABELS: r#"{"b":"1"}"#}}),
            ),
        ] {
            let applied = applied(live, record);
            let due = labels_due(Some(&labels(wanted)), &applied);
            assert_eq!(json!(due), expected, "{sentence}");
            let applied = patched(&applied, due);
            let again = labels_due(Some(&labels(wanted)), &applied);
            assert_eq!(json!(again), json!({}), "{sentence}");
        }
    }

    #[test]
    fn the_record_has_a_bound() {
        let label = |at: usize| (format!("{at:0>250}/k"), "v".repeat(63));
        let wanted: Labels = (0..1000).map(label).collect();
        let due = labels_due(Some(&wanted), &ObjectMeta::default());
        assert_eq!(due["labels"].as_object().unwrap().len(), 1000);
        let record = due["annotations"][SET_LABELS].as_str().unwrap();
        assert!(
            (60_000..=LONGEST).contains(&record.len()),
            "{}",
            record.len()
        );
        let applied = patched(&ObjectMeta::default(), due);
        assert_eq!(labels_due(Some(&wanted), &applied), Map::new());
    }

    proptest! {
        /// Whatever changes, and whenever the agent restarts: what remains is the labels of the ManifestWork and those of others.
        #[test]
        fn the_labels_are_those_of_the_work_and_of_others(
            steps in prop::collection::vec((
                prop::collection::btree_map("[abc]", "[12]", 0..3),
                prop::collection::btree_map("[xy]", "[12]", 0..3),
            ), 1..6),
        ) {
            let mut applied = ObjectMeta::default();
            for (wanted, others) in steps {
                let live = applied.labels.get_or_insert_default();
                live.retain(|key, _| !["x", "y"].contains(&&**key));
                live.extend(others.clone());
                applied = patched(&applied, labels_due(Some(&wanted), &applied));
                let mut expected = others;
                expected.extend(wanted.clone());
                prop_assert_eq!(applied.labels.as_ref(), Some(&expected));
                prop_assert_eq!(labels_due(Some(&wanted), &applied), Map::new());
            }
        }
    }
}
