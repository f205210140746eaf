//! Reading the manifests.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A path of the repository.
pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The documents of a YAML text.
pub(crate) fn documents(what: &str, text: &str) -> Vec<Value> {
    let mut bytes = text.as_bytes();
    serde_saphyr::read::<_, Value>(&mut bytes)
        .map(|document| document.unwrap_or_else(|error| panic!("{what}: {error}")))
        .collect()
}

/// The documents of a file; its path is relative to the repository.
pub(crate) fn read(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(in_repository(path))
        .unwrap_or_else(|error| panic!("cannot read {path}: {error}"));
    documents(path, &text)
}

/// The object of this kind in a file.
pub(crate) fn object<T: DeserializeOwned>(path: &str, kind: &str) -> T {
    let found = read(path)
        .into_iter()
        .find(|object| object["kind"] == kind)
        .unwrap_or_else(|| panic!("{path} holds no {kind}"));
    serde_json::from_value(found).unwrap_or_else(|error| panic!("{path}: {kind}: {error}"))
}

/// The files that a kustomization builds from, its own and those of the kustomizations it names; relative to the
/// repository, as is `folder`.
pub(crate) fn resources(folder: &str) -> Vec<String> {
    let file = format!("{folder}/kustomization.yaml");
    let kustomization = read(&file).remove(0);
    let mut files = vec![file.clone()];
    let patches = kustomization["patches"].as_array().into_iter().flatten();
    let patches = patches.filter_map(|patch| patch["path"].as_str());
    files.extend(patches.map(|path| format!("{folder}/{path}")));
    for resource in kustomization["resources"]
        .as_array()
        .unwrap_or_else(|| panic!("{file} names no resources"))
    {
        let resource = resource.as_str().expect("a resource is a path");
        let path = normalized(&format!("{folder}/{resource}"));
        if in_repository(&path).is_dir() {
            files.extend(resources(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Every YAML file below a folder, relative to the repository.
pub(crate) fn yaml_files(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    let entries = fs::read_dir(in_repository(folder))
        .unwrap_or_else(|error| panic!("cannot read {folder}: {error}"));
    for entry in entries {
        let entry = entry.unwrap_or_else(|error| panic!("cannot read {folder}: {error}"));
        let path = format!("{folder}/{}", entry.file_name().display());
        if entry.path().is_dir() {
            files.extend(yaml_files(&path));
        } else if path.ends_with(".yaml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Without the `..` in it.
fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}
