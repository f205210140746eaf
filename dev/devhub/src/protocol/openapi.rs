//! OpenAPI, which `kubectl explain` shows, and `kubectl apply` reads before it sends a patch.
//!
//! kubectl reads version 3, with one document for each group version, since 1.27. Of version 2 devhub serves an empty document:
//! kubectl requests it, as protobuf, before it sends a file with a `kind: List`, and leaves the check to the server if the
//! document has no types.
//!
//! A document is made at the first request for one, and kept until the resources of its group version change.

mod components;
mod paths;
mod serve;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use ring::digest;
use serde_json::{Value, json};

use crate::resources::Resource;

pub(crate) use serve::Documents;

/// The documents for what is served at one time.
#[derive(Debug)]
pub(crate) struct OpenApi {
    /// By path, such as `apis/rbac.authorization.k8s.io/v1`.
    documents: BTreeMap<String, Arc<Document>>,
    index: OnceLock<Bytes>,
}

/// A document, made once.
#[derive(Debug)]
pub(crate) struct Document {
    resources: Vec<Arc<Resource>>,
    made: OnceLock<Made>,
}

/// A document as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// JSON.
    pub(crate) body: Bytes,
    /// What the index calls this state of it; also its `ETag`, in quotes.
    pub(crate) hash: String,
}

impl OpenApi {
    /// Documents for resources. Those of `before` that are still right are taken over.
    pub(crate) fn of(resources: &[Arc<Resource>], before: Option<&Self>) -> Self {
        let mut groups: BTreeMap<String, Vec<Arc<Resource>>> = BTreeMap::new();
        for resource in resources {
            let path = paths::of_version(resource)
                .trim_start_matches('/')
                .to_owned();
            groups.entry(path).or_default().push(Arc::clone(resource));
        }
        let documents = groups.into_iter().map(|(path, resources)| {
            let old = before.and_then(|before| before.documents.get(&path));
            let document = match old {
                Some(old) if same(&old.resources, &resources) => Arc::clone(old),
                _ => Arc::new(Document {
                    resources,
                    made: OnceLock::new(),
                }),
            };
            (path, document)
        });
        Self {
            documents: documents.collect(),
            index: OnceLock::new(),
        }
    }

    /// `/openapi/v3`: where the documents are.
    pub(crate) fn index(&self) -> Bytes {
        let make = || {
            let paths = self.documents.iter().map(|(path, document)| {
                let hash = &document.made().hash;
                let url = format!("/openapi/v3/{path}?hash={hash}");
                (path.clone(), json!({"serverRelativeURL": url}))
            });
            let paths: serde_json::Map<_, _> = paths.collect();
            json!({"paths": paths}).to_string().into()
        };
        self.index.get_or_init(make).clone()
    }

    /// The document below `/openapi/v3/`: `api/v1`, `apis/GROUP/VERSION`. One asked for with another hash than its own has
    /// moved to the URL with that.
    pub(crate) fn document(&self, path: &str) -> Option<&Made> {
        self.documents.get(path).map(|document| document.made())
    }
}

fn same(one: &[Arc<Resource>], other: &[Arc<Resource>]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| Arc::ptr_eq(one, other))
}

impl Document {
    fn made(&self) -> &Made {
        self.made.get_or_init(|| {
            let mut document = describe(&self.resources);
            document["openapi"] = "3.0.0".into();
            let body = Bytes::from(document.to_string());
            let digest = digest::digest(&digest::SHA256, &body);
            let hash = digest.as_ref().iter().map(|byte| format!("{byte:02X}"));
            Made {
                hash: hash.collect(),
                body,
            }
        })
    }
}

fn describe(resources: &[Arc<Resource>]) -> Value {
    let mut components = components::Components::new();
    let mut paths = serde_json::Map::new();
    for resource in resources {
        components.add(resource);
        paths.extend(paths::of(resource));
    }
    json!({
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {"schemas": components.finish()},
    })
}

#[cfg(test)]
mod tests;
