//! When the agent asks for its next certificate.
//!
//! OCM's agent renews when between 20 and 25 percent of the validity is left, and draws the number anew at each look, so that in effect it
//! renews at 25. Here the number follows from the certificate: every look at the same certificate gives the same time, also after a
//! restart, and the agents of a fleet spread over a twentieth of the validity.

use jiff::{SignedDuration, Timestamp};

/// The validity of a chain: from the latest `notBefore` to the earliest `notAfter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Valid from this time.
    pub not_before: Timestamp,
    /// Valid until this time.
    pub not_after: Timestamp,
}

/// What a look at the clock says about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not valid yet: either the clock of this machine is late, or that of the hub is early.
    NotYetValid,
    /// Valid. Look again at this time, when the next one is due.
    Fresh {
        /// When to ask for the next certificate.
        renew_at: Timestamp,
    },
    /// Valid, and the next one is due.
    Due,
    /// Expired: it cannot be used to ask for the next one.
    Expired,
}

// === impl Validity ===

impl Validity {
    /// Returns where the certificate stands. `digest` is that of the certificate; it spreads agents evenly.
    #[must_use]
    pub fn standing(self, digest: &[u8; 32], now: Timestamp) -> Standing {
        let renew_at = self.renew_at(digest);
        match () {
            () if now >= self.not_after => Standing::Expired,
            () if now < self.not_before => Standing::NotYetValid,
            () if now >= renew_at => Standing::Due,
            () => Standing::Fresh { renew_at },
        }
    }

    /// When 20 to 25 percent of the validity are left.
    fn renew_at(self, digest: &[u8; 32]) -> Timestamp {
        let [a, b, c, d, ..] = *digest;
        let chance = f64::from(u32::from_be_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0);
        let total = self
            .not_after
            .duration_since(self.not_before)
            .max(SignedDuration::ZERO);
        let left = total.mul_f64(0.20 + 0.05 * chance);
        self.not_after.checked_sub(left).unwrap_or(self.not_before)
    }
}

/// Returns OCM's message about a certificate that was renewed, with times as Go writes them.
#[must_use]
pub fn rotated(not_before: Timestamp, not_after: Timestamp) -> String {
    let go = |time: Timestamp| time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string();
    format!(
        "client certificate rotated starting from {} to {}",
        go(not_before),
        go(not_after)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + HOUR * i32::try_from(hours).unwrap()
    }

    /// Valid from hour 1000 to hour 2000.
    const VALIDITY: Validity = Validity {
        not_before: Timestamp::constant(3_600_000, 0),
        not_after: Timestamp::constant(7_200_000, 0),
    };

    #[test]
    fn a_certificate_is_renewed_when_a_quarter_to_a_fifth_is_left() {
        let (early, late) = ([0xff; 32], [0; 32]);
        for (hour, digest, expected) in [
            (999, early, Standing::NotYetValid),
            (
                1000,
                early,
                Standing::Fresh {
                    renew_at: at(1750) + SignedDuration::from_millis(1),
                },
            ),
            (1800, early, Standing::Due),
            (1799, late, Standing::Fresh { renew_at: at(1800) }),
            (1800, late, Standing::Due),
            (1999, late, Standing::Due),
            (2000, late, Standing::Expired),
            (9999, late, Standing::Expired),
        ] {
            let mut standing = VALIDITY.standing(&digest, at(hour));
            if let (Standing::Fresh { renew_at }, Standing::Fresh { renew_at: expected }) =
                (&mut standing, expected)
                && renew_at.duration_since(expected).abs() < SignedDuration::from_secs(1)
            {
                *renew_at = expected;
            }
            assert_eq!(standing, expected, "{hour}");
        }
    }

    #[test]
    fn a_validity_that_ends_before_it_begins_is_expired() {
        let backwards = Validity {
            not_before: at(20),
            not_after: at(10),
        };
        assert_eq!(backwards.standing(&[7; 32], at(15)), Standing::Expired);
    }

    proptest! {
        #[test]
        fn every_look_at_a_certificate_gives_the_same_time(digest: [u8; 32], hour in 1000_i64..1750) {
            let first = VALIDITY.standing(&digest, at(1000));
            prop_assert_eq!(VALIDITY.standing(&digest, at(hour)), first);
            let Standing::Fresh { renew_at } = first else {
                return Err(TestCaseError::fail("not fresh"));
            };
            prop_assert!(renew_at > at(1750) && renew_at <= at(1800));
        }
    }
}
