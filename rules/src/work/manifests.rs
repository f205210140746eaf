//! Manifests: each an object with `apiVersion`, `kind` and `metadata.name`, and none twice. Only these fields are decoded.

use std::collections::HashSet;

use super::WorkKind;
use crate::Reason;
use crate::introduced::Finding;
use crate::object::{FromObject, Manifests, Text};
use crate::sentences::works::{GENERATED_NAME, NO_NAME, duplicate_manifest};

/// The fields of a manifest that say which object it is.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    api_version: Option<Text<'a>>,
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    metadata: Option<FromObject<Names<'a>>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
struct Names<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
    #[serde(borrow)]
    generate_name: Option<Text<'a>>,
}

// === impl Head ===

impl<'a> Head<'a> {
    /// Reads the head of a manifest.
    ///
    /// # Errors
    /// It is not an object, or one of these fields is not a string.
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<FromObject<Self>>(text).map(|FromObject(head)| head)
    }

    pub(super) fn api_version(&self) -> &str {
        or_empty(self.api_version.as_ref())
    }

    /// The API group; empty for the core group.
    pub(super) fn group(&self) -> &str {
        self.api_version()
            .rsplit_once('/')
            .map_or("", |(group, _)| group)
    }

    pub(super) fn kind(&self) -> &str {
        or_empty(self.kind.as_ref())
    }

    pub(super) fn name(&self) -> &str {
        or_empty(self.names().and_then(|it| it.name.as_ref()))
    }

    pub(super) fn namespace(&self) -> &str {
        or_empty(self.names().and_then(|it| it.namespace.as_ref()))
    }

    fn generate_name(&self) -> &str {
        or_empty(self.names().and_then(|it| it.generate_name.as_ref()))
    }

    /// Two manifests with the same four fields are the same object.
    fn identity(&self) -> [Text<'a>; 4] {
        let names = self.names();
        [
            self.api_version.clone(),
            self.kind.clone(),
            names.and_then(|it| it.namespace.clone()),
            names.and_then(|it| it.name.clone()),
        ]
        .map(Option::unwrap_or_default)
    }

    fn names(&self) -> Option<&Names<'a>> {
        self.metadata.as_ref().map(|FromObject(names)| names)
    }
}

fn or_empty<'t>(text: Option<&'t Text<'_>>) -> &'t str {
    text.map_or("", Text::as_str)
}

/// Returns the faults of manifests.
pub(super) fn faults(kind: WorkKind<'_>, manifests: &Manifests<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut heads = HashSet::with_capacity(manifests.texts().len());
    for (index, text) in manifests.texts().iter().enumerate() {
        let head = match Head::read(text) {
            Ok(head) => head,
            Err(error) => {
                found.push(unreadable(index, &error));
                continue;
            }
        };
        let before = found.len();
        let path = |field: &str| kind.path(format_args!("workload.manifests[{index}]{field}"));
        for (field, value) in [(".apiVersion", head.api_version()), (".kind", head.kind())] {
            if value.is_empty() {
                let finding = Finding::new(Reason::Manifest, path(field), "Required value");
                found.push(finding);
            }
        }
        if head.name().is_empty() {
            found.push(Finding::sentence(Reason::Manifest, NO_NAME, &path("")));
        }
        if !head.generate_name().is_empty() {
            let finding = Finding::sentence(Reason::Manifest, GENERATED_NAME, &path(""));
            found.push(finding);
        }
        if found.len() > before {
            continue;
        }
        let identity = head.identity();
        if heads.contains(&identity) {
            let [api_version, kind, namespace, name] = identity.each_ref().map(Text::as_str);
            let sentence = duplicate_manifest(api_version, kind, namespace, name);
            let finding = Finding::whole(Reason::DuplicateManifest, &sentence, &sentence);
            found.push(finding);
        } else {
            heads.insert(identity);
        }
    }
    found
}

/// OCM's sentence. The error does not quote the manifest, which may be a Secret.
fn unreadable(index: usize, error: &serde_json::Error) -> Finding {
    let error = error.to_string();
    let (error, _) = error.rsplit_once(" at line ").unwrap_or((&error, ""));
    let sentence = "failed to extract metadata from manifest";
    Finding::whole(
        Reason::Manifest,
        &format!("{sentence} at index {index}: {error}"),
        &format!("{sentence}: {error}"),
    )
}
