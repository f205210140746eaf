//! The time, as deciders are given it.

use std::time::Instant;

use jiff::Timestamp;

/// The time, as deciders are given it.
///
/// How long something has lasted is judged by `instant`: `wall` jumps when an admin sets the clock.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Monotonic.
    pub instant: Instant,
    /// What the clock says; for what is written down.
    pub wall: Timestamp,
}
