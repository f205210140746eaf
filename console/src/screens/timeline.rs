//! The screen Timeline. A plain function of the Events and of the changes of clusters that are followed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::answers::{Facet, Text, TimelineAnswer, TimelineEntry, TimelineSource};
use crate::live::{Happening, Happenings};
use crate::table::{Change, Table, What};

/// Upper bound on the entries that are shown.
const MOST_ENTRIES: usize = 200;

/// Upper bound on the sets, kinds and reasons that are offered to filter by.
const MOST_FACETS: usize = 100;

/// The kind of the objects whose changes are followed.
const CLUSTER: &str = "ManagedCluster";

/// What a page asks for. An empty text matches all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// A part of the name of the cluster.
    pub(crate) cluster: String,
    pub(crate) set: String,
    pub(crate) kind: String,
    pub(crate) reason: String,
}

/// Returns the entries that match.
pub(crate) fn timeline(
    table: &Table,
    happenings: &Happenings,
    filter: &Filter,
    notes: Vec<Text>,
) -> TimelineAnswer {
    let changes = table.changes();
    let events = happenings.iter().map(|(key, it)| event(key, it, table));
    let changed = changes.iter();
    let changed = changed.map(|(cluster, key, it)| change(cluster, key, it, table));
    let mut entries: Vec<TimelineEntry> = events.chain(changed).collect();
    let total = entries.len();
    let [sets, kinds, reasons] = [
        facets(entries.iter().map(|it| &it.set)),
        facets(entries.iter().map(|it| &it.kind)),
        facets(entries.iter().map(|it| &it.reason)),
    ];
    entries.retain(|it| filter.matches(it));
    entries.sort_unstable_by(|a, b| (Reverse(a.at), &a.id).cmp(&(Reverse(b.at), &b.id)));
    let matched = entries.len();
    entries.truncate(MOST_ENTRIES);
    TimelineAnswer {
        entries,
        matched,
        total,
        cut: happenings.left_out() || changes.is_full(),
        sets,
        kinds,
        reasons,
        notes,
    }
}

fn event(key: &str, event: &Happening, table: &Table) -> TimelineEntry {
    let (cluster, set) = match event.kind {
        CLUSTER => (&*event.name, set_of(table, &event.name)),
        "ManagedClusterSet" | "ManagedClusterSetBinding" => ("", &*event.name),
        // The namespace of a work is that of its cluster.
        "ManifestWork" => (&*event.namespace, set_of(table, &event.namespace)),
        _ => ("", ""),
    };
    // An Event about a cluster-scoped object names the namespace that it is in.
    let is_namespaced = !matches!(event.kind, CLUSTER | "ManagedClusterSet");
    TimelineEntry {
        id: Text::line(&format!("e/{key}")),
        source: TimelineSource::Event,
        at: event.at,
        first: (event.count > 1 && event.first < event.at).then_some(event.first),
        count: event.count,
        warning: event.warning,
        kind: Text::line(event.kind),
        namespace: Text::line(if is_namespaced { &event.namespace } else { "" }),
        name: Text::line(&event.name),
        cluster: Text::line(cluster),
        set: Text::line(set),
        reason: Text::line(&event.reason),
        note: Text::lines(&event.note),
        by: Text::line(&event.by),
    }
}

fn change(cluster: &str, key: &str, change: &Change, table: &Table) -> TimelineEntry {
    let (source, reason, note) = match &change.what {
        What::Condition {
            condition,
            status,
            reason,
            message,
        } => {
            let why = [&**reason, &**message]
                .into_iter()
                .filter(|it| !it.is_empty());
            let why = why.collect::<Vec<_>>().join(": ");
            let note = match why.as_str() {
                "" => format!("is {status}"),
                why => format!("is {status}: {why}"),
            };
            (TimelineSource::Condition, &**condition, note)
        }
        What::Write { fields } => {
            let note = format!("the last write of this field manager, whose fields are {fields}");
            (TimelineSource::Write, "Written", note)
        }
    };
    TimelineEntry {
        id: Text::line(&format!("c/{cluster}/{}/{key}", change.at)),
        source,
        at: change.at,
        first: None,
        count: 1,
        warning: change.is_bad(),
        kind: Text::line(CLUSTER),
        namespace: Text::default(),
        name: Text::line(cluster),
        cluster: Text::line(cluster),
        set: Text::line(set_of(table, cluster)),
        reason: Text::line(reason),
        note: Text::lines(&note),
        by: Text::line(&change.by),
    }
}

fn set_of<'a>(table: &'a Table, cluster: &str) -> &'a str {
    table.get(cluster).map_or("", |it| it.set.as_str())
}

/// The values with their numbers, by name.
fn facets<'a>(values: impl Iterator<Item = &'a Text>) -> Vec<Facet> {
    let mut counts: BTreeMap<&Text, usize> = BTreeMap::new();
    for value in values.filter(|it| !it.is_empty()) {
        *counts.entry(value).or_default() += 1;
    }
    let facets = counts.into_iter().map(|(name, count)| Facet {
        name: name.clone(),
        count,
    });
    facets.take(MOST_FACETS).collect()
}

// === impl Filter ===

impl Filter {
    fn matches(&self, entry: &TimelineEntry) -> bool {
        let is = |wanted: &str, text: &Text| wanted.is_empty() || text.as_str() == wanted;
        entry.cluster.as_str().contains(&self.cluster)
            && is(&self.set, &entry.set)
            && is(&self.kind, &entry.kind)
            && is(&self.reason, &entry.reason)
    }
}

#[cfg(test)]
mod tests {
    use berth_reconcile::Item;
    use serde_json::{Value, json};

    use super::*;
    use crate::fact::ClusterFact;
    use crate::live::Store;

    fn table() -> Table {
        let mut table = Table::default();
        for (name, set, status) in [("c1", "prod", "False"), ("c2", "dev", "True")] {
            let condition = json!({
                "type": "ManagedClusterConditionAvailable", "status": status, "reason": "R", "message": "m\u{202e}",
                "lastTransitionTime": "2026-01-02T00:00:00Z",
            });
            table.insert(ClusterFact::read(&json!({
                "metadata": {
                    "name": name,
                    "labels": {"cluster.open-cluster-management.io/clusterset": set},
                    "managedFields": [{
                        "manager": "kubectl-label", "operation": "Update", "time": "2026-01-01T00:00:00Z",
                        "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}},
                    }],
                },
                "status": {"conditions": [condition]},
            })));
        }
        table
    }

    fn happenings(events: &[Value]) -> Happenings {
        let mut happenings = Happenings::default();
        for event in events {
            let text = event.to_string();
            let item = Item::read(text.as_bytes()).unwrap();
            happenings.insert(&format!("c1/{}", item.meta.name), Happenings::read(&item));
        }
        happenings
    }

    fn event(name: &str, kind: &str, of: &str, reason: &str) -> Value {
        let group = match kind {
            "ManifestWork" => "work.open-cluster-management.io/v1",
            _ => "cluster.open-cluster-management.io/v1",
        };
        json!({
            "metadata": {"name": name, "namespace": "c1"}, "eventTime": "2026-01-03T00:00:00Z", "reason": reason,
            "series": {"count": 2, "lastObservedTime": "2026-01-04T00:00:00Z"},
            "regarding": {"apiVersion": group, "kind": kind, "namespace": "c1", "name": of},
        })
    }

    #[test]
    fn what_happened_is_filtered_by_cluster_set_kind_and_reason() {
        let table = table();
        let happenings = happenings(&[
            event("a", "ManagedCluster", "c1", "AvailableUnknown"),
            event("b", "ManagedClusterSet", "prod", "Made"),
            event("c", "ManifestWork", "w1", "ManifestNotApplied"),
            event("d", "Placement", "p1", "DecisionCreate"),
        ]);
        let available = "ManagedClusterConditionAvailable";
        // The filter: cluster, set, kind, reason; and the names of the objects.
        for ([cluster, set, kind, reason], expected) in [
            (["", "", "", ""], "c1 prod w1 p1 c1 c2 c1 c2"),
            (["c1", "", "", ""], "c1 w1 c1 c1"),
            (["c", "", "ManagedCluster", ""], "c1 c1 c2 c1 c2"),
            (["", "prod", "", ""], "c1 prod w1 c1 c1"),
            (["", "dev", "", "Written"], "c2"),
            (["", "", "", available], "c1 c2"),
            (["", "", "Placement", "Written"], ""),
        ] {
            let [cluster, set, kind, reason] = [cluster, set, kind, reason].map(str::to_owned);
            let filter = Filter {
                cluster,
                set,
                kind,
                reason,
            };
            let answer = timeline(&table, &happenings, &filter, Vec::new());
            let names: Vec<_> = answer.entries.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(names.join(" "), expected, "{filter:?}");
            assert_eq!((answer.matched, answer.total), (names.len(), 8));
        }
    }

    #[test]
    fn an_entry_says_who_how_often_and_since_when() {
        let happenings = happenings(&[event("a", "ManagedCluster", "c1", "AvailableUnknown")]);
        let answer = timeline(&table(), &happenings, &Filter::default(), Vec::new());
        let [event, condition, .., write] = answer.entries.as_slice() else {
            panic!("{answer:?}");
        };
        assert_eq!((event.source, event.count), (TimelineSource::Event, 2));
        assert_eq!(event.first, Some("2026-01-03T00:00:00Z".parse().unwrap()));
        assert_eq!((event.set.as_str(), event.namespace.as_str()), ("prod", ""));
        assert_eq!(condition.note.as_str(), r"is False: R: m\u{202e}");
        assert!(condition.warning);
        assert_eq!(
            (write.source, write.by.as_str()),
            (TimelineSource::Write, "kubectl-label")
        );
        assert!(write.note.as_str().ends_with("whose fields are label a"));
        let facets: Vec<_> = (answer.sets.iter().map(|it| (it.name.as_str(), it.count))).collect();
        assert_eq!(facets, [("dev", 2), ("prod", 3)]);
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let events: Vec<_> = (0..300)
            .map(|it| event(&format!("e{it}"), "Placement", "p", &format!("R{it}")))
            .collect();
        let answer = timeline(
            &Table::default(),
            &happenings(&events),
            &Filter::default(),
            Vec::new(),
        );
        assert_eq!((answer.entries.len(), answer.matched), (MOST_ENTRIES, 300));
        assert_eq!((answer.reasons.len(), answer.cut), (MOST_FACETS, false));
        let events: Vec<_> = (0..600)
            .map(|it| event(&format!("e{it}"), "Placement", "p", "R"))
            .collect();
        let answer = timeline(
            &Table::default(),
            &happenings(&events),
            &Filter::default(),
            Vec::new(),
        );
        assert!(answer.cut);
    }
}
