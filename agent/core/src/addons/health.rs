//! The health of an add-on: its agent renews a Lease of the add-on's name in the install namespace.

use std::time::Duration;

use berth_api::Now;
use berth_api::conditions::{self, FALSE, TRUE, UNKNOWN};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::fact::Addon;

/// The condition of an add-on that reports its health.
pub const AVAILABLE: &str = "Available";

/// How long a renewal counts.
const COUNTS: Duration = Duration::from_secs(300);

/// The Lease of an add-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// It does not exist.
    Absent,
    /// It exists, and was renewed at this time; `None`: never.
    Renewed(Option<Timestamp>),
}

/// Returns the condition that the Lease gives, and when it changes if the Lease is not renewed. `None`: another controller reports it.
#[must_use]
pub fn available(
    name: &str,
    addon: &Addon,
    lease: Lease,
    now: Now,
) -> Option<(Condition, Option<Timestamp>)> {
    if addon.is_customized {
        return None;
    }
    let ends = |time: Timestamp| time.saturating_add(COUNTS).unwrap_or(Timestamp::MAX);
    let (status, reason, message, again) = match lease {
        Lease::Renewed(Some(time)) if now.wall < ends(time) => (
            TRUE,
            "ManagedClusterAddOnLeaseUpdated",
            format!("{name} add-on is available."),
            Some(ends(time)),
        ),
        Lease::Renewed(_) => (
            FALSE,
            "ManagedClusterAddOnLeaseUpdateStopped",
            format!("{name} add-on is not available."),
            None,
        ),
        Lease::Absent => {
            let hint = addon.hosting_cluster.as_ref().map_or_else(String::new, |cluster| {
                format!(
                    " No lease found on hosting cluster \"{cluster}\"; verify it matches the cluster where this managed cluster's \
                     klusterlet actually runs."
                )
            });
            (
                UNKNOWN,
                "ManagedClusterAddOnLeaseNotFound",
                format!("The status of {name} add-on is unknown.{hint}"),
                None,
            )
        }
    };
    let condition = conditions::new(AVAILABLE, (status, reason), message, now.wall);
    Some((condition, again))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_condition_follows_the_lease() {
        let now = Now {
            instant: Instant::now(),
            wall: Timestamp::from_second(1000).unwrap(),
        };
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        for (sentence, lease, status, again) in [
            ("absent", Lease::Absent, UNKNOWN, None),
            ("never renewed", Lease::Renewed(None), FALSE, None),
            ("just renewed", Lease::Renewed(at(1000)), TRUE, at(1300)),
            ("in the future", Lease::Renewed(at(2000)), TRUE, at(2300)),
            ("some time ago", Lease::Renewed(at(701)), TRUE, at(1001)),
            ("long ago", Lease::Renewed(at(700)), FALSE, None),
        ] {
            let judged = available("x", &Addon::default(), lease, now).unwrap();
            assert_eq!(
                (judged.0.status.as_str(), judged.1),
                (status, again),
                "{sentence}"
            );
        }
        let customized = Addon {
            is_customized: true,
            ..Addon::default()
        };
        assert_eq!(available("x", &customized, Lease::Absent, now), None);
        let hosted = Addon {
            hosting_cluster: Some("h".to_owned()),
            ..Addon::default()
        };
        let (condition, _) = available("x", &hosted, Lease::Absent, now).unwrap();
        assert_eq!(
            condition.message,
            "The status of x add-on is unknown. No lease found on hosting cluster \"h\"; verify it matches the cluster where this \
             managed cluster's klusterlet actually runs."
        );
    }
}
