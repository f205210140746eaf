//! An object as it comes over the wire: what every object has, and its text, of which each controller makes facts of its own.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::trim::{Keep, trim};

/// What every object has, as far as it is read here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Metadata")]
pub struct Meta {
    /// metadata.name
    pub name: String,
    /// metadata.namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
}

/// An object of a list, a watch or a response, while it is read.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// What every object has.
    pub meta: Meta,
    /// The whole object, as JSON.
    pub json: &'a [u8],
}

/// An object that a call was answered with.
#[derive(Clone, Debug)]
pub struct RawObject {
    /// What every object has.
    pub meta: Meta,
    /// The whole object, as JSON.
    pub json: Bytes,
}

/// As it is stored. Any of it but the name may be missing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    metadata: Meta,
}

// === impl Meta ===

impl Meta {
    /// The resourceVersion as a number, to compare by: those of one kind grow. None, if it is not a number.
    pub fn version(&self) -> Option<u64> {
        self.resource_version.parse().ok()
    }
}

impl From<Metadata> for Meta {
    fn from(metadata: Metadata) -> Self {
        Self {
            name: metadata.name,
            namespace: metadata.namespace.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
        }
    }
}

// === impl Item ===

impl<'a> Item<'a> {
    /// Reads what every object has; the rest is skipped.
    ///
    /// # Errors
    /// It is not an object with a name.
    pub fn read(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        let Head { metadata: meta } = serde_json::from_slice(json)?;
        Ok(Self { meta, json })
    }

    /// Reads it as a `T`.
    ///
    /// # Errors
    /// It is not a `T`.
    pub fn parse<T: Deserialize<'a>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.json)
    }

    /// Reads the parts that are kept; the rest is skipped as it is read.
    ///
    /// # Errors
    /// It is not JSON, or is nested more than 128 deep where it is kept.
    pub fn trimmed(&self, keep: &Keep<'_>) -> Result<Value, serde_json::Error> {
        trim(self.json, keep)
    }
}

// === impl RawObject ===

impl RawObject {
    /// Reads what every object has.
    ///
    /// # Errors
    /// It is not an object with a name.
    pub fn read(json: Bytes) -> Result<Self, serde_json::Error> {
        let Item { meta, .. } = Item::read(&json)?;
        Ok(Self { meta, json })
    }

    /// The same, while it is read.
    pub fn item(&self) -> Item<'_> {
        Item {
            meta: self.meta.clone(),
            json: &self.json,
        }
    }

    /// Reads it as a `T`.
    ///
    /// # Errors
    /// It is not a `T`.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.json)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn of_an_object_its_name_is_needed_and_nothing_else() {
        for (json, expected) in [
            (
                r#"{"metadata": {"name": "a", "resourceVersion": "7", "labels": 7}}"#,
                Ok(("a", "", Some(7))),
            ),
            (
                r#"{"metadata": {"name": "a", "namespace": null, "uid": "u"}, "spec": []}"#,
                Ok(("a", "", None)),
            ),
            (
                r#"{"metadata": {"name": "a", "namespace": "b", "resourceVersion": "x"}}"#,
                Ok(("a", "b", None)),
            ),
            (r#"{"metadata": {}}"#, Err("missing field `name`")),
            (r#"{"metadata": 7}"#, Err("invalid type: integer")),
            ("{}", Err("missing field `metadata`")),
            ("[", Err("EOF")),
        ] {
            match (Item::read(json.as_bytes()), expected) {
                (Ok(Item { meta, .. }), Ok(expected)) => {
                    assert_eq!(
                        (&*meta.name, &*meta.namespace, meta.version()),
                        expected,
                        "{json}"
                    );
                }
                (Err(error), Err(why)) => {
                    assert!(error.to_string().contains(why), "{json}: {error}")
                }
                (read, _) => panic!("{json}: {read:?}"),
            }
        }
    }
}
