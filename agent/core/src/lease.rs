//! When the agent renews the cluster's Lease on the hub.
//!
//! The hub takes a cluster for unreachable after five periods without a renewal.

use std::time::Duration;

/// The period of a cluster that names none, as in its CRD.
const DEFAULT_PERIOD: Duration = Duration::from_secs(60);

/// The first pause after a failure, which doubles up to a quarter of the period.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Returns the period in which the Lease is renewed once, from `spec.leaseDurationSeconds`. Zero and negative values mean the default.
#[must_use]
pub fn period(lease_duration_seconds: i32) -> Duration {
    match u64::try_from(lease_duration_seconds) {
        Ok(seconds @ 1..) => Duration::from_secs(seconds),
        _ => DEFAULT_PERIOD,
    }
}

/// Returns how long to wait after a renewal that succeeded.
///
/// `chance` is in `0.0..1.0`. The wait is the period and up to a quarter more, as OCM's agent waits, so that agents that started together
/// spread.
#[must_use]
pub fn pause(period: Duration, chance: f64) -> Duration {
    period.mul_f64(1.0 + 0.25 * chance.clamp(0.0, 1.0))
}

/// Returns how long to wait after this many renewals in a row that failed (at least one).
///
/// From one second, doubling, to a quarter of the period; then half of it to all of it, by chance. OCM's agent waits for a whole period, so
/// two lost requests in a row bring it close to the hub's limit.
#[must_use]
pub fn pause_after_failure(period: Duration, failures: u32, chance: f64) -> Duration {
    let doubled = FIRST_RETRY.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let longest = (period / 4).max(Duration::from_millis(250));
    doubled
        .min(longest)
        .mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_missing_or_senseless_duration_means_a_minute() {
        for (seconds, expected) in [
            (0, 60),
            (-5, 60),
            (i32::MIN, 60),
            (1, 1),
            (60, 60),
            (86_400, 86_400),
        ] {
            assert_eq!(period(seconds), expected * SECOND, "{seconds}");
        }
    }

    #[test]
    fn renewals_spread_over_a_quarter_of_the_period() {
        assert_eq!(pause(60 * SECOND, 0.0), 60 * SECOND);
        assert_eq!(pause(60 * SECOND, 1.0), 75 * SECOND);
        assert_eq!(pause(60 * SECOND, 7.0), 75 * SECOND);
    }

    #[test]
    fn a_failure_is_followed_by_another_try_within_a_quarter_of_the_period() {
        let pauses: Vec<u64> = (1..7)
            .map(|failures| pause_after_failure(60 * SECOND, failures, 1.0).as_secs())
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 15, 15]);
        assert_eq!(pause_after_failure(60 * SECOND, 1, 0.0), SECOND / 2);
        // Periods of a second are retried within it, too.
        assert_eq!(pause_after_failure(SECOND, 9, 1.0), SECOND / 4);
        assert_eq!(pause_after_failure(60 * SECOND, u32::MAX, 1.0), 15 * SECOND);
    }

    /// The hub's limit is five periods. With an outage of four, the Lease is renewed in time.
    #[test]
    fn an_outage_of_four_periods_is_survived() {
        let period = 60 * SECOND;
        let mut at = pause(period, 1.0);
        let mut failures = 0;
        while at < 4 * period {
            failures += 1;
            at += pause_after_failure(period, failures, 1.0);
        }
        assert!(at < 5 * period, "{at:?}");
    }
}
