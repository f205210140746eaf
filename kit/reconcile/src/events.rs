//! Events (events.k8s.io/v1). They are sent by a task of their own: no work waits for them.

use std::sync::Arc;

use berth_api::groups;
use berth_api::plan::Event;
use berth_api::text::cut_bytes;
use berth_hub::object_path;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::metrics::Metrics;
use crate::writer::Writer;

/// Group, version and resource of Events.
const EVENTS: (&str, &str, &str) = (groups::EVENTS, "v1", "events");

/// Upper bound on Events that wait to be sent. More are dropped, to relieve a busy API server.
const WAITING: usize = 1000;

/// Upper bound on the bytes of a note.
const LONGEST_NOTE: usize = 1024;

/// The queue of Events to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    sender: mpsc::Sender<(usize, Value)>,
    controller: &'static str,
    instance: Arc<str>,
    metrics: Metrics,
}

/// The object that an Event is about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Regarding {
    /// Its apiVersion.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its metadata.
    pub metadata: Reference,
}

/// The metadata of an object that an Event names.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Reference {
    /// metadata.name
    pub name: String,
    /// metadata.namespace
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// metadata.uid
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// metadata.resourceVersion
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

// === impl Events ===

impl Events {
    /// Returns also the future that sends the Events. It ends when all handles are dropped.
    pub(crate) fn new(
        controller: &'static str,
        instance: &str,
        writers: Vec<Arc<Writer>>,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (sender, mut waiting) = mpsc::channel::<(usize, Value)>(WAITING);
        let events = Self {
            sender,
            controller,
            instance: instance.into(),
            metrics: metrics.clone(),
        };
        let send = async move {
            while let Some((server, event)) = waiting.recv().await {
                let namespace = event["metadata"]["namespace"].as_str().unwrap_or("default");
                let path = object_path(EVENTS, namespace, "");
                let Some(writer) = writers.get(server) else {
                    continue;
                };
                let sent = writer.post(&path, &event).await;
                if let Err(refusal) = &sent {
                    tracing::debug!(reason = %event["reason"], error = refusal.message, "an event was not sent");
                }
                metrics.event(if sent.is_ok() { "told" } else { "failed" });
            }
        };
        (events, send)
    }

    /// Queues an Event about an object.
    pub(crate) fn tell(&self, server: usize, event: &Event, regarding: &Regarding, now: Timestamp) {
        let body = regarding.event(event, self.controller, &self.instance, now);
        if self.sender.try_send((server, body)).is_err() {
            self.metrics.event("dropped");
        }
    }
}

// === impl Regarding ===

impl Regarding {
    /// Returns an Event (events.k8s.io/v1) about the object, from this controller and this process of it.
    pub fn event(&self, event: &Event, controller: &str, instance: &str, now: Timestamp) -> Value {
        let metadata = &self.metadata;
        // An API server accepts an Event about a cluster-scoped object only in `default`, or if `regarding` has the namespace.
        let namespace = event.namespace.as_ref().or(metadata.namespace.as_ref());
        let unique = format!("{:x}{:04x}", now.as_nanosecond(), fastrand::u16(..));
        json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": name_of(&metadata.name, &unique),
                "namespace": namespace.map_or("default", String::as_str),
            },
            "eventTime": micro_time(now),
            "reportingController": controller,
            "reportingInstance": instance,
            "action": event.reason,
            "reason": event.reason,
            "note": cut_bytes(&event.note, LONGEST_NOTE),
            "type": if event.warning { "Warning" } else { "Normal" },
            "regarding": {
                "apiVersion": self.api_version,
                "kind": self.kind,
                "name": metadata.name,
                "namespace": namespace,
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            },
        })
    }
}

/// Formats a time as a MicroTime: always with six digits after the second.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

/// The name of an Event about an object of this name. Names of roles, and long names of CSRs, are invalid for an Event.
fn name_of(regarding: &str, unique: &str) -> String {
    let name = format!("{regarding}.{unique}");
    if berth_api::names::is_dns1123_subdomain(&name) {
        name
    } else {
        format!("berth.{unique}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_api_server_takes_the_names_of_events() {
        let long = "c".repeat(250);
        for (regarding, expected) in [
            ("c1", "c1.17af"),
            ("open-cluster-management:managedcluster:c1", "berth.17af"),
            (&long, "berth.17af"),
            ("", "berth.17af"),
        ] {
            assert_eq!(name_of(regarding, "17af"), expected);
        }
    }

    #[test]
    fn times_have_six_digits() {
        for time in ["2026-08-11T12:00:00Z", "2026-08-11T12:00:00.1234567Z"] {
            let written = micro_time(time.parse().unwrap());
            assert_eq!(
                written.len(),
                "2026-08-11T12:00:00.000000Z".len(),
                "{written}"
            );
        }
    }
}
