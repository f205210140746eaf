//! How long a key rests after a decision about it.

use std::time::Duration;

/// No rest is longer: also a decision that took long because the processor had much else to do delays the next one no further.
const LONGEST: Duration = Duration::from_secs(5);

/// The rest of a key after a decision: `times` as long as the decision took, at most 5 s. Short of that, the key takes no larger share of a
/// processor than one by `times`, however often what it depends on changes. For `n` keys to share it, `times` is multiplied by `n`.
#[must_use]
pub fn rest_after(took: Duration, times: u32) -> Duration {
    took.saturating_mul(times).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_as_long_as_what_it_follows_and_has_an_end() {
        let rest = |millis, times| rest_after(Duration::from_millis(millis), times).as_millis();
        for (took, times, expected) in [
            (0, 10, 0),
            (5, 10, 50),
            (5, 500, 2_500),
            (100, 30, 3_000),
            (1_000, 30, 5_000),
            (u64::MAX, u32::MAX, 5_000),
        ] {
            assert_eq!(rest(took, times), expected, "{times} times {took} ms");
        }
    }
}
