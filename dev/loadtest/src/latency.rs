//! Latencies in fixed buckets: constant memory and a few instructions per call, independent of the length of the run.
//!
//! # Promises
//! A quantile is rounded up by at most 1/64 (1.6 %). The maximum is exact.

use std::time::Duration;

/// Number of buckets per power of two.
const STEPS: u64 = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Buckets up to 2^40 ns, about 18 minutes; the last bucket holds longer durations, too.
const MAX_BITS: u32 = 40;
const BUCKETS: usize = ((MAX_BITS - STEP_BITS + 1) as usize) << STEP_BITS;

/// A histogram of durations with a resolution of nanoseconds.
#[derive(Clone)]
pub(crate) struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
}

impl Latencies {
    pub(crate) fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanos)] += 1;
        self.count += 1;
        self.max = self.max.max(nanos);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// Returns the latency that this many of a thousand calls did not exceed; zero without calls.
    pub(crate) fn at_per_mille(&self, per_mille: u64) -> Duration {
        let rank = (self.count * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        let index = self.buckets.iter().position(|calls| {
            seen += calls;
            seen >= rank
        });
        Duration::from_nanos(index.map_or(0, highest).min(self.max))
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            buckets: vec![0; BUCKETS],
            count: 0,
            max: 0,
        }
    }
}

/// The first STEPS buckets hold one value each; each further STEPS buckets share a power of two.
fn bucket(nanos: u64) -> usize {
    let nanos = nanos.min((1 << MAX_BITS) - 1);
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(STEP_BITS + 1);
    (shift as usize) * STEPS as usize + (nanos >> shift) as usize
}

/// Returns the highest value in a bucket.
fn highest(bucket: usize) -> u64 {
    let steps = STEPS as usize;
    let shift = (bucket / steps).saturating_sub(1);
    let step = bucket - shift * steps;
    ((step as u64 + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_near_the_top_of_it() {
        let mut value = 1_u64;
        while value < 1 << MAX_BITS {
            for nanos in [value - 1, value, value + 1, value + value / 3] {
                let nanos = nanos.min((1 << MAX_BITS) - 1);
                let top = highest(bucket(nanos));
                assert!(
                    top >= nanos && top - nanos <= nanos / STEPS,
                    "{nanos} reported as {top}"
                );
            }
            value *= 2;
        }
        assert_eq!(
            bucket(u64::MAX),
            BUCKETS - 1,
            "the longest falls into the last bucket"
        );
    }

    #[test]
    fn percentiles_of_a_thousand_even_latencies() {
        let (mut all, mut half) = (Latencies::default(), Latencies::default());
        for micros in 1..=500 {
            all.record(Duration::from_micros(micros));
            half.record(Duration::from_micros(500 + micros));
        }
        all.merge(&half);
        assert_eq!((all.count(), all.max()), (1000, Duration::from_millis(1)));
        for micros in [500, 900, 990, 999] {
            let (found, truth) = (all.at_per_mille(micros), Duration::from_micros(micros));
            assert!(
                found >= truth && found <= truth + truth / 64,
                "{micros} of a thousand: {found:?}, not {truth:?}"
            );
        }
        assert_eq!(all.at_per_mille(1000), all.max());
        assert_eq!(Latencies::default().at_per_mille(990), Duration::ZERO);
    }
}
