//! The policies of Berth in the API server.

use berth_hub::object_path;
use berth_policies::installed::{PolicyKind, Stored};
use futures::future::try_join_all;
use serde_json::Value;

use super::read;
use crate::doctor::facts::{Fact, Policies};
use crate::hub::HubConnection;

const GROUP: &str = "admissionregistration.k8s.io";

/// Reads policies and bindings of the kinds that the API server serves, and compares them.
pub(super) async fn policies(hub: &HubConnection) -> Fact<Policies> {
    let discovery = ("the resources", GROUP);
    let names = read("get", discovery, None, hub.served(GROUP, "v1")).await?;
    let is_served = |kind: &PolicyKind| {
        [kind.policies(), kind.bindings()]
            .iter()
            .all(|resource| names.iter().any(|name| name == resource))
    };
    let served: Vec<_> = PolicyKind::ALL.into_iter().filter(is_served).collect();
    let lists = try_join_all(served.iter().map(|kind| async {
        let policies = list(hub, kind.policies());
        let bindings = list(hub, kind.bindings());
        futures::try_join!(policies, bindings)
    }));
    let mut stored = Stored::default();
    for (kind, (policies, bindings)) in served.iter().zip(lists.await?) {
        stored.add_policies(*kind, &policies);
        stored.add_bindings(*kind, &bindings);
    }
    Ok(Policies::of(served, &stored))
}

async fn list(hub: &HubConnection, resource: &'static str) -> Fact<Vec<Value>> {
    let path = object_path((GROUP, "v1", resource), "", "");
    read("list", (resource, GROUP), None, hub.list_values_at(path)).await
}
