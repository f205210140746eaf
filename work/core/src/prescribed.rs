//! A manifest as an object that can be applied.

#[cfg(test)]
mod tests;

use berth_api::names::{is_dns1123_label, is_dns1123_subdomain};
use berth_api::work::Manifest;
use serde_json::{Map, Value};

/// The object of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Prescribed {
    /// The position in spec.workload.manifests, from 0.
    pub ordinal: usize,
    /// apiVersion
    pub api_version: String,
    /// kind
    pub kind: String,
    /// metadata.namespace; empty if the manifest has none.
    pub namespace: String,
    /// metadata.name
    pub name: String,
    /// The object as the manifest has it, without metadata.uid and without a metadata.creationTimestamp of null.
    pub(crate) object: Value,
}

/// An object together with its resource, which discovery on the cluster knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped {
    /// The object.
    pub prescribed: Prescribed,
    /// The plural name of the kind, such as `deployments`.
    pub resource: String,
    /// The namespace of the requests. Empty for a cluster-scoped kind, even if the manifest has a namespace.
    pub namespace: String,
}

/// Why a manifest cannot be applied, whatever the cluster says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The text is not JSON, or nested too deeply.
    #[error("the manifest cannot be read: {0}")]
    Unreadable(String),
    /// Not a JSON object.
    #[error("the manifest is not an object")]
    NotAnObject,
    /// A required field is missing, empty or not a string.
    #[error("the manifest has no {0}: set it to a string")]
    Missing(&'static str),
    /// The version of apiVersion would be another path of the API server, or a query.
    #[error(
        "the version {version:?} of apiVersion {api_version:?} is not a DNS label: lower-case letters, digits and -"
    )]
    Version {
        /// apiVersion
        api_version: String,
        /// What follows the first slash, or all.
        version: String,
    },
    /// The group of apiVersion would be another path of the API server, or a query.
    #[error(
        "the group {group:?} of apiVersion {api_version:?} is not a DNS subdomain: lower-case letters, digits, - and ."
    )]
    Group {
        /// apiVersion
        api_version: String,
        /// What precedes the first slash.
        group: String,
    },
    /// metadata.name or metadata.namespace would be another path of the API server.
    #[error(
        "{0} {1:?} cannot be used in a path: it must not be \".\" or \"..\", and must not contain / or %"
    )]
    Name(&'static str, String),
    /// The manifest has a generated name.
    #[error(
        "the manifest of kind {0} has metadata.generateName: set metadata.name, because each pass would create another object"
    )]
    GeneratedName(String),
    /// The manifest is a list of objects.
    #[error("the manifest is a {0}: give each of its items as a manifest of its own")]
    List(String),
    /// The kind is namespaced and the manifest has no namespace.
    #[error("{kind} {name:?} is namespaced and the manifest has no metadata.namespace: set it")]
    NoNamespace {
        /// The kind.
        kind: String,
        /// The name.
        name: String,
    },
    /// The update strategy is invalid.
    #[error("{0}")]
    Strategy(String),
    /// A field to ignore is invalid.
    #[error("{0}")]
    IgnoreFields(String),
    /// Keys of a Secret contradict each other.
    #[error("Secret.stringData[{0:?}] conflicts with Secret.data[{0:?}]")]
    SecretKey(String),
}

/// Reads a manifest.
///
/// # Errors
/// The manifest does not name an object; see [`Unusable`].
pub fn prescribed(ordinal: usize, manifest: &Manifest) -> Result<Prescribed, Unusable> {
    let object: Value = manifest
        .read()
        .map_err(|error| Unusable::Unreadable(error.to_string()))?;
    let Value::Object(mut object) = object else {
        return Err(Unusable::NotAnObject);
    };
    let api_version = text(&object, "apiVersion").ok_or(Unusable::Missing("apiVersion"))?;
    let api_version = of_dns_words(api_version)?;
    let kind = text(&object, "kind").ok_or(Unusable::Missing("kind"))?;
    if kind == "List" || kind.ends_with("List") && object.get("items").is_some_and(Value::is_array)
    {
        return Err(Unusable::List(kind));
    }
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return Err(Unusable::Missing("metadata.name"));
    };
    let Some(name) = text(metadata, "name") else {
        return Err(match text(metadata, "generateName") {
            Some(_) => Unusable::GeneratedName(kind),
            None => Unusable::Missing("metadata.name"),
        });
    };
    let namespace = text(metadata, "namespace").unwrap_or_default();
    for (field, text) in [("metadata.name", &name), ("metadata.namespace", &namespace)] {
        if !is_path_segment(text) {
            return Err(Unusable::Name(field, text.clone()));
        }
    }
    metadata.remove("uid");
    let mut object = Value::Object(object);
    drop_null_times(&mut object);
    Ok(Prescribed {
        ordinal,
        api_version,
        kind,
        namespace,
        name,
        object,
    })
}

/// Returns the apiVersion if its group and version are words of DNS, as those of each served kind are. Others would change the path
/// of a request: of `v1?x=`, all that follows is the query.
fn of_dns_words(api_version: String) -> Result<String, Unusable> {
    let (group, version) = match api_version.split_once('/') {
        Some((group, version)) => (Some(group), version),
        None => (None, &*api_version),
    };
    if let Some(group) = group.filter(|it| !is_dns1123_subdomain(it)) {
        let group = group.to_owned();
        return Err(Unusable::Group { api_version, group });
    }
    if !is_dns1123_label(version) {
        let version = version.to_owned();
        return Err(Unusable::Version {
            api_version,
            version,
        });
    }
    Ok(api_version)
}

/// Is a name one segment of a path? As Kubernetes' `IsValidPathSegmentName`: other names would reach subresources or other namespaces.
fn is_path_segment(name: &str) -> bool {
    name != "." && name != ".." && !name.contains(['/', '%'])
}

/// A field that is a string and not empty.
fn text(object: &Map<String, Value>, field: &str) -> Option<String> {
    let text = object.get(field)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// Removes each creationTimestamp of null, which Go programs write into pod templates.
fn drop_null_times(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.get("creationTimestamp").is_some_and(Value::is_null) {
                object.remove("creationTimestamp");
            }
            object.values_mut().for_each(drop_null_times);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_null_times),
        _ => {}
    }
}

// === impl Prescribed ===

impl Prescribed {
    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// The version within the group.
    pub fn version(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or(&self.api_version, |(_, version)| version)
    }

    /// Adds what discovery says about the kind.
    ///
    /// A namespace in the manifest of a cluster-scoped kind is ignored.
    ///
    /// # Errors
    /// The kind is namespaced, and the manifest has no namespace.
    pub fn mapped(mut self, resource: &str, namespaced: bool) -> Result<Mapped, Unusable> {
        if namespaced && self.namespace.is_empty() {
            return Err(Unusable::NoNamespace {
                kind: self.kind,
                name: self.name,
            });
        }
        if !namespaced && let Some(metadata) = self.object.get_mut("metadata") {
            metadata.as_object_mut().map(|it| it.remove("namespace"));
        }
        let namespace = if namespaced {
            self.namespace.clone()
        } else {
            String::new()
        };
        Ok(Mapped {
            prescribed: self,
            resource: resource.to_owned(),
            namespace,
        })
    }
}

// === impl Mapped ===

impl Mapped {
    /// The object to send: without the fields that only the API server writes.
    pub(crate) fn body(&self) -> Value {
        let mut body = self.prescribed.object.clone();
        if let Value::Object(object) = &mut body {
            object.remove("status");
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                for field in SERVER_METADATA {
                    metadata.remove(field);
                }
                metadata.retain(|_, value| !value.is_null());
            }
        }
        body
    }
}

/// Fields of metadata that the API server writes, besides the UID.
const SERVER_METADATA: [&str; 7] = [
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];

// === impl Unusable ===

impl Unusable {
    /// Reason and message of the manifest's condition Applied.
    pub fn condition(&self) -> (&'static str, String) {
        use berth_api::conditions::manifest::{APPLIED_FAILED, IGNORE_FIELD_ERROR};
        match self {
            Self::IgnoreFields(_) => (
                IGNORE_FIELD_ERROR,
                format!("Failed to process ignoreFields: {self}"),
            ),
            _ => (APPLIED_FAILED, format!("Failed to apply manifest: {self}")),
        }
    }
}
