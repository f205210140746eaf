//! The Events about the kinds of a hub: the newest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_api::groups;
use berth_api::text::cut_bytes;
use berth_reconcile::{Item, Watched};
use jiff::Timestamp;

use super::{Store, watched};
use crate::event::Event;

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

// === impl Happening ===

impl Happening {
    fn of(event: &Event) -> Option<Self> {
        let regarding = event.regarding.as_ref()?;
        let group = regarding.api_version.split('/').next().unwrap_or_default();
        let is_it = |(kind, of): &&(&str, &str)| *kind == regarding.kind && *of == group;
        let (kind, _) = KINDS.iter().find(is_it)?;
        let (first, at) = (event.first()?, event.last()?);
        let cut = |text: &str, most: usize| -> Box<str> { cut_bytes(text, most).into() };
        let said =
            |text: &Option<String>, most: usize| cut(text.as_deref().unwrap_or_default(), most);
        Some(Self {
            at,
            first: first.min(at),
            count: event.count(),
            warning: event.is_warning(),
            kind,
            namespace: said(&regarding.namespace, LONGEST_NAME),
            name: cut(&regarding.name, LONGEST_NAME),
            reason: said(&event.reason, LONGEST_NAME),
            note: said(&event.note, LONGEST_NOTE),
            by: cut(event.by(), LONGEST_NAME),
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
        watched("events", (groups::EVENTS, "v1", "events"))
    }

    fn read(item: &Item<'_>) -> Option<Happening> {
        Happening::of(&item.parse().ok()?)
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
