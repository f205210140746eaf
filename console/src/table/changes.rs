//! What has changed of clusters lately: their conditions, and writes by field managers.
//!
//! # Guarantees
//! - At most [`MOST_CHANGES`] are kept, the newest. A cluster costs nothing more than that.
//! - An object tells the last change of a condition only. Earlier ones that were followed stay.

use std::collections::BTreeMap;
use std::fmt::Write;

use berth_api::conditions::{FALSE, TRUE, cluster};
use berth_api::text::cut_bytes;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ManagedFieldsEntry};
use serde_json::Value;

/// Upper bound on the changes that are kept.
pub(crate) const MOST_CHANGES: usize = 500;

/// Upper bound on the conditions, and on the field managers, of a cluster that are looked at.
const MOST_OF_A_CLUSTER: usize = 32;

/// Upper bound on the bytes of a message or of names.
const LONGEST_NOTE: usize = 512;

/// Upper bound on the fields of a field manager that are named.
const MOST_NAMED: usize = 8;

/// A change of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) at: Timestamp,
    pub(crate) what: What,
    /// The field manager.
    pub(crate) by: Box<str>,
}

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A condition has another status.
    Condition {
        condition: Box<str>,
        status: Box<str>,
        reason: Box<str>,
        message: Box<str>,
    },
    /// A field manager wrote something else than the status. These are all its fields.
    Write { fields: Box<str> },
}

/// The last changes of all clusters, by time, cluster, and what has changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(BTreeMap<(Timestamp, Box<str>, Box<str>), Change>);

// === impl Change ===

impl Change {
    /// Reads the changes that a cluster tells.
    pub(crate) fn read(
        conditions: &[Condition],
        managers: Option<&Vec<ManagedFieldsEntry>>,
    ) -> Box<[Self]> {
        let managers: Vec<&ManagedFieldsEntry> = managers
            .into_iter()
            .flatten()
            .take(MOST_OF_A_CLUSTER)
            .collect();
        let conditions = conditions
            .iter()
            .take(MOST_OF_A_CLUSTER)
            .map(|condition| Self {
                at: condition.last_transition_time.0,
                by: writer(&managers, &condition.type_).into(),
                what: What::Condition {
                    condition: cut(&condition.type_),
                    status: cut(&condition.status),
                    reason: cut(&condition.reason),
                    message: cut(&condition.message),
                },
            });
        let writes = managers.iter().filter_map(|it| write(it));
        conditions.chain(writes).collect()
    }

    /// Distinguishes the changes of a cluster at the same time.
    fn key(&self) -> Box<str> {
        match &self.what {
            What::Condition { condition, .. } => condition.clone(),
            What::Write { .. } => format!("={}", self.by).into(),
        }
    }

    /// The change is for the worse.
    pub(crate) fn is_bad(&self) -> bool {
        match &self.what {
            What::Condition {
                condition, status, ..
            } => match &**condition {
                cluster::AVAILABLE | cluster::CLOCK_SYNCED | cluster::READABLE => &**status != TRUE,
                cluster::DELETING => &**status == FALSE,
                _ => false,
            },
            What::Write { .. } => false,
        }
    }
}

/// The write of a field manager; `None` if it writes the status.
fn write(entry: &ManagedFieldsEntry) -> Option<Change> {
    if entry
        .subresource
        .as_deref()
        .is_some_and(|it| !it.is_empty())
    {
        return None;
    }
    let fields = fields(&entry.fields_v1.as_ref()?.0);
    Some(Change {
        at: entry.time.as_ref()?.0,
        by: cut(entry.manager.as_deref()?),
        what: What::Write {
            fields: cut(&fields),
        },
    })
    .filter(|_| !fields.is_empty())
}

/// The fields of a set of fields, in words: such as `spec.taints, label a`. The status and what the API server fills in are left out.
fn fields(set: &Value) -> String {
    let mut named = Vec::new();
    for (part, fields) in set.as_object().into_iter().flatten() {
        let part = part.strip_prefix("f:").unwrap_or_default();
        for (field, below) in fields.as_object().into_iter().flatten() {
            let Some(field) = field.strip_prefix("f:") else {
                continue;
            };
            let one = match (part, field) {
                ("metadata", "labels") => "label",
                ("metadata", "annotations") => "annotation",
                ("metadata" | "spec", field) => {
                    named.push(format!("{part}.{field}"));
                    continue;
                }
                _ => continue,
            };
            let keys = below.as_object().into_iter().flatten();
            let keys = keys.filter_map(|(key, _)| key.strip_prefix("f:"));
            named.extend(keys.map(|key| format!("{one} {key}")));
        }
    }
    let more = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    let mut text = named.join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// The field manager that wrote this condition last; empty if none says so.
fn writer<'a>(managers: &[&'a ManagedFieldsEntry], condition: &str) -> &'a str {
    let key = format!("k:{{\"type\":\"{condition}\"}}");
    let wrote = managers.iter().filter(|it| {
        let set = it.fields_v1.as_ref().map(|it| &it.0);
        set.is_some_and(|set| set["f:status"]["f:conditions"].get(&key).is_some())
    });
    let last = wrote.max_by_key(|it| it.time.as_ref().map(|it| it.0));
    let manager = last.and_then(|it| it.manager.as_deref());
    cut_bytes(manager.unwrap_or_default(), LONGEST_NOTE)
}

fn cut(text: &str) -> Box<str> {
    cut_bytes(text, LONGEST_NOTE).into()
}

// === impl Changes ===

impl Changes {
    /// Adds the changes of a cluster. What is known of the same change is replaced.
    pub(crate) fn add(&mut self, cluster: &str, changes: Box<[Change]>) {
        for change in changes {
            let key = (change.at, cluster.into(), change.key());
            self.0.insert(key, change);
            if self.0.len() > MOST_CHANGES {
                self.0.pop_first();
            }
        }
    }

    /// All of them with their clusters, the newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str, &Change)> {
        let all = self.0.iter().rev();
        all.map(|((_, cluster, key), change)| (&**cluster, &**key, change))
    }

    /// Older ones may have been left out.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MOST_CHANGES
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn condition(type_: &str, status: &str, at: &str) -> Condition {
        serde_json::from_value(json!({"type": type_, "status": status, "reason": "R", "message": "m", "lastTransitionTime": at}))
            .unwrap()
    }

    fn managers(entries: Value) -> Vec<ManagedFieldsEntry> {
        serde_json::from_value(entries).unwrap()
    }

    #[test]
    fn a_condition_names_the_field_manager_that_wrote_it() {
        let entry = |manager: &str, time: &str, condition: &str| {
            let key = format!("k:{{\"type\":\"{condition}\"}}");
            json!({"manager": manager, "operation": "Update", "time": time, "subresource": "status",
                   "fieldsV1": {"f:status": {"f:conditions": {key: {"f:status": {}}}}}})
        };
        let managers = managers(json!([
            entry("old", "2026-01-01T00:00:00Z", "A"),
            entry("agent", "2026-01-02T00:00:00Z", "A"),
            entry("hub", "2026-01-03T00:00:00Z", "B"),
        ]));
        let conditions = ["A", "B", "C"].map(|it| condition(it, "True", "2026-01-02T00:00:00Z"));
        let changes = Change::read(&conditions, Some(&managers));
        let by: Vec<_> = changes.iter().map(|it| &*it.by).collect();
        // Writes of the status are no writes of a person.
        assert_eq!(by, ["agent", "hub", ""]);
        assert_eq!(Change::read(&conditions, None).len(), 3);
    }

    #[test]
    fn a_write_names_the_fields_of_its_manager() {
        for (set, expected) in [
            (
                json!({"f:spec": {"f:taints": {}, "f:hubAcceptsClient": {}}}),
                "spec.hubAcceptsClient, spec.taints",
            ),
            (
                json!({"f:metadata": {"f:labels": {".": {}, "f:a/b": {}, "f:c": {}}, "f:annotations": {"f:d": {}}}}),
                "annotation d, label a/b, label c",
            ),
            (
                json!({"f:metadata": {"f:finalizers": {".": {}}}}),
                "metadata.finalizers",
            ),
            (
                json!({"f:metadata": {"f:labels": (0..10).map(|it| (format!("f:{it}"), json!({}))).collect::<Value>()}}),
                "label 0, label 1, label 2, label 3, label 4, label 5, label 6, label 7 and 2 more",
            ),
            // Nothing to tell.
            (json!({"f:status": {"f:version": {}}}), ""),
            (json!("x"), ""),
        ] {
            let entry = json!([{"manager": "kubectl-label", "time": "2026-01-01T00:00:00Z", "fieldsV1": set}]);
            let changes = Change::read(&[], Some(&managers(entry)));
            let told = changes.iter().map(|it| match &it.what {
                What::Write { fields } => &**fields,
                What::Condition { .. } => "a condition",
            });
            assert_eq!(told.collect::<String>(), expected);
        }
    }

    #[test]
    fn the_newest_changes_stay_and_what_was_seen_before_too() {
        let mut changes = Changes::default();
        let add = |changes: &mut Changes, cluster: &str, status: &str, at: &str| {
            let condition = condition("ManagedClusterConditionAvailable", status, at);
            changes.add(cluster, Change::read(&[condition], None));
        };
        add(&mut changes, "c1", "False", "2026-01-01T00:00:00Z");
        add(&mut changes, "c1", "True", "2026-01-02T00:00:00Z");
        add(&mut changes, "c1", "True", "2026-01-02T00:00:00Z");
        let told: Vec<_> = changes
            .iter()
            .map(|(it, _, change)| (it, change.is_bad()))
            .collect();
        assert_eq!(told, [("c1", false), ("c1", true)]);
        for at in 0..MOST_CHANGES {
            add(
                &mut changes,
                &format!("d{at}"),
                "True",
                "2026-01-03T00:00:00Z",
            );
        }
        assert!(changes.is_full());
        assert_eq!(changes.iter().count(), MOST_CHANGES);
        assert!(changes.iter().all(|(it, ..)| it != "c1"));
    }
}
