//! The Events about the kinds of a hub: the newest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_api::groups;
use berth_api::text::cut_bytes;
use berth_reconcile::{Item, Watched};
use jiff::Timestamp;
use serde::Deserialize;

use super::{Store, watched};

/// Upper bound on the Events that are kept.
pub(crate) const MOST_EVENTS: usize = 500;

/// Upper bound on the bytes of a note.
const LONGEST_NOTE: usize = 1024;

/// Upper bound on the bytes of a name or a reason.
const LONGEST_NAME: usize = 256;

/// The kinds of a hub, with their groups.
const KINDS: [(&str, &str); 6] = [
    ("ManagedCluster", groups::CLUSTER),
    ("ManagedClusterSet", groups::CLUSTER),
    ("ManagedClusterSetBinding", groups::CLUSTER),
    ("Placement", groups::CLUSTER),
    ("ManifestWork", groups::WORK),
    ("ManifestWorkReplicaSet", groups::WORK),
];

/// An Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happening {
    /// When it happened last.
    pub(crate) at: Timestamp,
    /// When it happened first.
    pub(crate) first: Timestamp,
    pub(crate) count: i32,
    pub(crate) warning: bool,
    pub(crate) kind: &'static str,
    pub(crate) namespace: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) reason: Box<str>,
    pub(crate) note: Box<str>,
    /// The controller that reports it.
    pub(crate) by: Box<str>,
}

/// The newest Events, by key.
#[derive(Debug, Default)]
pub(crate) struct Happenings {
    events: BTreeMap<Arc<str>, Arc<Happening>>,
    /// The same by time, the newest first.
    order: BTreeSet<(Reverse<Timestamp>, Arc<str>)>,
    /// Older ones were left out.
    left_out: bool,
}

/// An Event of events.k8s.io/v1, with the fields of the older form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    metadata: Metadata,
    event_time: Option<Timestamp>,
    series: Option<Series>,
    reporting_controller: Option<String>,
    deprecated_source: Option<Source>,
    deprecated_first_timestamp: Option<Timestamp>,
    deprecated_last_timestamp: Option<Timestamp>,
    deprecated_count: Option<i32>,
    regarding: Option<Regarding>,
    reason: Option<String>,
    note: Option<String>,
    r#type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    creation_timestamp: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Series {
    count: Option<i32>,
    last_observed_time: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Source {
    component: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Regarding {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

// === impl Happening ===

impl Happening {
    fn of(event: Event) -> Option<Self> {
        let regarding = event.regarding.unwrap_or_default();
        let group = regarding.api_version.split('/').next().unwrap_or_default();
        let is_it = |(kind, of): &&(&str, &str)| *kind == regarding.kind && *of == group;
        let (kind, _) = KINDS.iter().find(is_it)?;
        let series = event.series.as_ref();
        let created = event.metadata.creation_timestamp;
        let first = event
            .deprecated_first_timestamp
            .or(event.event_time)
            .or(created)?;
        let last = series.and_then(|it| it.last_observed_time);
        let at = last.or(event.deprecated_last_timestamp).unwrap_or(first);
        let count = series.and_then(|it| it.count).or(event.deprecated_count);
        let by = event.reporting_controller.filter(|it| !it.is_empty());
        let by = by.or(event.deprecated_source.and_then(|it| it.component));
        let cut = |text: Option<String>, most: usize| -> Box<str> {
            cut_bytes(&text.unwrap_or_default(), most).into()
        };
        Some(Self {
            at,
            first: first.min(at),
            count: count.unwrap_or(1).max(1),
            warning: event.r#type.as_deref() == Some("Warning"),
            kind,
            namespace: cut(regarding.namespace, LONGEST_NAME),
            name: cut(Some(regarding.name), LONGEST_NAME),
            reason: cut(event.reason, LONGEST_NAME),
            note: cut(event.note, LONGEST_NOTE),
            by: cut(by, LONGEST_NAME),
        })
    }
}

// === impl Happenings ===

impl Happenings {
    /// All of them with their keys, the newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Happening>)> {
        let keys = self.order.iter().map(|(_, key)| key);
        keys.filter_map(|key| Some((&**key, self.events.get(key)?)))
    }

    /// Older ones were left out.
    pub(crate) fn left_out(&self) -> bool {
        self.left_out
    }
}

impl Store for Happenings {
    type Object = Happening;

    const RESOURCE: &'static str = "events.events.k8s.io";

    fn watched() -> Watched<()> {
        watched("events", ("events.k8s.io", "v1", "events"))
    }

    fn read(item: &Item<'_>) -> Option<Happening> {
        Happening::of(item.parse().ok()?)
    }

    fn insert(&mut self, key: &str, object: Option<Happening>) {
        self.remove(key);
        let Some(happening) = object else {
            return;
        };
        let key: Arc<str> = key.into();
        self.order.insert((Reverse(happening.at), Arc::clone(&key)));
        self.events.insert(key, Arc::new(happening));
        if self.events.len() > MOST_EVENTS
            && let Some((_, oldest)) = self.order.pop_last()
        {
            self.events.remove(&oldest);
            self.left_out = true;
        }
    }

    fn remove(&mut self, key: &str) {
        if let Some((key, happening)) = self.events.remove_entry(key) {
            self.order.remove(&(Reverse(happening.at), key));
        }
    }

    fn retain(&mut self, mut exists: impl FnMut(&str) -> bool) {
        self.events.retain(|key, _| exists(key));
        let events = &self.events;
        self.order.retain(|(_, key)| events.contains_key(key));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(event: &Value) -> Option<Happening> {
        let text = event.to_string();
        Happenings::read(&Item::read(text.as_bytes()).unwrap())
    }

    fn event(name: &str, at: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": "c1", "creationTimestamp": at},
            "eventTime": at, "series": null, "reportingController": "registration-controller", "type": "Warning",
            "regarding": {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "name": "c1"},
            "reason": "AvailableUnknown", "note": "n",
        })
    }

    #[test]
    fn events_of_both_generations_about_kinds_of_the_hub_are_read() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let one = read(&event("e", "2026-01-01T00:00:00.000001Z")).unwrap();
        assert_eq!(
            (one.count, one.warning, one.kind),
            (1, true, "ManagedCluster")
        );
        assert_eq!((one.first, &*one.by), (one.at, "registration-controller"));
        let mut series = event("e", "2026-01-01T00:00:00.000001Z");
        series["series"] = json!({"count": 7, "lastObservedTime": "2026-01-02T00:00:00.5Z"});
        let series = read(&series).unwrap();
        assert_eq!((series.count, series.at), (7, at("2026-01-02T00:00:00.5Z")));
        assert_eq!(series.first, at("2026-01-01T00:00:00.000001Z"));
        let old = read(&json!({
            "metadata": {"name": "e", "creationTimestamp": "2026-01-01T00:00:00Z"}, "eventTime": null, "series": null,
            "deprecatedCount": 3, "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z", "deprecatedLastTimestamp": "2026-01-03T00:00:00Z",
            "deprecatedSource": {"component": "work-agent"},
            "regarding": {"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "namespace": "c1", "name": "w"},
        }));
        let old = old.unwrap();
        assert_eq!(
            (old.count, &*old.by, &*old.namespace),
            (3, "work-agent", "c1")
        );
        for (field, value) in [
            ("kind", "Pod"),
            ("apiVersion", "example.com/v1"),
            ("apiVersion", ""),
        ] {
            let mut foreign = event("e", "2026-01-01T00:00:00Z");
            foreign["regarding"][field] = json!(value);
            assert_eq!(read(&foreign), None, "{field} {value}");
        }
    }

    #[test]
    fn the_newest_are_kept_whatever_comes_first() {
        let mut store = Happenings::default();
        let key = |number: usize| format!("c1/e{number:04}");
        let mut insert = |number: usize, second: usize| {
            let at = format!(
                "2026-01-01T{:02}:{:02}:{:02}Z",
                second / 3600,
                second / 60 % 60,
                second % 60
            );
            store.insert(&key(number), read(&event("e", &at)));
        };
        for number in (0..600).rev() {
            insert(number, number);
        }
        // An old one happens again.
        insert(0, 3599);
        let keys: Vec<_> = store.iter().map(|(key, _)| key.to_owned()).collect();
        assert_eq!((keys.len(), store.left_out()), (MOST_EVENTS, true));
        assert_eq!((keys[0].as_str(), &keys[1]), ("c1/e0000", &key(599)));
        store.remove(&key(599));
        store.retain(|it| it != key(598));
        assert_eq!(store.iter().nth(1).unwrap().0, key(597));
        assert_eq!(store.iter().count(), MOST_EVENTS - 2);
    }
}
