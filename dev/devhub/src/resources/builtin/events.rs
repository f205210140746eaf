//! Events: one kind in two forms, that of the core group, which is stored, and that of `events.k8s.io`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event as Core;
use k8s_openapi::api::events::v1::Event as New;
use serde_json::{Value, json};

use super::fields;
use super::kind::{columns, default_at, kind, name, names, text, wide};
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

/// Events of the core group, or of `events.k8s.io`.
#[derive(Debug)]
struct Events {
    is_core: bool,
}

pub(super) fn core() -> Resource {
    Resource {
        short_names: names(&["ev"]),
        columns: columns(core_cells, event_columns()),
        selectable_fields: selectable("involvedObject", &["reportingComponent", "source"]),
        name_errors: fields::path_segment,
        creates_on_update: true,
        behaviour: &Events { is_core: true },
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
        creates_on_update: true,
        behaviour: &Events { is_core: false },
        ..kind::<New>()
    }
}

fn selectable(object: &str, others: &[&str]) -> Vec<String> {
    let parts = ["kind", "namespace", "name", "uid", "apiVersion"];
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
    core_cells(&as_core(object), now)
}

fn core_cells(event: &Object, now: Timestamp) -> Vec<Cell> {
    let first_of = |paths: &[&[&str]]| {
        let mut texts = paths.iter().map(|path| event.str_at(path));
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let number = |path: &[&str]| event.at(path).and_then(Value::as_i64);
    let first = first_of(&[&["firstTimestamp"], &["eventTime"]]);
    let last = first_of(&[
        &["series", "lastObservedTime"],
        &["lastTimestamp"],
        &["firstTimestamp"],
        &["eventTime"],
    ]);
    // An event that was seen once need not say so.
    let count = number(&["series", "count"]).or(number(&["count"]));
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
        age::since(last, now).into(),
        event.str_at(&["type"]).into(),
        event.str_at(&["reason"]).into(),
        object.into(),
        event.str_at(&["involvedObject", "fieldPath"]).into(),
        source.into(),
        event.str_at(&["message"]).trim().into(),
        age::since(first, now).into(),
        count.filter(|count| *count > 0).unwrap_or(1).into(),
        event.name().into(),
    ]
}

fn as_core(object: &Object) -> Object {
    let mut object = object.clone();
    rename(&mut object, true);
    object
}

fn rename(object: &mut Object, to_core: bool) {
    for (core, new) in NAMES {
        let (from, to) = if to_core { (new, core) } else { (core, new) };
        if let Some(value) = object.remove(&[from]) {
            object.set(&[to], value);
        }
    }
}

impl Behaviour for Events {
    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object) {
        if !self.is_core {
            return default_at(object, &["deprecatedSource"], json!({}));
        }
        default_at(object, &["involvedObject"], json!({}));
        default_at(object, &["source"], json!({}));
        default_at(object, &["reportingComponent"], "");
        default_at(object, &["reportingInstance"], "");
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        errors(object, write.old, self.is_core)
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

    fn to_version(&self, object: &mut Object) {
        if !self.is_core {
            rename(object, false);
        }
    }

    fn to_storage(&self, object: &mut Object) {
        rename(object, true);
    }
}

/// An event lies where its object lies. One with `eventTime`, which those of `events.k8s.io` must have, says who reports it,
/// and changes in its series only.
fn errors(event: &Object, old: Option<&Object>, is_core: bool) -> Vec<FieldError> {
    let event = as_core(event);
    let mut errors = Vec::new();
    let about = event.str_at(&["involvedObject", "namespace"]);
    let namespace = event.namespace();
    let is_old = is_core && event.str_at(&["eventTime"]).is_empty();
    let fits = match (is_old, about) {
        (true, "") => namespace == "default",
        (true, about) => namespace == about,
        (false, "") => matches!(namespace, "default" | "kube-system"),
        (false, _) => true,
    };
    if !fits {
        let detail = "does not match event.namespace";
        errors.push(FieldError::invalid(
            "involvedObject.namespace",
            about,
            detail,
        ));
    }
    if is_old {
        return errors;
    }
    let required = [
        "eventTime",
        "reportingComponent",
        "reportingInstance",
        "action",
        "reason",
    ];
    let missing = required
        .iter()
        .filter(|field| event.str_at(&[field]).is_empty());
    errors.extend(missing.map(|field| FieldError::required(*field, "")));
    for (field, most) in [
        ("reportingInstance", 128),
        ("action", 128),
        ("reason", 128),
        ("message", 1024),
    ] {
        if event.str_at(&[field]).len() > most {
            let detail = format!("can have at most {most} characters");
            errors.push(FieldError::invalid(field, "", detail));
        }
    }
    if !is_core && !matches!(event.str_at(&["type"]), "Normal" | "Warning") {
        errors.push(FieldError::invalid(
            "type",
            event.str_at(&["type"]),
            "has invalid value",
        ));
    }
    if let Some(old) = old.filter(|_| !is_core).map(as_core) {
        for field in ["involvedObject", "message", "type", "related"]
            .iter()
            .chain(&required)
        {
            errors.extend(fields::unchanged(&event, &old, &[field]));
        }
    }
    errors
}
