//! A cluster's Lease.

use std::time::Instant;

use jiff::Timestamp;

/// The Lease that a cluster's agent renews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// metadata.resourceVersion
    pub resource_version: String,
    /// spec.renewTime, as the agent's clock had it. Absurd values are kept.
    pub renew_time: Option<Timestamp>,
    /// When the renewal was observed, by the hub's monotonic clock. For one that was there when the lease was first seen:
    /// as long ago as `renew_time` is, and never later than that sight. (See [`crate::heartbeat::first_seen`].)
    pub renewed: Instant,
    /// When the lease was first seen; None once a renewal was observed. As long as it is set, `renewed` is by the agent's
    /// clock. (See [`crate::heartbeat::silent_since`].)
    pub first_seen: Option<Instant>,
    /// Hub's wall clock at the moment this renewal was observed. None before the first change: there is nothing to compare
    /// clocks by.
    pub observed_wall: Option<Timestamp>,
}
