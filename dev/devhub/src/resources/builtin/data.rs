//! ConfigMaps and Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Map, Value};

use super::fields;
use super::kind::{age, age_cell, columns, count, default_at, kind, map_at, name, names, text};
use crate::object::Object;
use crate::resources::{Behaviour, Cell, Resource, WriteTo};
use crate::status::FieldError;

/// How many bytes the values of one object may have together.
const MOST: usize = 1024 * 1024;

const IMMUTABLE: &str = "field is immutable when `immutable` is set";

/// ConfigMaps.
#[derive(Debug)]
pub(super) struct ConfigMaps;

/// Secrets.
#[derive(Debug)]
pub(super) struct Secrets;

pub(super) fn config_maps() -> Resource {
    let data = text("Data", "How many values there are.");
    Resource {
        short_names: names(&["cm"]),
        columns: columns(config_map_cells, [name(), data, age()]),
        behaviour: &ConfigMaps,
        ..kind::<ConfigMap>()
    }
}

pub(super) fn secrets() -> Resource {
    let data = text("Data", "How many values there are.");
    let sort = text("Type", "What the secret is for.");
    Resource {
        selectable_fields: names(&["type"]),
        columns: columns(secret_cells, [name(), sort, data, age()]),
        behaviour: &Secrets,
        ..kind::<Secret>()
    }
}

fn config_map_cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    let values = count(object, &["data"]) + count(object, &["binaryData"]);
    vec![object.name().into(), values.into(), age_cell(object, now)]
}

fn secret_cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    vec![
        object.name().into(),
        object.str_at(&["type"]).into(),
        count(object, &["data"]).into(),
        age_cell(object, now),
    ]
}

impl Behaviour for ConfigMaps {
    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        config_map_errors(object, write.old)
    }
}

impl Behaviour for Secrets {
    fn default(&self, object: &mut Object) {
        take_string_data(object);
    }

    fn prepare(&self, write: &WriteTo<'_>, object: &mut Object) {
        if let Some(old) = write.old
            && object.str_at(&["type"]).is_empty()
        {
            object.set(&["type"], old.str_at(&["type"]));
        }
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        secret_errors(object, write.old)
    }

    fn warnings(&self, object: &Object) -> Vec<String> {
        let wants_token = object.str_at(&["type"]) == "kubernetes.io/service-account-token";
        let warning = "devhub puts no token into Secrets; ask for one (kubectl create token)";
        wants_token
            .then(|| warning.to_owned())
            .into_iter()
            .collect()
    }
}

/// `stringData` is a way to write: it is never kept, and never shown.
fn take_string_data(object: &mut Object) {
    if let Some(Value::Object(texts)) = object.remove(&["stringData"]) {
        for (key, value) in texts {
            let value = STANDARD.encode(value.as_str().unwrap_or_default());
            object.set(&["data", &key], value);
        }
    }
    if object.at(&["type"]).is_some_and(|sort| sort == "") {
        object.remove(&["type"]);
    }
    default_at(object, &["type"], "Opaque");
}

fn config_map_errors(object: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(old) = old {
        errors.extend(immutable_errors(object, old, &["data", "binaryData"]));
    }
    let binary = map_at(object, &["binaryData"]);
    let mut size = 0;
    for (key, value) in map_at(object, &["data"]).into_iter().flatten() {
        let field = format!("data[{key}]");
        errors.extend(fields::each_invalid(&field, key, fields::data_key(key)));
        if binary.is_some_and(|binary| binary.contains_key(key)) {
            let detail = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(field, key.as_str(), detail));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in binary.into_iter().flatten() {
        let field = format!("binaryData[{key}]");
        errors.extend(fields::each_invalid(&field, key, fields::data_key(key)));
        size += decoded(value).len();
    }
    if size > MOST {
        // The whole object.
        errors.push(fields::too_long("[]", MOST));
    }
    errors
}

fn secret_errors(object: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(old) = old {
        errors.extend(fields::unchanged(object, old, &["type"]));
        errors.extend(immutable_errors(object, old, &["data"]));
    }
    let empty = Map::new();
    let data = map_at(object, &["data"]).unwrap_or(&empty);
    let mut size = 0;
    for (key, value) in data {
        let field = format!("data[{key}]");
        errors.extend(fields::each_invalid(&field, key, fields::data_key(key)));
        size += decoded(value).len();
    }
    if size > MOST {
        errors.push(fields::too_long("data", MOST));
    }
    errors.extend(type_errors(object, data));
    errors
}

/// What Kubernetes' own types of secrets must hold.
fn type_errors(object: &Object, data: &Map<String, Value>) -> Vec<FieldError> {
    let required: &[&str] = match object.str_at(&["type"]) {
        "kubernetes.io/service-account-token" => {
            let owner = "kubernetes.io/service-account.name";
            let is_there = !object
                .str_at(&["metadata", "annotations", owner])
                .is_empty();
            let at = format!("metadata.annotations[{owner}]");
            let error = (!is_there).then(|| FieldError::required(at, ""));
            return error.into_iter().collect();
        }
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    let missing = required.iter().filter(|key| !data.contains_key(**key));
    missing
        .map(|key| FieldError::required(format!("data[{key}]"), ""))
        .collect()
}

/// An object that says it is immutable stays so, with all its data.
fn immutable_errors(object: &Object, old: &Object, data: &[&str]) -> Vec<FieldError> {
    let is_immutable = |object: &Object| object.at(&["immutable"]) == Some(&Value::Bool(true));
    if !is_immutable(old) {
        return Vec::new();
    }
    let mut errors = Vec::new();
    if !is_immutable(object) {
        errors.push(FieldError::forbidden("immutable", IMMUTABLE));
    }
    for field in data {
        let entries = |object| {
            map_at(object, &[field])
                .filter(|map| !map.is_empty())
                .cloned()
        };
        if entries(object) != entries(old) {
            errors.push(FieldError::forbidden(*field, IMMUTABLE));
        }
    }
    errors
}

/// The bytes of a base64 value. Other text was refused when the request was decoded.
fn decoded(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default();
    STANDARD.decode(text).unwrap_or_default()
}
