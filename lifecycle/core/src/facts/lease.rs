//! A cluster's Lease.

use std::time::Instant;

use jiff::Timestamp;

/// The Lease that a cluster's agent renews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// metadata.resourceVersion
    pub resource_version: String,
    /// spec.renewTime, by the agent's clock. Absurd values are kept.
    pub renew_time: Option<Timestamp>,
    /// When the renewal was observed, by the hub's monotonic clock. For the renewal that the lease has when it is first
    /// seen: as long ago as `renew_time`, and never later than now. (See [`crate::heartbeat::first_seen`].)
    pub renewed: Instant,
    /// When the lease was first seen; None once a renewal was observed. While it is set, `renewed` is by the agent's
    /// clock.
    pub first_seen: Option<Instant>,
    /// Hub's wall clock at the moment this renewal was observed. None before the first change, when clocks cannot be
    /// compared.
    pub observed_wall: Option<Timestamp>,
}
