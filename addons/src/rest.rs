//! How long an add-on rests after a decision about it as a whole, or about its permissions on all clusters.

use std::time::Duration;

use berth_reconcile::queue::rest_after;

/// The shortest rest: clusters report in bursts, and each report concerns the add-on as a whole.
const PAUSE: Duration = Duration::from_millis(100);

/// How many times as long as its decision took an add-on rests, for each add-on of the hub: together they take about a tenth of a
/// processor, however often ManagedClusterAddOns change. They take more only where a rest reaches its upper bound.
const REST: u32 = 10;

/// The rest of an add-on after a decision about it as a whole, on a hub with this many add-ons.
pub(super) fn rest(took: Duration, add_ons: usize) -> Duration {
    let add_ons = u32::try_from(add_ons).unwrap_or(u32::MAX).max(1);
    rest_after(took, REST.saturating_mul(add_ons)).max(PAUSE)
}

/// The rest of an add-on after a decision about its permissions. It does not become longer with the number of add-ons: permissions are also
/// taken away.
pub(super) fn rest_of_permissions(took: Duration) -> Duration {
    rest(took, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_ons_rest_longer_the_more_there_are() {
        for (took, add_ons, expected) in [
            (0, 1, 100),
            (20, 0, 200),
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
