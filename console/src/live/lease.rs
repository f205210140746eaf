//! The Lease of a cluster's agent.

use berth_reconcile::{Item, Watched};
use serde_json::Value;

use super::{Fact, watched};
use crate::handshake::LeaseFact;

impl Fact for LeaseFact {
    const RESOURCE: &'static str = "leases.coordination.k8s.io";

    /// The one of a page.
    fn most() -> usize {
        1
    }

    fn watched() -> Watched<()> {
        watched("leases", ("coordination.k8s.io", "v1", "leases"))
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        Some(Self::read(&item.parse::<Value>().ok()?))
    }
}
