//! The Events about a cluster.

use std::cmp::Reverse;

use serde::Deserialize;
use serde_json::Value;

use crate::answers::{ClusterEvent, EventsAnswer, Text};
use crate::event::Event;

/// Upper bound on the Events that are read of the hub. Further ones are not shown.
pub(crate) const MOST_READ: usize = 500;

/// Upper bound on the Events that are shown.
const MOST_EVENTS: usize = 100;

/// Makes the answer of a page of a list of Events.
pub(crate) fn events(list: &Value) -> EventsAnswer {
    let items = list["items"].as_array();
    let read = |it: &Value| Some(shown(&Event::deserialize(it).ok()?));
    let mut events: Vec<_> = items.into_iter().flatten().filter_map(read).collect();
    events.sort_by_key(|it| Reverse(it.at));
    let is_cut = list["metadata"]["continue"]
        .as_str()
        .is_some_and(|it| !it.is_empty());
    let more = is_cut || events.len() > MOST_EVENTS;
    events.truncate(MOST_EVENTS);
    EventsAnswer {
        events,
        more,
        notes: Vec::new(),
    }
}

fn shown(event: &Event) -> ClusterEvent {
    let said = |text: &Option<String>| Text::lines(text.as_deref().unwrap_or_default());
    ClusterEvent {
        at: event.last(),
        warning: event.is_warning(),
        reason: said(&event.reason),
        note: said(&event.note),
        by: Text::line(event.by()),
        count: event.count(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_of_both_generations_are_shown_the_newest_first() {
        let list = json!({"metadata": {"continue": ""}, "items": [
            {"metadata": {}, "type": "Normal", "reason": "Old", "note": "a\u{202e}", "deprecatedSource": {"component": "kubelet"}, "deprecatedCount": 3, "deprecatedLastTimestamp": "2026-01-01T00:00:00Z"},
            {"metadata": {}, "type": "Warning", "reason": "New", "note": "b", "reportingController": "berth", "eventTime": "2026-01-02T00:00:00.5Z", "series": {"count": 7, "lastObservedTime": "2026-01-03T00:00:00Z"}},
            {"metadata": {}},
        ]});
        let EventsAnswer { events, more, .. } = events(&list);
        let shown: Vec<_> = (events.iter())
            .map(|it| {
                (
                    it.reason.as_str(),
                    it.note.as_str(),
                    it.by.as_str(),
                    it.count,
                    it.warning,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("New", "b", "berth", 7, true),
                ("Old", r"a\u{202e}", "kubelet", 3, false),
                ("", "", "", 1, false),
            ]
        );
        assert!(!more);
        let many: Vec<_> = (0..=MOST_EVENTS).map(|_| json!({"metadata": {}})).collect();
        assert!(super::events(&json!({"items": many})).more);
    }
}
