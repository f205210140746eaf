//! What operators report: ClusterManagers, and on a hub that is a managed cluster, too, Klusterlets.

use serde_json::Value;

use super::read;
use crate::doctor::facts::Fact;
use crate::failure::CommandError;
use crate::hub::HubConnection;

const GROUP: &str = "operator.open-cluster-management.io";

/// The resources, by their kinds as kubectl accepts them.
const KINDS: [(&str, &str); 2] = [
    ("clustermanager", "clustermanagers"),
    ("klusterlet", "klusterlets"),
];

/// Reads the objects that operators carry out, each with its kind. A hub that does not serve the kinds has none.
pub(super) async fn operated(hub: &HubConnection) -> Fact<Vec<(&'static str, Value)>> {
    let served = match hub.served(GROUP, "v1").await {
        Err(CommandError::NoHub { .. }) => Ok(Vec::new()),
        served => served,
    };
    let named = ("clustermanagers", GROUP);
    let served = read("list", named, None, std::future::ready(served)).await?;
    let mut found = Vec::new();
    for (kind, resource) in KINDS {
        if served.iter().any(|it| it == resource) {
            let listed = read("list", (resource, GROUP), None, list(hub, resource)).await?;
            found.extend(listed.into_iter().map(|it| (kind, it)));
        }
    }
    Ok(found)
}

async fn list(hub: &HubConnection, resource: &str) -> Result<Vec<Value>, CommandError> {
    let mut found = Vec::new();
    let mut take = |object: Option<Value>| match object {
        Some(object) => found.push(object),
        None => found.clear(),
    };
    let path = format!("/apis/{GROUP}/v1/{resource}");
    hub.each_at(path, &mut take).await.map(|()| found)
}
