//! The credentials of the registry: a Secret in the operator's namespace, which is copied to where pods need it. OCM's operators do the same.

use std::fmt;

use berth_manifests::values::SecretName;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::objects::{Id, Kind, Stored};

/// The Secret, in the operator's namespace, and the name of its copies.
pub const PULL_SECRET: &str = "open-cluster-management-image-pull-credentials";

/// The annotation of a copy: of which Secret, in which version. Its content is not read.
const COPY_OF: &str = "operator.berth.open-cluster-management.io/copy-of";

/// The credentials of the registry.
#[derive(Clone, PartialEq, Eq)]
pub struct PullSecret {
    /// Its namespace.
    namespace: String,
    /// The uid and the version of the Secret.
    version: String,
    /// Its type.
    type_: String,
    /// Its data, as JSON.
    data: Box<str>,
}

#[derive(Deserialize)]
struct Object<'a> {
    metadata: Metadata,
    #[serde(rename = "type", default)]
    type_: Option<String>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    namespace: String,
    uid: String,
    resource_version: String,
}

/// The Secrets with which pods pull their image.
pub(crate) fn pulled_with(secret: Option<&PullSecret>) -> Vec<SecretName> {
    let name = secret.map(|_| SecretName {
        name: PULL_SECRET.to_owned(),
    });
    name.into_iter().collect()
}

/// Returns whether this is to be such a copy.
pub(crate) fn is_copy_of(wanted: &Value) -> bool {
    wanted["kind"] == "Secret" && !wanted["metadata"]["annotations"][COPY_OF].is_null()
}

/// Returns whether a Secret is such a copy.
pub(crate) fn is_copy(id: &Id, stored: &Stored) -> bool {
    id.kind == Kind::Secret
        && id.name == PULL_SECRET
        && !stored.object()["metadata"]["annotations"][COPY_OF].is_null()
}

// === impl PullSecret ===

impl PullSecret {
    /// Reads the Secret.
    ///
    /// # Errors
    /// The text is not a stored Secret.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        let Object {
            metadata:
                Metadata {
                    namespace,
                    uid,
                    resource_version,
                },
            type_,
            data,
        } = serde_json::from_str(json)?;
        Ok(Self {
            namespace,
            version: format!("{uid}/{resource_version}"),
            type_: type_.unwrap_or_default(),
            data: data.map_or("{}", RawValue::get).into(),
        })
    }

    /// The uid and the version of the Secret.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its copy in a namespace; `None`: it is there itself.
    pub(crate) fn copy(&self, namespace: &str) -> Option<Value> {
        if namespace == self.namespace {
            return None;
        }
        let data: Value = serde_json::from_str(&self.data).unwrap_or_default();
        Some(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": PULL_SECRET, "namespace": namespace,
                "labels": {"app.kubernetes.io/name": "berth", "app.kubernetes.io/part-of": "open-cluster-management"},
                "annotations": {COPY_OF: self.version},
            },
            "type": self.type_, "data": data,
        }))
    }
}

impl fmt::Debug for PullSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PullSecret({})", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::action;

    fn source(version: &str) -> PullSecret {
        let secret = json!({
            "metadata": {"namespace": "o", "uid": "u", "resourceVersion": version},
            "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "e30="},
        });
        PullSecret::read(&secret.to_string()).unwrap()
    }

    #[test]
    fn a_copy_is_right_until_its_source_changes() {
        let copy = |version: &str| source(version).copy("n").unwrap();
        let mut stored = copy("1");
        assert_eq!(stored["data"][".dockerconfigjson"], "e30=");
        stored["metadata"]["uid"] = json!("v");
        stored["metadata"]["resourceVersion"] = json!("7");
        let stored = Stored::read(&stored.to_string(), "label").unwrap();
        assert_eq!(action(&copy("1"), Some(&stored)), None);
        assert!(action(&copy("2"), Some(&stored)).is_some());
        assert_eq!(source("1").copy("o"), None);
    }

    #[test]
    fn its_content_is_in_no_log() {
        assert_eq!(format!("{:?}", source("1")), "PullSecret(u/1)");
    }
}
