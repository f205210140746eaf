//! Explanations for a server, which reads the hub with an account of its own.

use berth_api::Placement;
use berth_hub::HubApi;
use berth_placement_core::{Explanation, Inventory};
use jiff::Timestamp;

use super::gather::{Needs, Origin, read};
use crate::hub::{HubConnection, Peer};

/// Returns a Placement of the hub, if it exists.
///
/// # Errors
/// The hub cannot be read; the message says why.
pub async fn stored_placement(
    api: &HubApi,
    namespace: &str,
    name: &str,
) -> anyhow::Result<Option<Placement>> {
    let hub = HubConnection::over(api.clone(), Peer::Hub, None);
    Origin::Hub(hub).find(namespace, name).await
}

/// Explains a Placement, stored or not, on the current state of the hub. Nothing of it is kept.
///
/// # Errors
/// The hub cannot be read; the message says why.
pub async fn explain_placement(
    api: &HubApi,
    placement: &Placement,
    now: Timestamp,
) -> anyhow::Result<Explanation> {
    let hub = HubConnection::over(api.clone(), Peer::Hub, None);
    let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
    let (inventory, notes): (Inventory, _) = read(&hub, &[namespace], Needs::of(placement)).await?;
    let mut explanation = Explanation::new(&inventory, placement, now);
    explanation.warnings.extend(notes);
    let unreadable = inventory.unreadable.iter();
    let unreadable = unreadable.map(|(object, why)| format!("{object} cannot be read: {why}"));
    explanation.warnings.extend(unreadable);
    Ok(explanation)
}
