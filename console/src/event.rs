//! An Event as a hub sends it: events.k8s.io/v1, which keeps the fields of the older form.

use jiff::Timestamp;
use serde::Deserialize;

/// An Event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    metadata: Metadata,
    event_time: Option<Timestamp>,
    series: Option<Series>,
    reporting_controller: Option<String>,
    deprecated_source: Option<Source>,
    deprecated_first_timestamp: Option<Timestamp>,
    deprecated_last_timestamp: Option<Timestamp>,
    deprecated_count: Option<i32>,
    pub(crate) regarding: Option<Regarding>,
    pub(crate) reason: Option<String>,
    pub(crate) note: Option<String>,
    r#type: Option<String>,
}

/// The object that an Event is about.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Regarding {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
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

// === impl Event ===

impl Event {
    /// When it happened first.
    pub(crate) fn first(&self) -> Option<Timestamp> {
        self.deprecated_first_timestamp
            .or(self.event_time)
            .or(self.metadata.creation_timestamp)
    }

    /// When it happened last.
    pub(crate) fn last(&self) -> Option<Timestamp> {
        let series = self.series.as_ref().and_then(|it| it.last_observed_time);
        series.or(self.deprecated_last_timestamp).or(self.first())
    }

    /// How often it happened, at least once.
    pub(crate) fn count(&self) -> i32 {
        let series = self.series.as_ref().and_then(|it| it.count);
        series.or(self.deprecated_count).unwrap_or(1).max(1)
    }

    pub(crate) fn is_warning(&self) -> bool {
        self.r#type.as_deref() == Some("Warning")
    }

    /// The controller that reports it. Empty if it does not say.
    pub(crate) fn by(&self) -> &str {
        let by = self.reporting_controller.as_deref();
        let source = self.deprecated_source.as_ref();
        by.filter(|it| !it.is_empty())
            .or_else(|| source?.component.as_deref())
            .unwrap_or_default()
    }
}
