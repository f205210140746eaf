//! The spread of times: median, 99th percentile, slowest.

use std::time::Duration;

use serde::Serialize;

/// The spread of times, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// The number of times.
    pub(crate) count: usize,
    pub(crate) median_s: f64,
    pub(crate) p99_s: f64,
    pub(crate) slowest_s: f64,
}

// === impl Spread ===

impl Spread {
    /// The spread of these times; `None` of none.
    pub(crate) fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let slowest_s = times.last()?.as_secs_f64();
        // The least time that at least this share of the times does not exceed.
        let percentile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times[rank - 1].as_secs_f64()
        };
        Some(Self {
            count: times.len(),
            median_s: percentile(50),
            p99_s: percentile(99),
            slowest_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        assert_eq!(Spread::of(Vec::new()), None);
        let seconds = |numbers: std::ops::RangeInclusive<u64>| {
            Spread::of(numbers.rev().map(Duration::from_secs).collect())
        };
        for (numbers, median_s, p99_s, slowest_s) in [
            (1..=1, 1.0, 1.0, 1.0),
            (1..=4, 2.0, 4.0, 4.0),
            (1..=200, 100.0, 198.0, 200.0),
        ] {
            let count = numbers.clone().count();
            let expected = Spread {
                count,
                median_s,
                p99_s,
                slowest_s,
            };
            assert_eq!(seconds(numbers), Some(expected));
        }
    }
}
