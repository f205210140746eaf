//! The Lease of a cluster's agent.

use berth_reconcile::{Item, Watched};
use serde_json::Value;

use super::{Fact, watched};
use crate::handshake::LeaseFact;

/// The resource of Leases and its group, for messages.
pub(super) const LEASES: &str = "leases.coordination.k8s.io";

/// The row of Leases.
pub(super) fn leases() -> Watched<()> {
    watched("leases", ("coordination.k8s.io", "v1", "leases"))
}

impl Fact for LeaseFact {
    const RESOURCE: &'static str = LEASES;

    /// The one of a page.
    fn most() -> usize {
        1
    }

    fn watched() -> Watched<()> {
        leases()
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        Some(Self::read(&item.parse::<Value>().ok()?))
    }
}
