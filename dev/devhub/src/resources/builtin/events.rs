//! Events: one kind in two shapes, that of the core group (which is stored) and that of `events.k8s.io`.

use berth_api::names;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event as Core;
use k8s_openapi::api::events::v1::Event as New;
use serde_json::{Value, json};

use super::fields;
use super::kind::{columns, default_at, kind, name, text, wide};
use crate::object::Object;
use crate::resources::{Behaviour, Cell, Column, Resource, WriteTo, age};
use crate::status::FieldError;

/// How the fields of the two shapes are called: in the core group, in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Events of the core group.
#[derive(Debug)]
struct CoreEvents;

/// Events of `events.k8s.io`.
#[derive(Debug)]
struct NewEvents;

pub(super) fn core() -> Resource {
    Resource {
        short_names: super::kind::names(&["ev"]),
        columns: columns(core_cells, event_columns()),
        selectable_fields: selectable("involvedObject", &["reportingComponent", "source"]),
        behaviour: &CoreEvents,
        ..kind::<Core>()
    }
}

pub(super) fn new() -> Resource {
    let stored = core();
    Resource {
        short_names: stored.short_names,
        columns: columns(new_cells, event_columns()),
        selectable_fields: selectable("regarding", &["reportingController"]),
        storage: stored.storage,
        storage_version: stored.storage_version,
        behaviour: &NewEvents,
        ..kind::<New>()
    }
}

fn selectable(object: &str, others: &[&str]) -> Vec<String> {
    let parts = [
        "kind",
        "namespace",
        "name",
        "uid",
        "apiVersion",
        "resourceVersion",
        "fieldPath",
    ];
    let of_object = parts.iter().map(|part| format!("{object}.{part}"));
    let others = ["reason", "type"].iter().chain(others);
    of_object
        .chain(others.map(|&name| name.to_owned()))
        .collect()
}

fn event_columns() -> Vec<Column> {
    vec![
        text("Last Seen", "When it was last seen."),
        text("Type", "Normal or Warning."),
        text("Reason", "Why, in one word."),
        text("Object", "What it is about."),
        wide("Subobject", "Which part of the object."),
        wide("Source", "Who reports it."),
        text("Message", "What happened."),
        wide("First Seen", "When it was first seen."),
        wide("Count", "How often it was seen."),
        Column {
            priority: 1,
            ..name()
        },
    ]
}

fn new_cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    let mut event = object.clone();
    rename(&mut event, Direction::ToCore);
    core_cells(&event, now)
}

fn core_cells(event: &Object, now: Timestamp) -> Vec<Cell> {
    let first_of = |paths: &[&[&str]]| {
        let mut texts = paths.iter().map(|path| event.str_at(path));
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let first = age::since(first_of(&[&["firstTimestamp"], &["eventTime"]]), now);
    let mut last = match event.str_at(&["lastTimestamp"]) {
        "" => first.clone(),
        at => age::since(at, now),
    };
    let mut count = event.at(&["count"]).and_then(Value::as_i64).unwrap_or(0);
    if event.at(&["series"]).is_some_and(Value::is_object) {
        last = age::since(event.str_at(&["series", "lastObservedTime"]), now);
        count = event
            .at(&["series", "count"])
            .and_then(Value::as_i64)
            .unwrap_or(0);
    } else if count == 0 {
        // An event that was seen once need not say so.
        count = 1;
    }
    let mut object = event.str_at(&["involvedObject", "kind"]).to_lowercase();
    let name = event.str_at(&["involvedObject", "name"]);
    if !name.is_empty() {
        object = format!("{object}/{name}");
    }
    let mut source = first_of(&[&["source", "component"], &["reportingComponent"]]).to_owned();
    let instance = first_of(&[&["source", "host"], &["reportingInstance"]]);
    if !instance.is_empty() {
        source = format!("{source}, {instance}");
    }
    vec![
        last.into(),
        event.str_at(&["type"]).into(),
        event.str_at(&["reason"]).into(),
        object.into(),
        event.str_at(&["involvedObject", "fieldPath"]).into(),
        source.into(),
        event.str_at(&["message"]).trim().into(),
        first.into(),
        count.into(),
        event.name().into(),
    ]
}

enum Direction {
    ToCore,
    ToNew,
}

fn rename(object: &mut Object, direction: Direction) {
    for (core, new) in NAMES {
        let (from, to) = match direction {
            Direction::ToCore => (new, core),
            Direction::ToNew => (core, new),
        };
        if let Some(value) = object.remove(&[from]) {
            object.set(&[to], value);
        }
    }
}

impl Behaviour for CoreEvents {
    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object, _old: Option<&Object>) {
        default_at(object, &["involvedObject"], json!({}));
        default_at(object, &["source"], json!({}));
        default_at(object, &["reportingComponent"], "");
        default_at(object, &["reportingInstance"], "");
    }

    fn validate(
        &self,
        _write: &WriteTo<'_>,
        object: &Object,
        _old: Option<&Object>,
    ) -> Vec<FieldError> {
        old_rules(object, "reportingComponent")
    }

    fn name_errors(&self, name: &str) -> Vec<String> {
        fields::path_segment(name)
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn field(&self, object: &Object, path: &str) -> Option<String> {
        let component = object.str_at(&["source", "component"]);
        match path {
            "source" if component.is_empty() => {
                Some(object.str_at(&["reportingComponent"]).to_owned())
            }
            "source" => Some(component.to_owned()),
            _ => None,
        }
    }
}

impl Behaviour for NewEvents {
    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object, _old: Option<&Object>) {
        default_at(object, &["deprecatedSource"], json!({}));
    }

    fn validate(
        &self,
        _write: &WriteTo<'_>,
        object: &Object,
        old: Option<&Object>,
    ) -> Vec<FieldError> {
        let as_core = |object: &Object| {
            let mut object = object.clone();
            rename(&mut object, Direction::ToCore);
            object
        };
        new_rules(&as_core(object), old.map(as_core).as_ref())
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn to_version(&self, object: &mut Object) {
        rename(object, Direction::ToNew);
    }

    fn to_storage(&self, object: &mut Object) {
        rename(object, Direction::ToCore);
    }
}

/// What both groups ask for: an event lies where its object lies. The old way of writing one is without `eventTime`.
fn old_rules(event: &Object, controller_field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let about = event.str_at(&["involvedObject", "namespace"]);
    let namespace = event.namespace();
    let is_old = event.str_at(&["eventTime"]).is_empty();
    let mismatch = match (is_old, about) {
        (true, "") => namespace != "default",
        (true, about) => namespace != about,
        (false, "") => !matches!(namespace, "default" | "kube-system"),
        (false, _) => false,
    };
    if mismatch {
        errors.push(FieldError::invalid(
            "involvedObject.namespace",
            about,
            "does not match event.namespace",
        ));
    }
    if is_old {
        return errors;
    }
    let controller = event.str_at(&["reportingComponent"]);
    if controller.is_empty() {
        errors.push(FieldError::required(controller_field, ""));
    }
    let reasons = names::qualified_name(controller);
    errors.extend(fields::each_invalid(controller_field, controller, reasons));
    for (field, most, required) in [
        ("reportingInstance", 128, true),
        ("action", 128, true),
        ("reason", 128, true),
        ("message", 1024, false),
    ] {
        let text = event.str_at(&[field]);
        if required && text.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
        if text.len() > most {
            let detail = format!("can have at most {most} characters");
            errors.push(FieldError::invalid(field, "", detail));
        }
    }
    errors
}

/// What `events.k8s.io` asks for besides.
fn new_rules(event: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let mut errors = old_rules(event, "reportingController");
    if let Some(old) = old {
        if event.at(&["series"]) != old.at(&["series"]) {
            errors.extend(series_errors(event));
        }
        for field in [
            "involvedObject",
            "reason",
            "message",
            "source",
            "firstTimestamp",
            "lastTimestamp",
            "count",
            "type",
            "eventTime",
            "action",
            "related",
        ] {
            errors.extend(fields::unchanged(event, old, &[field]));
        }
        for (field, told) in [
            ("reportingComponent", "reportingController"),
            ("reportingInstance", "reportingInstance"),
        ] {
            let error = fields::unchanged(event, old, &[field]);
            errors.extend(error.map(|error| FieldError {
                field: told.to_owned(),
                ..error
            }));
        }
        return errors;
    }
    errors.extend(series_errors(event));
    if event.str_at(&["eventTime"]).is_empty() {
        errors.push(FieldError::required("eventTime", ""));
    }
    let sort = event.str_at(&["type"]);
    if !matches!(sort, "Normal" | "Warning") {
        let detail = format!("has invalid value: {sort}");
        errors.push(FieldError::invalid("type", "", detail));
    }
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        let unset = |value: &Value| {
            value.is_null()
                || *value == 0
                || value.as_object().is_some_and(serde_json::Map::is_empty)
        };
        if event.at(&[field]).is_some_and(|value| !unset(value)) {
            errors.push(FieldError::invalid(field, "", "needs to be unset"));
        }
    }
    errors
}

fn series_errors(event: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !event.at(&["series"]).is_some_and(Value::is_object) {
        return errors;
    }
    let count = event.at(&["series", "count"]).and_then(Value::as_i64);
    if count.unwrap_or(0) < 2 {
        let detail = "should be at least 2";
        errors.push(FieldError::invalid("series.count", "", detail));
    }
    if event.str_at(&["series", "lastObservedTime"]).is_empty() {
        errors.push(FieldError::required("series.lastObservedTime", ""));
    }
    errors
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn object(value: Value) -> Object {
        Object::try_from(value).unwrap()
    }

    fn told(errors: &[FieldError]) -> Vec<String> {
        let told = errors.iter();
        told.map(|error| format!("{}: {}", error.field, error.body()))
            .collect()
    }

    fn stored() -> Value {
        json!({
            "metadata": {"name": "e", "namespace": "a"},
            "involvedObject": {"kind": "Pod", "namespace": "a", "name": "p", "fieldPath": "spec"},
            "reason": "Started",
            "message": " it started\n",
            "type": "Normal",
            "source": {"component": "kubelet", "host": "n1"},
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:09:00Z",
            "count": 3,
        })
    }

    #[test]
    fn an_event_looks_the_same_in_both_groups() {
        let now = "2026-01-01T00:10:00Z".parse().unwrap();
        let core = object(stored());
        let expected = json!([
            "60s",
            "Normal",
            "Started",
            "pod/p",
            "spec",
            "kubelet, n1",
            "it started",
            "10m",
            3,
            "e"
        ]);
        assert_eq!(Value::Array(core_cells(&core, now)), expected);
        let mut new = core.clone();
        NewEvents.to_version(&mut new);
        assert_eq!(new.str_at(&["note"]), " it started\n");
        assert_eq!(new.str_at(&["regarding", "name"]), "p");
        assert_eq!(new.at(&["involvedObject"]), None);
        assert_eq!(Value::Array(new_cells(&new, now)), expected);
        NewEvents.to_storage(&mut new);
        assert_eq!(new, core);
    }

    #[test]
    fn a_series_tells_when_and_how_often() {
        let now = "2026-01-01T00:10:00Z".parse().unwrap();
        let event = object(json!({
            "metadata": {"name": "e"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "series": {"count": 7, "lastObservedTime": "2026-01-01T00:09:30.000000Z"},
            "involvedObject": {"kind": "Node"},
            "reportingComponent": "x/y",
        }));
        let cells = core_cells(&event, now);
        assert_eq!(cells[0], "30s");
        assert_eq!(cells[3], "node");
        assert_eq!(cells[5], "x/y");
        assert_eq!(cells[7], "10m");
        assert_eq!(cells[8], 7);
    }

    #[test]
    fn an_event_is_selected_by_who_reports_it() {
        let event = object(json!({"reportingComponent": "r", "source": {}}));
        assert_eq!(CoreEvents.field(&event, "source").unwrap(), "r");
        let event = object(json!({"reportingComponent": "r", "source": {"component": "c"}}));
        assert_eq!(CoreEvents.field(&event, "source").unwrap(), "c");
        assert_eq!(CoreEvents.field(&event, "reason"), None);
    }

    #[test]
    fn an_event_is_refused_in_kubernetes_words() {
        let mismatch =
            "involvedObject.namespace: Invalid value: \"b\": does not match event.namespace";
        let mut elsewhere = object(stored());
        assert_eq!(told(&old_rules(&elsewhere, "reportingComponent")), [""; 0]);
        elsewhere.set(&["involvedObject", "namespace"], "b");
        assert_eq!(
            told(&old_rules(&elsewhere, "reportingComponent")),
            [mismatch]
        );

        let new = object(json!({
            "metadata": {"namespace": "a"},
            "involvedObject": {"namespace": "a"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingComponent": "x/y",
            "reportingInstance": "x",
            "action": "x",
            "reason": "x".repeat(129),
            "type": "Odd",
            "count": 2,
            "series": {"count": 1},
        }));
        assert_eq!(
            told(&new_rules(&new, None)),
            [
                "reason: Invalid value: \"\": can have at most 128 characters",
                "series.count: Invalid value: \"\": should be at least 2",
                "series.lastObservedTime: Required value",
                "type: Invalid value: \"\": has invalid value: Odd",
                "count: Invalid value: \"\": needs to be unset",
            ]
        );
        let mut changed = new.clone();
        changed.set(&["reason"], "y");
        changed.set(&["reportingComponent"], "x/z");
        assert_eq!(
            told(&new_rules(&changed, Some(&new))),
            [
                "reason: Invalid value: \"y\": field is immutable",
                "reportingController: Invalid value: \"x/z\": field is immutable",
            ]
        );
    }
}
