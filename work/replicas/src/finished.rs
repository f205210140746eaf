//! ManifestWorks that are deleted some time after they are done.

use berth_api::clocks::believed;
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
    due: Option<Due>,
}

/// When a ManifestWork is to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    /// When it was done, as its agent says.
    done_at: Timestamp,
    /// metadata.creationTimestamp
    created_at: Option<Timestamp>,
    /// How long it stays.
    ttl: SignedDuration,
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
    creation_timestamp: Option<Value>,
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
    pub fn read(json: &str) -> Result<Option<Self>, serde_json::Error> {
        let parts: Parts = serde_json::from_str(json)?;
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
            let Some(done_at) = time(&complete["lastTransitionTime"]) else {
                return Ok(None);
            };
            Some(Due {
                done_at,
                created_at: metadata.creation_timestamp.as_ref().and_then(time),
                ttl: SignedDuration::from_secs(ttl),
            })
        };
        Ok(Some(Self {
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            due,
        }))
    }

    /// Returns how long it stays; `None` if it is to be deleted now.
    pub fn remaining(&self, now: Timestamp) -> Option<SignedDuration> {
        let due = self.due?;
        let since = believed(Some(due.done_at), [due.created_at], now).unwrap_or(now);
        let gone = now.duration_since(since);
        let remaining = due.ttl.checked_sub(gone).unwrap_or(due.ttl);
        remaining.is_positive().then_some(remaining)
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
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
            let done_at = at.parse().unwrap();
            let ttl = SignedDuration::from_secs(seconds);
            Some(Some(Due {
                done_at,
                created_at: None,
                ttl,
            }))
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
                due(i64::MAX),
            ),
        ] {
            let object = json!({
                "metadata": {"name": "w", "uid": "u", "resourceVersion": "7", "labels": labels},
                "spec": {"deleteOption": {"ttlSecondsAfterFinished": ttl}},
                "status": {"conditions": conditions},
            });
            let read = Finished::read(&object.to_string()).unwrap();
            assert_eq!(read.map(|it| it.due), expected, "{sentence}");
        }
    }

    #[test]
    fn what_remains_is_never_negative() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let seconds = SignedDuration::from_secs;
        let far = "2090-01-01T00:00:00Z".parse().unwrap();
        let due = |done_at, created_at, ttl| Due {
            done_at,
            created_at,
            ttl: seconds(ttl),
        };
        for (due, expected) in [
            (None, None),
            (Some(due(now - seconds(60), None, 60)), None),
            (Some(due(now - seconds(60), None, 59)), None),
            (Some(due(now - seconds(60), None, 61)), Some(1)),
            (Some(due(now + seconds(9), None, 1)), Some(10)),
            // A time that is not believed.
            (Some(due(far, Some(now - seconds(60)), 61)), Some(1)),
            (Some(due(far, Some(now - seconds(60)), 60)), None),
            (Some(due(far, None, 60)), Some(60)),
            (Some(due(now, None, i64::MAX)), Some(i64::MAX)),
        ] {
            let finished = Finished {
                uid: String::new(),
                resource_version: String::new(),
                due,
            };
            let remaining = finished.remaining(now).map(|it| it.as_secs());
            assert_eq!(remaining, expected, "{due:?}");
        }
    }
}
