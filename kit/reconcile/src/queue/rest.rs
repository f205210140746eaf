//! How long a key rests after a decision about it.

use std::time::Duration;

/// A decision that takes longer is costly.
const COSTLY: Duration = Duration::from_millis(5);

/// No rest is longer: also a decision that took long because the processor had much else to do delays the next one no further.
const LONGEST: Duration = Duration::from_secs(5);

/// How long a key rests after a decision that took so long: `times` as long after a costly one, at most 5 s. Then the key takes no more
/// than that share of a processor, however often what it depends on changes.
#[must_use]
pub fn rest_after(took: Duration, times: u32) -> Option<Duration> {
    (took >= COSTLY).then(|| took.saturating_mul(times).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_costly_decision_is_followed_by_a_rest_that_has_an_end() {
        let rest = |millis| rest_after(Duration::from_millis(millis), 30).map(|it| it.as_millis());
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
