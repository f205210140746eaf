//! Explanations for a server, which reads the hub with an account of its own.

use berth_api::Placement;
use berth_hub::HubApi;
use berth_placement_core::{Explanation, Gates, Inventory};
use jiff::Timestamp;

use super::explained;
use super::gather::{Needs, Origin, read};
use crate::hub::{HubConnection, Peer};

/// Returns a Placement of the hub, if it exists.
///
/// # Errors
/// The hub cannot be read; the message says why.
pub(super) async fn stored_placement(
    api: &HubApi,
    namespace: &str,
    name: &str,
) -> anyhow::Result<Option<Placement>> {
    let hub = HubConnection::over(api.clone(), Peer::Hub, None);
    Origin::Hub(hub).find(namespace, name).await
}

/// Explains a Placement, stored or not, on the current state of the hub. Nothing of it is kept. `of_sets`: only the clusters of the sets that
/// it selects from are named, for a caller that may not list all.
///
/// # Errors
/// The hub cannot be read; the message says why.
pub(super) async fn explain_placement(
    api: &HubApi,
    placement: &Placement,
    of_sets: bool,
    now: Timestamp,
) -> anyhow::Result<Explanation> {
    let hub = HubConnection::over(api.clone(), Peer::Hub, None);
    let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
    let (inventory, notes): (Inventory, _) = read(&hub, &[namespace], Needs::of(placement)).await?;
    let placement = placement.clone();
    // Expressions may take a second: other requests and the probes are not held up.
    let task = tokio::task::spawn_blocking(move || {
        let mut explanation = explained(&inventory, &placement, Gates::default(), now);
        if of_sets {
            explanation.withhold_others();
        } else {
            explanation.warnings.extend(notes);
            let unreadable = inventory.unreadable.iter();
            let unreadable =
                unreadable.map(|(object, why)| format!("{object} cannot be read: {why}"));
            explanation.warnings.extend(unreadable);
        }
        explanation
    });
    Ok(task.await?)
}
