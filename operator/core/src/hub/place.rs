//! Where a hub is, and where its components run.

use berth_api::operator::{ClusterManager, ClusterManagerMode};
use berth_manifests::HUB_NAMESPACE;

use crate::decision::Store;
use crate::names::RUNS_ELSEWHERE;
use crate::objects::Stored;

/// The Secret with the kubeconfig of the hub, in the namespace of the ClusterManager's name. Users make it.
pub const HUB_KUBECONFIG: &str = "external-hub-kubeconfig";

/// The port at which the hub reaches the gate, unless the ClusterManager names another.
pub(super) const PORT: u16 = 443;

/// Where the components of a hub run that is another cluster, and where the hub reaches the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosted {
    /// The namespace of the components.
    pub namespace: String,
    /// The host of the gate.
    pub address: String,
    /// The port of the gate there.
    pub port: u16,
    /// The uid of the ClusterManager.
    pub uid: String,
    /// The API server of the hub; empty while that is not known.
    pub server: String,
}

/// The name of a ClusterManager.
fn name(manager: &ClusterManager) -> &str {
    manager.metadata.name.as_deref().unwrap_or_default()
}

/// Returns whether a ClusterManager asks for a hub elsewhere, or has one there.
#[must_use]
pub fn is_elsewhere(manager: &ClusterManager) -> bool {
    manager.spec.deploy_option.mode == ClusterManagerMode::Hosted || was_elsewhere(manager)
}

/// Returns whether something was written to a hub elsewhere.
pub(super) fn was_elsewhere(manager: &ClusterManager) -> bool {
    let annotations = manager.metadata.annotations.as_ref();
    annotations.is_some_and(|it| it.get(RUNS_ELSEWHERE).is_some_and(|it| it == "true"))
}

/// Returns whether the hub of a ClusterManager is to be looked for elsewhere. `stored`: on this cluster, where it may have one from before it
/// asked for one elsewhere.
#[must_use]
pub fn is_hosted(manager: &ClusterManager, stored: &Store) -> bool {
    was_elsewhere(manager) || is_elsewhere(manager) && !has_hub_here(manager, stored)
}

/// Returns whether a ClusterManager has the hub of this cluster: it says so, or its first objects are there.
pub(super) fn has_hub_here(manager: &ClusterManager, stored: &Store) -> bool {
    let status = manager.status.as_ref();
    let mut written = status.into_iter().flat_map(|it| &it.generations);
    let is_own = |it: &Stored| it.created_by.as_deref() == Some(name(manager));
    let mut here = stored.iter();
    !was_elsewhere(manager)
        && (written.any(|it| it.namespace == HUB_NAMESPACE)
            || here.any(|(id, it)| id.namespace == HUB_NAMESPACE && is_own(it)))
}

/// The namespace of the components of a ClusterManager.
pub(super) fn namespace(manager: &ClusterManager) -> &str {
    match is_elsewhere(manager) {
        true => name(manager),
        false => HUB_NAMESPACE,
    }
}
