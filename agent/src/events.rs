//! Events about the agent on the cluster that it runs in: what it waits for, for a user who asks `kubectl get events` there.

use berth_api::groups;
use berth_api::plan::Event;
use berth_hub::{Call, object_path};
use berth_reconcile::{Reference, Regarding};
use jiff::Timestamp;
use tracing::debug;

use crate::settings::Settings;
use crate::standing::Wait;
use crate::store::Store;

/// The name of OCM's agent in Events.
pub(crate) const CONTROLLER: &str = "klusterlet-agent";

/// Sends an Event about the hub Secret. One that cannot be sent is only logged.
pub(crate) async fn tell(store: &Store, settings: &Settings, wait: &Wait) {
    let regarding = Regarding {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        metadata: Reference {
            name: settings.hub_secret.clone(),
            namespace: Some(settings.namespace.clone()),
            ..Reference::default()
        },
    };
    let event = Event {
        warning: true,
        reason: wait.reason,
        note: wait.message.clone(),
        namespace: None,
    };
    let body = regarding.event(&event, CONTROLLER, &settings.instance, Timestamp::now());
    let path = object_path((groups::EVENTS, "v1", "events"), &settings.namespace, "");
    if let Err(error) = store
        .secrets()
        .send(Call::post(path, body.to_string()))
        .await
    {
        debug!(reason = wait.reason, %error, "an Event was not sent");
    }
}
