//! A manifest, as the text that the API server sent.
//!
//! # Why text
//! - The numbers stay as they are written. A `serde_json::Value` rounds large numbers, and writes `1e3` as `1000.0`.
//! - A ManifestWork may hold 500 KB of manifests. 500 KB of Deployments take 0.55 MB as text, and 11 MB as a tree of values. Only the
//!   code that applies a manifest needs the tree.
//! - Copies share the text: 1,000 ManifestWorks from one template hold one text.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// A Kubernetes object to apply, as JSON text.
///
/// Any JSON value is read, so that one malformed manifest does not hide the others. Manifests are read from JSON text or from a
/// [`serde_json::Value`]; not from other formats, and not within serde's `flatten` or `untagged`.
///
/// Two manifests are equal if their texts are equal. The API server writes equal objects as equal texts.
#[derive(Clone)]
pub struct Manifest(Arc<RawValue>);

// === impl Manifest ===

impl Manifest {
    /// Writes an object as a manifest.
    ///
    /// # Errors
    /// The object is not JSON: a map of it has keys that are not strings, or its `Serialize` fails.
    pub fn new(object: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(to_raw_value(object)?.into()))
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Reads the object, or part of it, as a type.
    ///
    /// # Errors
    /// The object does not match the type.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }
}

impl PartialEq for Manifest {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.text() == other.text()
    }
}

impl Eq for Manifest {}

/// Shows the length only: a manifest may be a Secret.
impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Manifest({} bytes)", self.text().len())
    }
}

impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|text| Self(text.into()))
    }
}

impl JsonSchema for Manifest {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Manifest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A Kubernetes object to apply on the managed cluster.",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
        })
    }
}
