//! The names and the validity of managed certificates.

use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::{DnsName, ServerName};

use super::root::Root;
use crate::pair::Pair;
use crate::pem::Digest;

/// The minimum validity, so that there is time for a renewal.
const SHORTEST: Duration = Duration::from_secs(2);

/// The maximum validity: certificates cannot express later years.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Certificates are renewed when this fraction (1/5) of their validity is left,
const LEFT: u32 = 5;

/// or up to this fraction of that time earlier, different for each certificate.
const JITTER: f64 = 0.25;

/// When this fraction (1/10) of its validity is left, a certificate is replaced even if the authority has not settled.
const LAST: u32 = 10;

/// The requirements for managed certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The DNS names of the serving certificate; the first is the Service's.
    pub dns_names: Vec<String>,
    /// The IP addresses of the serving certificate.
    pub ip_addresses: Vec<IpAddr>,
    /// The validity of an authority.
    pub ca_validity: Duration,
    /// The validity of a serving certificate.
    pub leaf_validity: Duration,
    /// The time that an authority must have been in all registrations before its certificates are served.
    pub settle: Duration,
}

/// Errors in a [`Policy`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPolicy {
    /// No name and no address: clients could not verify the certificate.
    #[error("a certificate needs a name or an address")]
    NoName,
    /// Not a DNS name.
    #[error("{0:?} is neither a DNS name nor an IP address")]
    InvalidName(String),
    /// Too short for a renewal, or too long for a certificate.
    #[error("the leaf's validity ({0:?}) must be from {SHORTEST:?} to {LONGEST:?}")]
    LeafValidity(Duration),
    /// Too short: the authority would be due for renewal at once. Or too long for a certificate.
    #[error(
        "the authority's validity ({ca:?}) must be at least twice that of the leaf and the time to settle together \
         ({needed:?}), and at most {LONGEST:?}"
    )]
    CaValidity {
        /// The configured validity.
        ca: Duration,
        /// The minimum validity.
        needed: Duration,
    },
}

// === impl Policy ===

impl Policy {
    /// Checks the policy.
    ///
    /// # Errors
    /// The first error, with its values, for users.
    pub fn validate(&self) -> Result<(), InvalidPolicy> {
        if self.dns_names.is_empty() && self.ip_addresses.is_empty() {
            return Err(InvalidPolicy::NoName);
        }
        let invalid = |name: &&String| DnsName::try_from(name.as_str()).is_err();
        if let Some(name) = self.dns_names.iter().find(invalid) {
            return Err(InvalidPolicy::InvalidName(name.clone()));
        }
        let leaf = self.leaf_validity;
        if leaf < SHORTEST || leaf > LONGEST {
            return Err(InvalidPolicy::LeafValidity(leaf));
        }
        let needed = leaf.saturating_add(self.settle).saturating_mul(2);
        let ca = self.ca_validity;
        if ca < needed || ca > LONGEST {
            return Err(InvalidPolicy::CaValidity { ca, needed });
        }
        Ok(())
    }

    /// Returns the names and addresses under which clients call the server.
    pub fn server_names(&self) -> Vec<ServerName<'static>> {
        let dns = self.dns_names.iter();
        let dns = dns.filter_map(|name| ServerName::try_from(name.clone()).ok());
        let ip = self.ip_addresses.iter().map(|&ip| ServerName::from(ip));
        dns.chain(ip).collect()
    }

    /// Returns true if the certificate is for exactly these names and addresses.
    pub(super) fn names_of(&self, leaf: &Pair) -> bool {
        fn sorted<T: Ord>(of: &[T]) -> Vec<&T> {
            let mut of: Vec<_> = of.iter().collect();
            of.sort_unstable();
            of.dedup();
            of
        }
        sorted(&leaf.dns_names) == sorted(&self.dns_names)
            && sorted(&leaf.ip_addresses) == sorted(&self.ip_addresses)
    }

    /// Returns the time to renew a serving certificate. It is now if the certificate is valid for much longer than the
    /// current policy allows.
    pub(super) fn leaf_due(&self, leaf: &Pair, now: Timestamp) -> Timestamp {
        let left = early(self.leaf_validity / LEFT, leaf.digest);
        due(leaf.not_after, left, self.leaf_validity, now)
    }

    /// Returns the time to renew an authority. Until its successor has settled, it can still issue certificates with the
    /// whole validity.
    pub(super) fn authority_due(&self, root: &Root, now: Timestamp) -> Timestamp {
        let left = early(self.ca_validity / LEFT, root.digest());
        let left = left.max(self.leaf_validity.saturating_add(self.settle));
        due(root.not_after(), left, self.ca_validity, now)
    }

    /// Returns the time from which a serving certificate is replaced even if the new authority has not settled.
    pub(super) fn last_call(&self, leaf: &Pair) -> Timestamp {
        before(leaf.not_after, self.leaf_validity / LAST)
    }

    /// Returns true if a new certificate that expires then is worth issuing.
    pub(super) fn gains(&self, leaf: &Pair, not_after: Timestamp) -> bool {
        not_after >= after(leaf.not_after, self.leaf_validity / LAST)
    }
}

/// Adds up to a quarter to a duration: always the same for the same certificate, in all processes.
fn early(left: Duration, digest: Digest) -> Duration {
    left.mul_f64(1.0 + JITTER * digest.fraction())
}

fn due(not_after: Timestamp, left: Duration, validity: Duration, now: Timestamp) -> Timestamp {
    // The configured validity was reduced. The factor tolerates clocks that differ.
    if not_after > after(now, validity.saturating_mul(2)) {
        return now;
    }
    before(not_after, left)
}

/// Returns the time `by` after `at`, at most the last time of jiff.
pub(super) fn after(at: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Returns the time `by` before `at`, at least the first time of jiff.
pub(super) fn before(at: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn invalid_policies_are_refused_with_their_values() {
        let good = Policy {
            dns_names: vec!["gate.hub.svc".to_owned()],
            ip_addresses: vec![],
            ca_validity: 40 * SECOND,
            leaf_validity: 10 * SECOND,
            settle: 2 * SECOND,
        };
        assert_eq!(good.validate(), Ok(()));
        let with = |change: fn(&mut Policy)| {
            let mut policy = good.clone();
            change(&mut policy);
            policy
        };
        // (sentence, policy, part of the text)
        let table = [
            ("nobody", with(|it| it.dns_names.clear()), "needs a name"),
            (
                "no name",
                with(|it| it.dns_names[0] = "a b".to_owned()),
                "\"a b\" is neither",
            ),
            (
                "a leaf of a second",
                with(|it| it.leaf_validity = SECOND),
                "leaf's validity (1s)",
            ),
            (
                "a leaf for ever",
                with(|it| it.leaf_validity = Duration::MAX),
                "leaf's validity",
            ),
            (
                "an authority that is due at once",
                with(|it| it.ca_validity = 23 * SECOND),
                "(23s) must be at least twice",
            ),
            (
                "an authority for ever",
                with(|it| it.ca_validity = Duration::MAX),
                "at most",
            ),
            (
                "a settling for ever",
                with(|it| it.settle = Duration::MAX),
                "at least twice",
            ),
        ];
        for (sentence, policy, says) in table {
            let error = policy.validate().unwrap_err().to_string();
            assert!(error.contains(says), "{sentence}: {error}");
        }
        let address = with(|it| {
            it.dns_names.clear();
            it.ip_addresses.push([127, 0, 0, 1].into());
        });
        assert_eq!(address.validate(), Ok(()));
        assert_eq!(address.server_names().len(), 1);
    }
}
