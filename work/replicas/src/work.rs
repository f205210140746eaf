//! A ManifestWork of a replica set, as far as it decides.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::conditions::{TRUE, manifest_work};
use berth_api::labels;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::names::set_of_label;
use crate::template::{Digest, Template};

/// Upper bound on the bytes of memory of the labels of a ManifestWork. Replica sets give theirs to their ManifestWorks: a few.
const LABELS: usize = 32 * 1024;

/// The field manager of the controller of replica sets.
pub const MANAGER: &str = "berth-work";

/// A ManifestWork of a replica set. It has no manifests: a thousand of them have the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// metadata.namespace: the cluster.
    pub cluster: String,
    /// metadata.name
    pub name: String,
    /// metadata.uid
    pub uid: String,
    /// It is being deleted.
    pub is_deleting: bool,
    /// metadata.creationTimestamp, which nobody but the API server sets.
    pub(super) created_at: Option<Timestamp>,
    /// metadata.deletionTimestamp
    pub(super) deleted_at: Option<Timestamp>,
    /// metadata.generation
    pub generation: Option<i64>,
    /// metadata.labels
    pub labels: BTreeMap<String, String>,
    /// Identifies its spec.
    pub digest: Digest,
    /// The template that its spec was written from, if the API server stores the template otherwise in a ManifestWork than in a replica
    /// set; the CRDs may be of different versions. Known for as long as the process runs.
    pub written_from: Option<Digest>,
    /// The labels that the controller of replica sets wrote.
    pub(super) written_labels: BTreeSet<String>,
    /// When the controller of replica sets last wrote it.
    pub(super) written_at: Option<Timestamp>,
    pub(super) applied: Option<Seen>,
    pub(super) available: Option<Seen>,
    pub(super) progressing: Option<Seen>,
    pub(super) degraded: Option<Seen>,
}

/// A condition of a ManifestWork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) status: Box<str>,
    /// When the status last changed.
    pub(super) since: Option<Timestamp>,
    /// The generation that it was observed at.
    pub(super) generation: Option<i64>,
}

#[derive(Deserialize)]
struct Parts<'a> {
    metadata: Metadata,
    #[serde(default, borrow)]
    spec: Option<&'a RawValue>,
    #[serde(default, borrow)]
    status: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    uid: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Value>,
    deletion_timestamp: Option<Value>,
    labels: Option<BTreeMap<String, String>>,
    managed_fields: Option<Vec<Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Option<Vec<Value>>,
}

// === impl Work ===

impl Work {
    /// Reads it from its JSON text. `None` without the label of a replica set.
    ///
    /// # Errors
    /// The text is not an object with metadata. Invalid fields of its status are ignored.
    pub fn read(json: &str) -> Result<Option<Self>, serde_json::Error> {
        let parts: Parts<'_> = serde_json::from_str(json)?;
        let Metadata {
            name,
            namespace,
            uid,
            generation,
            creation_timestamp,
            deletion_timestamp,
            labels,
            managed_fields,
        } = parts.metadata;
        let labels = labels.unwrap_or_default();
        if !labels.contains_key(labels::REPLICA_SET) {
            return Ok(None);
        }
        let status = parts.status.map(|it| serde_json::from_str(it.get()));
        let status: Option<Status> = status.and_then(Result::ok).flatten();
        let conditions = status.unwrap_or_default().conditions.unwrap_or_default();
        let seen = |type_: &str| {
            let mut all = conditions.iter();
            all.find(|it| it["type"] == type_).and_then(Seen::read)
        };
        let (written_labels, written_at) = writer(&managed_fields.unwrap_or_default());
        let labels = bounded(labels);
        Ok(Some(Self {
            cluster: namespace.unwrap_or_default(),
            name,
            uid: uid.unwrap_or_default(),
            is_deleting: deletion_timestamp.is_some(),
            created_at: (creation_timestamp.as_ref())
                .and_then(Value::as_str)
                .and_then(|it| it.parse().ok()),
            deleted_at: (deletion_timestamp.as_ref())
                .and_then(Value::as_str)
                .and_then(|it| it.parse().ok()),
            generation,
            written_labels: written_labels
                .into_iter()
                .filter(|it| labels.contains_key(it))
                .collect(),
            labels,
            digest: Digest::of_spec(parts.spec),
            written_from: None,
            written_at,
            applied: seen(manifest_work::APPLIED),
            available: seen(manifest_work::AVAILABLE),
            progressing: seen(manifest_work::PROGRESSING),
            degraded: seen(manifest_work::DEGRADED),
        }))
    }

    /// The replica set that its label names, by namespace and name.
    pub fn set(&self) -> Option<(&str, &str)> {
        set_of_label(self.labels.get(labels::REPLICA_SET)?)
    }

    /// The placement that its label names; empty without the label.
    pub fn placement(&self) -> &str {
        let placement = self.labels.get(labels::REPLICA_SET_PLACEMENT);
        placement.map_or("", String::as_str)
    }

    /// Returns whether its spec is that of the template.
    pub(super) fn is_current(&self, template: &Template) -> bool {
        self.digest == template.digest() || self.written_from == Some(template.digest())
    }

    /// A condition that was observed at the current generation. One without a generation counts.
    pub(super) fn now<'a>(&self, condition: Option<&'a Seen>) -> Option<&'a Seen> {
        condition.filter(|it| it.generation.is_none() || it.generation == self.generation)
    }

    /// Returns whether a condition is True, at any generation.
    pub(super) fn is(condition: Option<&Seen>) -> bool {
        condition.is_some_and(Seen::is_true)
    }
}

// === impl Seen ===

impl Seen {
    fn read(condition: &Value) -> Option<Self> {
        let since = condition["lastTransitionTime"].as_str();
        Some(Self {
            status: condition["status"].as_str()?.into(),
            since: since.and_then(|it| it.parse().ok()),
            generation: condition["observedGeneration"]
                .as_i64()
                .filter(|it| *it != 0),
        })
    }

    pub(super) fn is_true(&self) -> bool {
        &*self.status == TRUE
    }
}

/// Leaves labels out beyond the bound. The cluster's agent may write them, and a replica set may have thousands of ManifestWorks.
fn bounded(mut labels: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_ours = |key: &str| [labels::REPLICA_SET, labels::REPLICA_SET_PLACEMENT].contains(&key);
    let mut bytes = 0;
    labels.retain(|key, value| {
        bytes += size_of::<(String, String)>() + key.len() + value.len();
        bytes <= LABELS || is_ours(key)
    });
    labels
}

/// The labels that the controllers of replica sets wrote, and when they last wrote: this one, and the one that wrote the label of replica
/// sets, which may be OCM's.
fn writer(managed: &[Value]) -> (BTreeSet<String>, Option<Timestamp>) {
    let mark = format!("f:{}", labels::REPLICA_SET);
    let (mut written, mut at) = (BTreeSet::new(), None);
    for entry in managed {
        let labels = &entry["fieldsV1"]["f:metadata"]["f:labels"];
        let labels = labels.as_object();
        if entry["manager"] != MANAGER && !labels.is_some_and(|it| it.contains_key(&mark)) {
            continue;
        }
        let keys = labels.into_iter().flat_map(|it| it.keys());
        let keys = keys.filter_map(|it| it.strip_prefix("f:"));
        written.extend(keys.map(str::to_owned));
        let time = entry["time"].as_str().and_then(|it| it.parse().ok());
        at = at.max(time);
    }
    (written, at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn of_a_work_with_many_labels_few_are_kept_and_those_of_replica_sets() {
        let labels = (0..12_500).map(|it| (format!("label{it}.example.com/a"), json!("x")));
        let mut labels: Map<_, _> = labels.collect();
        labels.insert(labels::REPLICA_SET.to_owned(), json!("n.s"));
        labels.insert(labels::REPLICA_SET_PLACEMENT.to_owned(), json!("p"));
        let fields = labels.keys().map(|key| (format!("f:{key}"), json!({})));
        let fields: Map<_, _> = fields.collect();
        let managed =
            json!([{"manager": MANAGER, "fieldsV1": {"f:metadata": {"f:labels": fields}}}]);
        let work = json!({"metadata": {"name": "w", "namespace": "c", "labels": labels, "managedFields": managed}});
        let work = Work::read(&work.to_string()).unwrap().unwrap();
        assert!(work.labels.len() < 600, "{}", work.labels.len());
        assert!(work.written_labels.len() <= work.labels.len());
        assert_eq!((work.set(), work.placement()), (Some(("n", "s")), "p"));
    }
}
