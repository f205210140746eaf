//! An object as it is stored.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::agree::{agrees, has_stale};
use super::managed::{adopted, applied};

/// An object as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.generation`
    pub generation: i64,
    /// Since when it is being deleted, if it is.
    pub deleted_at: Option<Timestamp>,
    /// Its label that names for what an operator wrote it.
    pub created_by: Option<String>,
    /// Of a Deployment: how far it is.
    pub rollout: Rollout,
    /// Of a CustomResourceDefinition: the versions in which objects may be stored.
    pub stored_versions: Vec<String>,
    /// The object, without `managedFields` and status: as text, a tenth of what it takes as values.
    json: Box<str>,
    /// `metadata.managedFields`
    managed: Option<Box<str>>,
}

/// Where a Deployment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rollout {
    /// Its controller has seen the latest generation. Not so of one that is being deleted.
    pub is_observed: bool,
    /// The replicas that it should have.
    pub replicas: i64,
    /// All replicas that exist.
    pub existing: i64,
    /// Those of the latest template.
    pub updated: i64,
    /// The replicas that are available.
    pub available: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    deletion_timestamp: Option<Timestamp>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

// === impl Stored ===

impl Stored {
    /// Reads an object. `label`: the one that names for what an operator wrote it.
    ///
    /// # Errors
    /// The text is not a JSON object with metadata.
    pub fn read(json: &str, label: &str) -> Result<Self, serde_json::Error> {
        let Head { metadata } = serde_json::from_str(json)?;
        let mut object: Map<String, Value> = serde_json::from_str(json)?;
        let status = object.remove("status").unwrap_or_default();
        // Of a Secret: the work of others.
        for content in ["data", "stringData"] {
            object.remove(content);
        }
        let number = |value: &Value| value.as_i64().unwrap_or_default();
        let generation = metadata.generation.unwrap_or_default();
        let replicas = object.get("spec").map(|it| &it["replicas"]);
        let rollout = Rollout {
            is_observed: number(&status["observedGeneration"]) == generation
                && metadata.deletion_timestamp.is_none(),
            replicas: replicas.and_then(Value::as_i64).unwrap_or(1),
            existing: number(&status["replicas"]),
            updated: number(&status["updatedReplicas"]),
            available: number(&status["availableReplicas"]),
        };
        let stored_versions = status["storedVersions"].as_array().into_iter().flatten();
        let stored_versions = stored_versions.filter_map(|it| it.as_str().map(str::to_owned));
        let stored_versions = stored_versions.collect();
        let mut created_by = None;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            let label = metadata.get("labels").and_then(|it| it.get(label));
            created_by = label.and_then(Value::as_str).map(str::to_owned);
        }
        Ok(Self {
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            generation,
            deleted_at: metadata.deletion_timestamp,
            created_by,
            rollout,
            stored_versions,
            json: Value::Object(object).to_string().into(),
            managed: metadata.managed_fields.map(|it| it.get().into()),
        })
    }

    /// Returns whether it is being deleted.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.deleted_at.is_some()
    }

    /// The object.
    #[must_use]
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// Returns whether it is as it should be.
    pub(super) fn is_as(&self, wanted: &Value) -> bool {
        let object = self.object();
        let managed = self.managed();
        let stale = applied(&managed).is_some_and(|fields| has_stale(fields, wanted));
        // An object of a list has neither its version nor its kind, and the content of a Secret is not read.
        let unread = |field: &str| matches!(field, "apiVersion" | "kind" | "data");
        let is_secret = wanted["kind"] == "Secret";
        let wanted = wanted.as_object().into_iter().flatten();
        let mut wanted =
            wanted.filter(|(field, _)| !unread(field) || **field == "data" && !is_secret);
        !stale && wanted.all(|(field, value)| agrees(value, object.get(field)))
    }

    /// Returns whether an operator has applied it.
    pub(crate) fn is_applied(&self) -> bool {
        applied(&self.managed()).is_some()
    }

    /// Its `managedFields` once the content is this operator's; `None` if it is, or cannot be.
    pub(super) fn adopted(&self, api_version: &str) -> Option<Value> {
        adopted(&self.managed(), api_version)
    }

    fn managed(&self) -> Value {
        let managed = self.managed.as_deref();
        managed
            .and_then(|it| serde_json::from_str(it).ok())
            .unwrap_or_default()
    }
}

// === impl Rollout ===

impl Rollout {
    /// Returns whether all replicas are there, of the latest template, and no others: as `kubectl rollout status` decides it.
    #[must_use]
    pub fn is_done(self) -> bool {
        self.is_observed
            && self.updated >= self.replicas
            && self.existing <= self.updated
            && self.available >= self.updated
    }
}
