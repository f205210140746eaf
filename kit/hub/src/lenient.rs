//! Kubeconfigs that kube refuses and kubectl takes: with missing names and nulls, in parts that nobody uses, or with a key twice.

use std::path::{Path, is_separator};

use kube::config::{Kubeconfig, KubeconfigError};
use serde_json::{Map, Value};

/// The lists of a kubeconfig, and what an item of each holds besides its name.
const LISTS: [(&str, &str); 3] = [
    ("clusters", "cluster"),
    ("users", "user"),
    ("contexts", "context"),
];

/// Fields that name a file.
const FILES: [&str; 4] = [
    "certificate-authority",
    "client-certificate",
    "client-key",
    "tokenFile",
];

/// Reads a file.
///
/// # Errors
/// Those of kube.
pub(crate) fn read(path: &Path) -> Result<Kubeconfig, KubeconfigError> {
    Kubeconfig::read_from(path).or_else(|error| {
        let text = std::fs::read_to_string(path).ok();
        let read = text.and_then(|text| lenient(&text, path.parent()));
        read.ok_or(error)
    })
}

/// Reads a text.
///
/// # Errors
/// Those of kube.
pub(crate) fn parse(text: &str) -> Result<Kubeconfig, KubeconfigError> {
    Kubeconfig::from_yaml(text).or_else(|error| lenient(text, None).ok_or(error))
}

/// `folder`: to which relative paths are.
fn lenient(text: &str, folder: Option<&Path>) -> Option<Kubeconfig> {
    let options =
        serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins };
    let documents = serde_saphyr::from_multiple_with_options::<Value>(text, options).ok()?;
    let read = documents.into_iter().map(|mut document| {
        remove_nulls(&mut document);
        complete(document.as_object_mut()?, folder);
        serde_json::from_value(document).ok()
    });
    let read: Option<Vec<Kubeconfig>> = read.collect();
    let mut merged = read?.into_iter().map(Ok::<_, KubeconfigError>);
    let first = merged.next()?;
    merged.fold(first, |one, other| one?.merge(other?)).ok()
}

/// Removes what counts as missing.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|it| !it.is_null());
            items.iter_mut().for_each(remove_nulls);
        }
        Value::Object(fields) => {
            fields.retain(|_, it| !it.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        _ => {}
    }
}

/// Adds the fields that kube requires, and makes paths absolute.
fn complete(document: &mut Map<String, Value>, folder: Option<&Path>) {
    document.remove("preferences");
    extensions(document);
    for (list, content) in LISTS {
        let items = document.get_mut(list).and_then(Value::as_array_mut);
        let items = items.into_iter().flatten();
        for item in items.filter_map(Value::as_object_mut) {
            item.entry("name").or_insert_with(|| "".into());
            let Some(content) = item.get_mut(content).and_then(Value::as_object_mut) else {
                continue;
            };
            extensions(content);
            if list == "contexts" {
                content.entry("cluster").or_insert_with(|| "".into());
            }
            if let Some(folder) = folder {
                absolute(content, folder);
            }
        }
    }
}

fn extensions(of: &mut Map<String, Value>) {
    let extensions = of.get_mut("extensions").and_then(Value::as_array_mut);
    let extensions = extensions.into_iter().flatten();
    for extension in extensions.filter_map(Value::as_object_mut) {
        extension.entry("name").or_insert_with(|| "".into());
        extension.entry("extension").or_insert(Value::Null);
    }
}

/// Makes the paths of a cluster or a user absolute. A command without a separator is searched for in `$PATH`.
fn absolute(fields: &mut Map<String, Value>, folder: &Path) {
    let join = |path: &mut Value| {
        let joined = path
            .as_str()
            .filter(|it| !it.is_empty())
            .map(|it| folder.join(it));
        if let Some(joined) = joined.as_deref().and_then(Path::to_str) {
            *path = joined.into();
        }
    };
    for name in FILES {
        fields.get_mut(name).into_iter().for_each(join);
    }
    let exec = fields.get_mut("exec").and_then(Value::as_object_mut);
    let command = exec.and_then(|it| it.get_mut("command"));
    let is_path = |it: &&mut Value| it.as_str().is_some_and(|it| it.contains(is_separator));
    command.filter(is_path).into_iter().for_each(join);
}
