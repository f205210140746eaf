//! How long an add-on rests after a decision.

use std::time::Duration;

use berth_reconcile::queue::Next;

/// Nothing is due until something changes.
pub(super) const SETTLED: Next = Next::Settled {
    again: None,
    pause: None,
};

/// A decision that takes longer is costly: the add-on rests after it.
const COSTLY: Duration = Duration::from_millis(5);

/// How many times as long as a costly decision took, the add-on rests: then it takes a thirtieth of a processor, however often its
/// ManagedClusterAddOns change.
const REST: u32 = 30;

/// How long an add-on rests after a decision that took so long.
pub(super) fn rest_after(took: Duration) -> Option<Duration> {
    (took >= COSTLY).then(|| took.saturating_mul(REST))
}
