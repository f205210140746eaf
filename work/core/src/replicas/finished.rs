//! ManifestWorks that are deleted some time after they are done.

use berth_api::conditions::manifest_work::COMPLETE;
use berth_api::labels;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

/// A ManifestWork that is done, with `spec.deleteOption.ttlSecondsAfterFinished`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// When it is to be deleted; `None`: at once.
    pub due: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Parts {
    metadata: Metadata,
    #[serde(default)]
    spec: Option<Spec>,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: Option<String>,
    resource_version: Option<String>,
    deletion_timestamp: Option<Value>,
    labels: Option<serde_json::Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    delete_option: Option<DeleteOption>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeleteOption {
    ttl_seconds_after_finished: Option<i64>,
}

#[derive(Deserialize)]
struct Status {
    conditions: Option<Vec<Value>>,
}

// === impl Finished ===

impl Finished {
    /// Reads it from the JSON text of a ManifestWork. `None` if it is to stay: it has no time to live, is not done, belongs to a replica
    /// set, or is being deleted.
    ///
    /// # Errors
    /// The text is not a ManifestWork.
    pub fn read(json: &[u8]) -> Result<Option<Self>, serde_json::Error> {
        let parts: Parts = serde_json::from_slice(json)?;
        let option = parts.spec.and_then(|it| it.delete_option);
        let Some(ttl) = option.and_then(|it| it.ttl_seconds_after_finished) else {
            return Ok(None);
        };
        let metadata = parts.metadata;
        let labels = metadata.labels.unwrap_or_default();
        if metadata.deletion_timestamp.is_some() || labels.contains_key(labels::REPLICA_SET) {
            return Ok(None);
        }
        let conditions = parts
            .status
            .and_then(|it| it.conditions)
            .unwrap_or_default();
        let complete = conditions.iter().find(|it| it["type"] == COMPLETE);
        let Some(complete) = complete.filter(|it| it["status"] == "True") else {
            return Ok(None);
        };
        let due = if ttl <= 0 {
            None
        } else {
            // Without a time it cannot be said when the time is over.
            let since = complete["lastTransitionTime"].as_str();
            let since = since.and_then(|it| it.parse::<Timestamp>().ok());
            let due = since.and_then(|it| it.checked_add(SignedDuration::from_secs(ttl)).ok());
            let Some(due) = due else { return Ok(None) };
            Some(due)
        };
        Ok(Some(Self {
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            due,
        }))
    }

    /// Returns how long it stays; `None` if it is to be deleted now.
    pub fn remaining(&self, now: Timestamp) -> Option<SignedDuration> {
        let remaining = self.due?.duration_since(now);
        remaining.is_positive().then_some(remaining)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_work_is_deleted_some_time_after_it_is_done() {
        let at = "2026-01-01T00:00:00Z";
        let done = json!([{"type": "Complete", "status": "True", "lastTransitionTime": at}]);
        let due = |seconds: i64| {
            Some(Some(
                at.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds),
            ))
        };
        let replica_set = json!({(labels::REPLICA_SET): "a.b"});
        for (sentence, ttl, labels, conditions, expected) in [
            ("done", json!(60), json!({}), done.clone(), due(60)),
            (
                "without a time to live",
                json!(null),
                json!({}),
                done.clone(),
                None,
            ),
            (
                "not done",
                json!(60),
                json!({}),
                json!([{"type": "Complete", "status": "False", "lastTransitionTime": at}]),
                None,
            ),
            (
                "without conditions",
                json!(60),
                json!({}),
                json!(null),
                None,
            ),
            ("zero", json!(0), json!({}), done.clone(), Some(None)),
            ("negative", json!(-1), json!({}), done.clone(), Some(None)),
            (
                "of a replica set",
                json!(0),
                replica_set,
                done.clone(),
                None,
            ),
            (
                "a time that is none",
                json!(60),
                json!({}),
                json!([{"type": "Complete", "status": "True", "lastTransitionTime": "soon"}]),
                None,
            ),
            (
                "a time to live beyond the calendar",
                json!(i64::MAX),
                json!({}),
                done,
                None,
            ),
        ] {
            let object = json!({
                "metadata": {"name": "w", "uid": "u", "resourceVersion": "7", "labels": labels},
                "spec": {"deleteOption": {"ttlSecondsAfterFinished": ttl}},
                "status": {"conditions": conditions},
            });
            let read = Finished::read(object.to_string().as_bytes()).unwrap();
            assert_eq!(read.map(|it| it.due), expected, "{sentence}");
        }
    }

    #[test]
    fn what_remains_is_never_negative() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let finished = |due| Finished {
            uid: String::new(),
            resource_version: String::new(),
            due,
        };
        for (due, expected) in [
            (None, None),
            (Some(now), None),
            (Some(now - SignedDuration::from_secs(1)), None),
            (
                Some(now + SignedDuration::from_secs(1)),
                Some(SignedDuration::from_secs(1)),
            ),
        ] {
            assert_eq!(finished(due).remaining(now), expected, "{due:?}");
        }
    }
}
