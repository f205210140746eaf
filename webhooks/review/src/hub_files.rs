//! The state of a hub, read from YAML or JSON files: permissions and objects.
//!
//! It is for local trials, and for tests of policies in a user's own CI, without a network. It reads RBAC objects,
//! Namespaces, ManagedClusters, ManagedClusterSets and ManagedClusterSetBindings: one object per document or a `List`, and
//! any number of documents per file. Objects of other kinds are only counted, so that users can give a folder of manifests
//! unchanged. An error names the file, the document and the field; then no file is used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use berth_api::cluster::ManagedCluster;
use berth_api::cluster_set::ManagedClusterSet;
use berth_api::cluster_set_binding::ManagedClusterSetBinding;
use berth_api::path::group_version;
use berth_api::{groups, labels};
use berth_rbac::Policy;
use berth_rules::path::explain_field;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::documents::documents;

/// The group with all permissions, as on a hub.
const SUPERUSERS: &str = "system:masters";

/// The maximum size of a file, in bytes.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// The part of a hub's state that the gate asks for.
#[derive(Debug)]
pub struct HubFiles {
    pub(crate) policy: Policy,
    pub(crate) namespaces: BTreeMap<String, berth_rules::Namespace>,
    /// The clusters; true if accepted.
    pub(crate) clusters: BTreeMap<String, bool>,
    pub(crate) sets: BTreeSet<String>,
    /// The bindings of each namespace.
    pub(crate) bindings: BTreeMap<String, BTreeSet<String>>,
    /// The source of each object.
    sources: BTreeMap<String, Source>,
    /// The number of objects of each other kind.
    passed_over: BTreeMap<String, usize>,
}

/// A document of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path as the user gave it.
    pub file: String,
    /// The number of the document in it, from 1. Documents without content do not count.
    pub document: usize,
}

/// Errors in hub files.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file or folder cannot be read.
    #[error("{path} cannot be read: name a YAML or JSON file, or a folder of such files")]
    Unreadable {
        /// The path as the user gave it.
        path: String,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// A folder without a YAML or JSON file.
    #[error("{0}: the folder holds no .yaml, .yml or .json file")]
    Empty(String),
    /// A document is invalid.
    #[error("{at}: {problem}")]
    Document {
        /// The document.
        at: Source,
        /// The problem, with the field if there is one.
        problem: String,
    },
}

// === impl HubFiles ===

impl Default for HubFiles {
    fn default() -> Self {
        Self {
            policy: Policy::new().with_superusers(SUPERUSERS),
            namespaces: BTreeMap::new(),
            clusters: BTreeMap::new(),
            sets: BTreeSet::new(),
            bindings: BTreeMap::new(),
            sources: BTreeMap::new(),
            passed_over: BTreeMap::new(),
        }
    }
}

impl HubFiles {
    /// Reads files and the files of folders (without subfolders), in the order of their names.
    ///
    /// # Errors
    /// The first error; see [`FilesError`].
    pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Self, FilesError> {
        let mut hub = Self::default();
        for path in paths {
            for file in files(path.as_ref())? {
                let text = text(&file).map_err(|source| unreadable(&file, source))?;
                hub.add(&file.display().to_string(), &text)?;
            }
        }
        Ok(hub)
    }

    /// Adds the documents of one file.
    ///
    /// # Errors
    /// The first error. If the file is YAML, the documents before it have been added.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), FilesError> {
        let at = |document| Source {
            file: file.to_owned(),
            document,
        };
        let documents = documents(text).map_err(|error| at(error.document).fault(error))?;
        for (i, mut object) in documents.into_iter().enumerate() {
            let at = at(i + 1);
            drop_nulls(&mut object);
            self.add_object(&at, "", object)?;
        }
        Ok(())
    }

    /// Returns the number of objects that were read.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Returns true if no object was read.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Returns the number of ignored objects of each other kind.
    pub fn passed_over(&self) -> &BTreeMap<String, usize> {
        &self.passed_over
    }

    fn add_object(&mut self, at: &Source, path: &str, mut object: Value) -> Result<(), FilesError> {
        let field = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(api_version), Some(kind)) = (field("apiVersion"), field("kind")) else {
            if object.is_null() {
                return Ok(());
            }
            return Err(at.fault(format!(
                "{path}apiVersion and kind: a Kubernetes object needs both, as strings"
            )));
        };
        let (group, version) = group_version(&api_version);
        match (group, version, kind.as_str()) {
            // Lists of other groups, and other kinds whose name ends with `List`, are ignored as a whole.
            ("" | groups::RBAC | groups::CLUSTER, _, kind)
                if kind.ends_with("List") && object.get("items").is_some_and(Value::is_array) =>
            {
                let mut items = object["items"].take();
                let items = items.as_array_mut().map(std::mem::take).unwrap_or_default();
                for (i, mut item) in items.into_iter().enumerate() {
                    inherit(&mut item, &api_version, kind);
                    self.add_object(at, &format!("{path}items[{i}]."), item)?;
                }
            }
            ("", "v1", "List") if object.get("items").is_some() => {
                return Err(at.fault(format!("{path}items: a List needs a sequence of objects")));
            }
            ("", "v1", "Namespace") => {
                let Namespace {
                    metadata, status, ..
                } = self.typed(at, path, &kind, object)?;
                let phase = status.and_then(|status| status.phase);
                let labels = metadata.labels.unwrap_or_default();
                let known = berth_rules::Namespace {
                    terminating: phase.as_deref() == Some("Terminating")
                        || metadata.deletion_timestamp.is_some(),
                    of_cluster: labels.get(labels::CLUSTER_NAME) == metadata.name.as_ref(),
                };
                self.namespaces
                    .insert(metadata.name.unwrap_or_default(), known);
            }
            (groups::RBAC, "v1", "ClusterRole") => {
                let role: ClusterRole = self.typed(at, path, &kind, object)?;
                self.policy
                    .upsert_cluster_role(role)
                    .map_err(|error| at.fault(error))?;
            }
            (groups::RBAC, "v1", "Role") => {
                let role: Role = self.typed(at, path, &kind, object)?;
                self.policy
                    .upsert_role(role)
                    .map_err(|error| at.fault(error))?;
            }
            (groups::RBAC, "v1", "ClusterRoleBinding") => {
                let binding: ClusterRoleBinding = self.typed(at, path, &kind, object)?;
                self.policy
                    .upsert_cluster_role_binding(binding)
                    .map_err(|error| at.fault(error))?;
            }
            (groups::RBAC, "v1", "RoleBinding") => {
                let binding: RoleBinding = self.typed(at, path, &kind, object)?;
                self.policy
                    .upsert_role_binding(binding)
                    .map_err(|error| at.fault(error))?;
            }
            (groups::CLUSTER, "v1", "ManagedCluster") => {
                let cluster: ManagedCluster = self.typed(at, path, &kind, object)?;
                self.clusters.insert(
                    cluster.metadata.name.unwrap_or_default(),
                    cluster.spec.hub_accepts_client,
                );
            }
            (groups::CLUSTER, "v1beta2", "ManagedClusterSet") => {
                let set: ManagedClusterSet = self.typed(at, path, &kind, object)?;
                self.sets.insert(set.metadata.name.unwrap_or_default());
            }
            (groups::CLUSTER, "v1beta2", "ManagedClusterSetBinding") => {
                let binding: ManagedClusterSetBinding = self.typed(at, path, &kind, object)?;
                let Some(namespace) = binding.metadata.namespace else {
                    return Err(at.fault(format!(
                        "{path}metadata.namespace: a ManagedClusterSetBinding needs one"
                    )));
                };
                self.bindings
                    .entry(namespace)
                    .or_default()
                    .insert(binding.metadata.name.unwrap_or_default());
            }
            (
                "" | groups::RBAC | groups::CLUSTER,
                _,
                "Namespace"
                | "ClusterRole"
                | "Role"
                | "ClusterRoleBinding"
                | "RoleBinding"
                | "ManagedCluster"
                | "ManagedClusterSet"
                | "ManagedClusterSetBinding",
            ) => {
                return Err(at.fault(format!(
                    "{path}apiVersion: {api_version:?} is not known for the kind {kind}"
                )));
            }
            _ => *self.passed_over.entry(kind).or_default() += 1,
        }
        Ok(())
    }

    /// Decodes an object, and records its source.
    fn typed<T: DeserializeOwned>(
        &mut self,
        at: &Source,
        path: &str,
        kind: &str,
        object: Value,
    ) -> Result<T, FilesError> {
        let metadata = |field: &str| {
            object
                .pointer(&format!("/metadata/{field}"))
                .and_then(Value::as_str)
        };
        let name = metadata("name").unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(at.fault(format!(
                "{path}metadata.name: a {kind} needs one, as a string"
            )));
        }
        let namespace = metadata("namespace")
            .map(|namespace| format!("{namespace}/"))
            .unwrap_or_default();
        let identity = format!("{kind} {namespace}{name}");
        if let Some(first) = self.sources.insert(identity.clone(), at.clone()) {
            return Err(at.fault(format!(
                "{identity} was read before, in {first}: keep one of them"
            )));
        }
        let text = object.to_string();
        serde_json::from_str(&text).map_err(|error| {
            let problem = explain_field(text.as_bytes(), &error);
            at.fault(format!("{path}{problem} ({identity})"))
        })
    }
}

/// Removes `null` values, which count as absent on a hub, too: `spec:` without a value is an empty `spec`.
pub fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Sets the type of an item from its typed list, if the item has no type.
fn inherit(item: &mut Value, api_version: &str, list_kind: &str) {
    let kind = list_kind.trim_end_matches("List");
    if let Value::Object(item) = item
        && !kind.is_empty()
    {
        item.entry("apiVersion")
            .or_insert_with(|| api_version.into());
        item.entry("kind").or_insert_with(|| kind.into());
    }
}

/// Reads the objects of files and of the files of folders, and the items of lists, each with its document. No kind is left out, and
/// `null` values are kept.
///
/// # Errors
/// The first error; see [`FilesError`].
pub fn objects<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<(Source, Value)>, FilesError> {
    let mut objects = Vec::new();
    for path in paths {
        objects.extend(objects_of(files(path.as_ref())?)?);
    }
    Ok(objects)
}

/// As [`objects`], of a file, or of a folder with all folders in it, sorted by path. A link to a folder is not followed.
///
/// # Errors
/// The first error; see [`FilesError`].
pub fn objects_under(path: &Path) -> Result<Vec<(Source, Value)>, FilesError> {
    let mut folders = vec![path.to_owned()];
    let mut all = Vec::new();
    if !path.is_dir() {
        return objects_of(files(path)?);
    }
    while let Some(folder) = folders.pop() {
        let (found, within) = entries(&folder)?;
        all.extend(found);
        folders.extend(within);
    }
    objects_of(sorted(all, path)?)
}

fn objects_of(files: Vec<PathBuf>) -> Result<Vec<(Source, Value)>, FilesError> {
    let mut objects = Vec::new();
    for file in files {
        let text = text(&file).map_err(|source| unreadable(&file, source))?;
        objects.extend(objects_in(&file.display().to_string(), &text)?);
    }
    Ok(objects)
}

/// Reads the objects of one file; see [`objects`].
///
/// # Errors
/// The text is not YAML.
pub fn objects_in(file: &str, text: &str) -> Result<Vec<(Source, Value)>, FilesError> {
    let at = |document| Source {
        file: file.to_owned(),
        document,
    };
    let documents = documents(text).map_err(|error| at(error.document).fault(error))?;
    let mut objects = Vec::new();
    for (i, mut object) in documents.into_iter().enumerate() {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        match object.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) if kind.ends_with("List") => {
                for mut item in items {
                    inherit(&mut item, &api_version, &kind);
                    objects.push((at(i + 1), item));
                }
            }
            Some(items) => {
                object["items"] = items;
                objects.push((at(i + 1), object));
            }
            None if object.is_null() => {}
            None => objects.push((at(i + 1), object)),
        }
    }
    Ok(objects)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let unreadable = |source| unreadable(path, source);
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    sorted(entries(path)?.0, path)
}

/// The files of a folder whose names end as those of objects, and its folders.
fn entries(folder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), FilesError> {
    let unreadable = |source| unreadable(folder, source);
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if entry.file_type().map_err(unreadable)?.is_dir() {
            folders.push(path);
        } else if matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file() {
            files.push(path);
        }
    }
    Ok((files, folders))
}

fn sorted(mut files: Vec<PathBuf>, of: &Path) -> Result<Vec<PathBuf>, FilesError> {
    if files.is_empty() {
        return Err(FilesError::Empty(of.display().to_string()));
    }
    files.sort();
    Ok(files)
}

fn text(path: &Path) -> Result<String, std::io::Error> {
    let size = fs::metadata(path)?.len();
    if size > LARGEST_FILE {
        let kind = std::io::ErrorKind::FileTooLarge;
        return Err(std::io::Error::new(
            kind,
            format!("{size} bytes, more than {LARGEST_FILE}"),
        ));
    }
    fs::read_to_string(path)
}

fn unreadable(path: &Path, source: std::io::Error) -> FilesError {
    FilesError::Unreadable {
        path: path.display().to_string(),
        source,
    }
}

// === impl Source ===

impl Source {
    fn fault(&self, problem: impl fmt::Display) -> FilesError {
        FilesError::Document {
            at: self.clone(),
            problem: problem.to_string(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, document {}", self.file, self.document)
    }
}
