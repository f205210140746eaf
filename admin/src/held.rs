//! Counts what a cluster's namespace on the hub holds.

use berth_api::groups;
use berth_hub::object_path;

use crate::failure::CommandError;
use crate::hub::HubConnection;

/// Counts the ManifestWorks in the cluster's namespace.
pub(crate) async fn works(hub: &HubConnection, name: &str) -> Result<usize, CommandError> {
    let works = (groups::WORK, "v1", groups::MANIFEST_WORKS);
    count(hub, works, name).await
}

/// Counts the add-ons of the cluster.
pub(crate) async fn addons(hub: &HubConnection, name: &str) -> Result<usize, CommandError> {
    let addons = (
        "addon.open-cluster-management.io",
        "v1alpha1",
        "managedclusteraddons",
    );
    count(hub, addons, name).await
}

async fn count(
    hub: &HubConnection,
    kind: (&str, &str, &str),
    namespace: &str,
) -> Result<usize, CommandError> {
    let path = object_path(kind, namespace, "") + "?limit=500";
    match hub.metadata(&path).await {
        Ok(list) => {
            let more = list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
            let here = list["items"].as_array().map_or(0, Vec::len);
            Ok(here.saturating_add(usize::try_from(more).unwrap_or(usize::MAX)))
        }
        // The hub has no such kind.
        Err(CommandError::NoHub { .. }) => Ok(0),
        Err(failure) => Err(failure),
    }
}
