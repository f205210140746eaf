//! How long an add-on rests after a decision about it as a whole, or about its permissions on all clusters.

use std::time::Duration;

use berth_reconcile::queue::rest_after;

/// The shortest rest: clusters report in bursts, and each report concerns the add-on as a whole.
const PAUSE: Duration = Duration::from_millis(100);

/// How many times as long as the decisions about all add-ons take, each of them rests: together they take less than a tenth of a
/// processor, however often ManagedClusterAddOns change.
const REST: u32 = 10;

/// How long an add-on rests after a decision that took so long, on a hub with this many add-ons.
pub(super) fn rest(took: Duration, add_ons: usize) -> Duration {
    let add_ons = u32::try_from(add_ons).unwrap_or(u32::MAX);
    rest_after(took, REST.saturating_mul(add_ons)).max(PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_ons_rest_longer_the_more_there_are() {
        for (took, add_ons, expected) in [
            (0, 1, 100),
            (20, 1, 200),
            (2, 10, 200),
            (2, 50, 1_000),
            (20, 200, 5_000),
        ] {
            let rest = rest(Duration::from_millis(took), add_ons);
            assert_eq!(rest.as_millis(), expected, "{took} ms, {add_ons}");
        }
    }
}
