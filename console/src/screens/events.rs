//! The Events about a cluster.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde_json::Value;

use crate::answers::{ClusterEvent, EventsAnswer, Text};

/// Upper bound on the Events that are read of the hub. Further ones are not shown.
pub(crate) const MOST_READ: usize = 500;

/// Upper bound on the Events that are shown.
const MOST_EVENTS: usize = 100;

/// Makes the answer of a page of a list of Events.
pub(crate) fn events(list: &Value) -> EventsAnswer {
    let items = list["items"].as_array();
    let mut events: Vec<ClusterEvent> = items.into_iter().flatten().map(event).collect();
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

fn event(event: &Value) -> ClusterEvent {
    let text = |value: &Value| Text::lines(value.as_str().unwrap_or_default());
    let time = |value: &Value| -> Option<Timestamp> { value.as_str()?.parse().ok() };
    let at = time(&event["series"]["lastObservedTime"])
        .or_else(|| time(&event["deprecatedLastTimestamp"]))
        .or_else(|| time(&event["eventTime"]))
        .or_else(|| time(&event["metadata"]["creationTimestamp"]));
    let by = match event["reportingController"].as_str() {
        Some(by) if !by.is_empty() => Text::line(by),
        _ => text(&event["deprecatedSource"]["component"]),
    };
    let count = event["series"]["count"].as_i64();
    let count = count
        .or_else(|| event["deprecatedCount"].as_i64())
        .unwrap_or(1);
    ClusterEvent {
        at,
        warning: event["type"] == "Warning",
        reason: text(&event["reason"]),
        note: text(&event["note"]),
        by,
        count: i32::try_from(count.max(1)).unwrap_or(i32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_of_both_generations_are_shown_the_newest_first() {
        let list = json!({"metadata": {"continue": ""}, "items": [
            {"type": "Normal", "reason": "Old", "note": "a\u{202e}", "deprecatedSource": {"component": "kubelet"}, "deprecatedCount": 3, "deprecatedLastTimestamp": "2026-01-01T00:00:00Z"},
            {"type": "Warning", "reason": "New", "note": "b", "reportingController": "berth", "eventTime": "2026-01-02T00:00:00.5Z", "series": {"count": 7, "lastObservedTime": "2026-01-03T00:00:00Z"}},
            {"reason": 7},
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
        let many: Vec<_> = (0..=MOST_EVENTS).map(|_| json!({})).collect();
        assert!(super::events(&json!({"items": many})).more);
    }
}
