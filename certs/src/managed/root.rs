//! The certificate of an authority, and verification with it.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;

use crate::issue::Authority;
use crate::pem::{Digest, Problem, certificate_pem, decode, sha256, validity};

/// An authority's certificate, without its key.
#[derive(Clone, PartialEq, Eq)]
pub struct Root {
    der: CertificateDer<'static>,
    not_before: Timestamp,
    not_after: Timestamp,
}

// === impl Root ===

impl Root {
    /// Returns the certificate of an authority.
    ///
    /// # Errors
    /// The certificate cannot be decoded. This does not happen with an authority of ours.
    pub fn of(authority: &Authority) -> Result<Self, Problem> {
        let der = CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes())
            .map_err(|error| Problem::of_pem(&error))?;
        Self::new(der)
    }

    pub(super) fn new(der: CertificateDer<'static>) -> Result<Self, Problem> {
        let (not_before, not_after) = validity(&decode(&der, 1)?);
        Ok(Self {
            der,
            not_before,
            not_after,
        })
    }

    /// Decodes the certificate of an authority.
    ///
    /// # Errors
    /// The certificate cannot be decoded.
    pub fn from_der(der: Vec<u8>) -> Result<Self, Problem> {
        Self::new(der.into())
    }

    /// Decodes the certificates in PEM, in their order, up to the first invalid block.
    pub fn all_in(pem: &[u8]) -> Vec<Self> {
        CertificateDer::pem_slice_iter(pem)
            .map_while(Result::ok)
            .filter_map(|der| Self::new(der).ok())
            .collect()
    }

    /// Returns the certificate, PEM.
    pub fn pem(&self) -> String {
        certificate_pem(&self.der)
    }

    /// Returns the SHA-256 of its SubjectPublicKeyInfo, by which users and `kubeadm join` recognize an authority.
    pub fn key_fingerprint(&self) -> [u8; 32] {
        let decoded = decode(&self.der, 1).expect("it was decoded when it was created");
        sha256(decoded.public_key().raw)
    }

    /// Returns the last moment of its validity.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Returns true if it has not expired at `now`.
    pub fn lasts(&self, now: Timestamp) -> bool {
        now.as_second() <= self.not_after.as_second()
    }

    /// Orders certificates by age. The order of equally old certificates is fixed, too.
    pub(super) fn by_age(&self, other: &Self) -> std::cmp::Ordering {
        let key = |root: &Self| (root.not_before, root.not_after);
        key(self)
            .cmp(&key(other))
            .then_with(|| self.der.cmp(&other.der))
    }

    pub(super) fn digest(&self) -> Digest {
        Digest::of(&[&self.der])
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root")
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

/// Returns true if a client that trusts only these authorities would accept a server with this certificate (PEM, the leaf
/// first) at `now`, under each of these names.
///
/// Unlike rustls, but like Go, this also checks the validity of the authorities.
pub fn verifies(
    certificate: &[u8],
    roots: &[Root],
    names: &[ServerName<'_>],
    now: Timestamp,
) -> bool {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate)
        .map_while(Result::ok)
        .collect();
    let Some((leaf, intermediates)) = chain.split_first() else {
        return false;
    };
    let Ok(leaf) = ParsedCertificate::try_from(leaf) else {
        return false;
    };
    let mut store = RootCertStore::empty();
    for root in roots {
        if root.not_before <= now && root.lasts(now) {
            // A certificate that is not an authority's is ignored.
            let _ = store.add(root.der.clone());
        }
    }
    let Ok(now) = u64::try_from(now.as_second()) else {
        return false;
    };
    let algorithms = default_provider().signature_verification_algorithms;
    verify_server_cert_signed_by_trust_anchor(
        &leaf,
        &store,
        intermediates,
        UnixTime::since_unix_epoch(Duration::from_secs(now)),
        algorithms.all,
    )
    .is_ok()
        && names
            .iter()
            .all(|name| verify_server_name(&leaf, name).is_ok())
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::testing::{HOUR, NAME, authority, leaf};

    #[test]
    fn a_certificate_is_verified_as_an_api_server_does() {
        let (ours, others) = (authority(), authority());
        let issued = leaf(&ours);
        let [root, other] = [&ours, &others].map(|it| Root::of(it).unwrap());
        let now = Timestamp::now();
        let later = now + SignedDuration::from_hours(2);
        let names = |names: &[&str]| -> Vec<ServerName<'static>> {
            let names = names.iter();
            names
                .map(|name| ServerName::try_from((*name).to_owned()).unwrap())
                .collect()
        };
        let short = Authority::new("short", HOUR / 4, now).unwrap();
        let of_short = short.leaf(&[NAME], &[], HOUR, now).unwrap();
        let short = Root::of(&short).unwrap();
        let pem = issued.certificate_pem.as_bytes();
        let both = [other.clone(), root.clone()];
        // (sentence, certificate, roots, names, time, verifies)
        let table = [
            ("its authority", pem, &both[1..], names(&[NAME]), now, true),
            ("one of two", pem, &both[..], names(&[NAME]), now, true),
            (
                "another authority",
                pem,
                &both[..1],
                names(&[NAME]),
                now,
                false,
            ),
            ("nobody", pem, &[], names(&[NAME]), now, false),
            (
                "another name",
                pem,
                &both,
                names(&[NAME, "b.svc"]),
                now,
                false,
            ),
            ("after its time", pem, &both, names(&[NAME]), later, false),
            ("no certificate", b"none", &both, names(&[NAME]), now, false),
            (
                "an authority after its time",
                of_short.certificate_pem.as_bytes(),
                &[short],
                names(&[NAME]),
                now + SignedDuration::from_mins(16),
                false,
            ),
        ];
        for (sentence, certificate, roots, names, now, expected) in table {
            assert_eq!(
                verifies(certificate, roots, &names, now),
                expected,
                "{sentence}"
            );
        }
    }

    #[test]
    fn readable_certificates_of_a_bundle_are_read() {
        let [one, two] = [authority(), authority()];
        let both = format!(
            "# two\n{}\n{}",
            one.certificate_pem(),
            two.certificate_pem()
        );
        let roots = Root::all_in(both.as_bytes());
        assert_eq!(roots, [&one, &two].map(|it| Root::of(it).unwrap()));
        assert_eq!(roots[0].pem(), one.certificate_pem());
        let der = CertificateDer::from_pem_slice(one.certificate_pem().as_bytes()).unwrap();
        assert_eq!(Root::from_der(der.to_vec()).unwrap(), roots[0]);
        assert!(Root::from_der(vec![1, 2, 3]).is_err());
        assert_ne!(roots[0].key_fingerprint(), roots[1].key_fingerprint());
        assert_eq!(Root::all_in(&both.as_bytes()[..both.len() - 40]).len(), 1);
        assert!(Root::all_in(b"none").is_empty());
    }
}
