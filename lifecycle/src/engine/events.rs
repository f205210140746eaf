//! Events (events.k8s.io/v1): told beside the work, which never waits for them.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::metrics::Metrics;
use super::writer::Writer;
use berth_api::plan::Event;

/// So many may wait to be told. More are dropped: they are a courtesy, and a busy hub has better things to do.
const WAITING: usize = 1000;

/// The longest note an Event may have.
const LONGEST_NOTE: usize = 1024;

/// The name that Events give us: OCM's.
const CONTROLLER: &str = "registration-controller";

/// Where events are handed in.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    sender: mpsc::Sender<Value>,
    instance: Arc<str>,
    metrics: Metrics,
}

// === impl Events ===

impl Events {
    /// `instance`: which of several processes this is. The future tells the events, until all handles are gone.
    pub(crate) fn new(
        instance: &str,
        writer: Arc<Writer>,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (sender, mut waiting) = mpsc::channel::<Value>(WAITING);
        let events = Self {
            sender,
            instance: instance.into(),
            metrics: metrics.clone(),
        };
        let tell = async move {
            while let Some(event) = waiting.recv().await {
                let namespace = event["metadata"]["namespace"].as_str().unwrap_or("default");
                let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
                let told = writer.post(&path, &event).await;
                if let Err(refusal) = &told {
                    tracing::debug!(reason = %event["reason"], error = refusal.message, "an event was not told");
                }
                metrics.event(if told.is_ok() { "told" } else { "failed" });
            }
        };
        (events, tell)
    }

    /// Tells of something that concerns this object.
    pub(crate) fn tell(&self, event: &Event, regarding: &Value, now: Timestamp) {
        let metadata = &regarding["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let own_namespace = metadata["namespace"].as_str();
        // An API server takes an Event about a cluster-scoped object in `default` only, or with the namespace spelled out.
        let namespace = event.namespace.as_deref().or(own_namespace);
        let unique = format!("{:x}{:04x}", now.as_nanosecond(), fastrand::u16(..));
        let mut note = event.note.clone();
        note.truncate(note.floor_char_boundary(LONGEST_NOTE));
        let body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": name_of(name, &unique),
                "namespace": namespace.unwrap_or("default"),
            },
            "eventTime": MicroTime(now),
            "reportingController": CONTROLLER,
            "reportingInstance": &*self.instance,
            "action": event.reason,
            "reason": event.reason,
            "note": note,
            "type": if event.warning { "Warning" } else { "Normal" },
            "regarding": {
                "apiVersion": regarding["apiVersion"],
                "kind": regarding["kind"],
                "name": name,
                "namespace": namespace,
                "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
        });
        if self.sender.try_send(body).is_err() {
            self.metrics.event("dropped");
        }
    }
}

/// What an Event about an object of this name is called. Names of roles and long ones of CSRs are none for an Event.
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
    use super::name_of;

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
}
