//! Counts what a cluster's namespace on the hub holds.

use crate::failure::CommandError;
use crate::hub::HubConnection;

/// Counts the ManifestWorks in the cluster's namespace.
pub(crate) async fn works(hub: &HubConnection, name: &str) -> Result<usize, CommandError> {
    let path = format!(
        "/apis/work.open-cluster-management.io/v1/namespaces/{name}/manifestworks?limit=500"
    );
    count(hub, &path).await
}

/// Counts the add-ons of the cluster.
pub(crate) async fn addons(hub: &HubConnection, name: &str) -> Result<usize, CommandError> {
    let path = format!(
        "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/{name}/managedclusteraddons?limit=500"
    );
    count(hub, &path).await
}

async fn count(hub: &HubConnection, path: &str) -> Result<usize, CommandError> {
    match hub.metadata(path).await {
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
