//! Objects as they are received: their metadata, and their JSON, of which each controller makes its own facts.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::Error;
use serde_json::Value;

use crate::trim::{Keep, trim};

/// The metadata of an object that a controller needs.
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
    /// Its metadata.
    pub meta: Meta,
    /// The whole object, as JSON.
    pub json: &'a str,
}

/// An object from the response to a call.
#[derive(Clone, Debug)]
pub struct RawObject {
    /// Its metadata.
    pub meta: Meta,
    /// The whole object, as JSON.
    json: String,
}

/// The stored metadata. Only the name is required.
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
    /// The resourceVersion as a number. Those of one kind grow. None if it is not a number.
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
    /// Reads the metadata, and skips the rest.
    ///
    /// # Errors
    /// The JSON is not an object with a name, or not UTF-8.
    pub fn read(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        // The whole text at once: to check each string when it is read takes longer.
        Self::of(str::from_utf8(json).map_err(Error::custom)?)
    }

    fn of(json: &'a str) -> Result<Self, serde_json::Error> {
        let Head { metadata: meta } = serde_json::from_str(json)?;
        Ok(Self { meta, json })
    }

    /// Reads the object as a `T`.
    ///
    /// # Errors
    /// The object is not a `T`.
    pub fn parse<T: Deserialize<'a>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.json)
    }

    /// Reads the parts that are kept, and skips the rest while reading.
    ///
    /// # Errors
    /// The object is not JSON, or a kept part is nested more than 128 deep.
    pub fn trimmed(&self, keep: &Keep<'_>) -> Result<Value, serde_json::Error> {
        trim(self.json, keep)
    }
}

// === impl RawObject ===

impl RawObject {
    /// Reads the metadata.
    ///
    /// # Errors
    /// The JSON is not an object with a name, or not UTF-8.
    pub fn read(json: Bytes) -> Result<Self, serde_json::Error> {
        let json = String::from_utf8(json.into()).map_err(Error::custom)?;
        let Item { meta, .. } = Item::of(&json)?;
        Ok(Self { meta, json })
    }

    /// Keeps an object that was parsed before, so that its metadata is not parsed once more.
    ///
    /// # Assumptions
    /// `object` is what `json` says.
    ///
    /// # Errors
    /// The object has no name, or the JSON is not UTF-8.
    pub fn parsed(object: &Value, json: Bytes) -> Result<Self, serde_json::Error> {
        let meta = Meta::deserialize(&object["metadata"])?;
        let json = String::from_utf8(json.into()).map_err(Error::custom)?;
        Ok(Self { meta, json })
    }

    /// The object as an item, to be read.
    pub fn item(&self) -> Item<'_> {
        Item {
            meta: self.meta.clone(),
            json: &self.json,
        }
    }

    /// Reads the object as a `T`.
    ///
    /// # Errors
    /// The object is not a `T`.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.json)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_object_that_was_parsed_before_has_the_metadata_that_is_read() {
        for (json, is_object) in [
            (
                r#"{"metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "labels": {"a": "\u00e4"}}}"#,
                true,
            ),
            (
                r#"{"spec": [1], "metadata": {"name": "a", "namespace": null}}"#,
                true,
            ),
            (r#"{"metadata": {"name": 7}}"#, false),
            (r#"{"metadata": {"uid": "u"}}"#, false),
            ("{}", false),
            ("7", false),
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            let parsed = RawObject::parsed(&value, Bytes::from(json)).ok();
            let read = RawObject::read(Bytes::from(json)).ok();
            assert_eq!(parsed.is_some(), is_object, "{json}");
            let parts = |it: RawObject| (it.meta, it.json);
            assert_eq!(parsed.map(parts), read.map(parts), "{json}");
        }
    }

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
