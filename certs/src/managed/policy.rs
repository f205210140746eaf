//! For which names certificates are, and how long they are valid.

use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::{DnsName, ServerName};

use super::root::Root;
use crate::pair::Pair;
use crate::pem::Digest;

/// The shortest validity that can be renewed without haste.
const SHORTEST: Duration = Duration::from_secs(2);

/// The longest that anything may be valid: certificates cannot say later years.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Certificates are renewed when this part of their time is left,
const LEFT: u32 = 5;

/// or up to this part of that earlier: each at its own time.
const JITTER: f64 = 0.25;

/// When this part of its time is left, a certificate is replaced whatever has settled.
const LAST: u32 = 10;

/// What managed certificates are to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The DNS names of the serving certificate; the first is the Service's.
    pub dns_names: Vec<String>,
    /// Its addresses.
    pub ip_addresses: Vec<IpAddr>,
    /// How long an authority is valid.
    pub ca_validity: Duration,
    /// How long a serving certificate is valid.
    pub leaf_validity: Duration,
    /// How long an authority must have been in all registrations before what it issues is served.
    pub settle: Duration,
}

/// Why nothing can be managed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPolicy {
    /// Nobody could verify it.
    #[error("a certificate needs a name or an address")]
    NoName,
    /// Not a DNS name.
    #[error("{0:?} is neither a DNS name nor an IP address")]
    InvalidName(String),
    /// No time to renew it, or none that a certificate can say.
    #[error("the leaf's validity ({0:?}) must be from {SHORTEST:?} to {LONGEST:?}")]
    LeafValidity(Duration),
    /// It would be due as soon as it is made.
    #[error(
        "the authority's validity ({ca:?}) must be at least twice that of the leaf and the time to settle together \
         ({needed:?}), and at most {LONGEST:?}"
    )]
    CaValidity {
        /// As given.
        ca: Duration,
        /// The least.
        needed: Duration,
    },
}

// === impl Policy ===

impl Policy {
    /// Whether certificates can be managed so.
    ///
    /// # Errors
    /// What is wrong, with the values, for a person.
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

    /// As whom clients may address the server.
    pub fn server_names(&self) -> Vec<ServerName<'static>> {
        let dns = self.dns_names.iter();
        let dns = dns.filter_map(|name| ServerName::try_from(name.clone()).ok());
        let ip = self.ip_addresses.iter().map(|&ip| ServerName::from(ip));
        dns.chain(ip).collect()
    }

    /// The certificate is for exactly these names and addresses.
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

    /// When a serving certificate is to be renewed. Now, if it is valid for much longer than is wanted by now.
    pub(super) fn leaf_due(&self, leaf: &Pair, now: Timestamp) -> Timestamp {
        let left = early(self.leaf_validity / LEFT, leaf.digest);
        due(leaf.not_after, left, self.leaf_validity, now)
    }

    /// When an authority is to be renewed: what it issues until its successor has settled still has its whole time.
    pub(super) fn authority_due(&self, root: &Root, now: Timestamp) -> Timestamp {
        let left = early(self.ca_validity / LEFT, root.digest());
        let left = left.max(self.leaf_validity.saturating_add(self.settle));
        due(root.not_after(), left, self.ca_validity, now)
    }

    /// When a serving certificate is replaced by one of an authority that may not have settled.
    pub(super) fn last_call(&self, leaf: &Pair) -> Timestamp {
        before(leaf.not_after, self.leaf_validity / LAST)
    }

    /// A certificate that ends then would be worth being made.
    pub(super) fn gains(&self, leaf: &Pair, not_after: Timestamp) -> bool {
        not_after >= after(leaf.not_after, self.leaf_validity / LAST)
    }
}

/// So much, or up to a quarter more: always the same for the same certificate, whoever asks.
fn early(left: Duration, digest: Digest) -> Duration {
    left.mul_f64(1.0 + JITTER * digest.fraction())
}

fn due(not_after: Timestamp, left: Duration, validity: Duration, now: Timestamp) -> Timestamp {
    // A flag has been lowered. Twice, so that clocks that differ don't make it happen.
    if not_after > after(now, validity.saturating_mul(2)) {
        return now;
    }
    before(not_after, left)
}

/// `at` and so much later, or the end of all times.
pub(super) fn after(at: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// `at` and so much earlier, or the beginning of all times.
pub(super) fn before(at: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_cannot_be_managed_is_refused_with_the_values() {
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
