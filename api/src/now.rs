//! The current time, an argument of the deciders.

use std::time::Instant;

use jiff::Timestamp;

/// The current time.
///
/// Measure durations with `instant`, because `wall` jumps when an admin sets the clock.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The monotonic clock.
    pub instant: Instant,
    /// The wall clock, for times in objects.
    pub wall: Timestamp,
}
