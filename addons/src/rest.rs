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

/// How many times as long as a costly decision took, the add-on rests: then it takes little of a processor, however often its
/// ManagedClusterAddOns change.
const REST: u32 = 30;

/// No rest is longer: also a decision that took long because the processor had much else to do delays the next one no further.
const LONGEST: Duration = Duration::from_secs(5);

/// How long an add-on rests after a decision that took so long.
pub(super) fn rest_after(took: Duration) -> Option<Duration> {
    (took >= COSTLY).then(|| took.saturating_mul(REST).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_costly_decision_is_followed_by_a_rest_that_has_an_end() {
        let rest = |millis| rest_after(Duration::from_millis(millis)).map(|it| it.as_millis());
        for (took, expected) in [
            (0, None),
            (4, None),
            (5, Some(150)),
            (100, Some(3_000)),
            (1_000, Some(5_000)),
        ] {
            assert_eq!(rest(took), expected, "{took} ms");
        }
    }
}
