//! Client certificates. As with kube-apiserver, the handshake asks for a certificate and accepts any; it is verified for each
//! request. So a client with an expired or foreign certificate gets a 401, and not a broken connection.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::CREDENTIAL_ID;
use crate::user::User;

/// How many verified certificates are remembered; beyond that all are forgotten.
const REMEMBERED: usize = 1024;

/// A verifier for the handshake that takes every certificate whose key the client has, and clients without one.
///
/// # Errors
/// `ca_pem` holds no CA.
pub(crate) fn client_verifier(
    ca_pem: &str,
) -> Result<Arc<dyn ClientCertVerifier>, VerifierBuilderError> {
    Ok(Arc::new(Lenient(chain_verifier(ca_pem)?)))
}

fn chain_verifier(ca_pem: &str) -> Result<Arc<dyn ClientCertVerifier>, VerifierBuilderError> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(ca_pem.as_bytes()).flatten();
    roots.add_parsable_certificates(certificates);
    let provider = Arc::new(ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()
}

/// The users of the client certificates of one CA.
pub(super) struct Certificates {
    chain: Arc<dyn ClientCertVerifier>,
    /// By the SHA-256 of the certificate. Nobody can put an entry here who does not have a certificate of the CA.
    verified: RwLock<HashMap<[u8; 32], Arc<Verified>>>,
}

struct Verified {
    user: User,
    /// In seconds since 1970, inclusive.
    validity: (i64, i64),
}

impl Certificates {
    pub(super) fn new(ca_pem: &str) -> Result<Self, VerifierBuilderError> {
        Ok(Self {
            chain: chain_verifier(ca_pem)?,
            verified: RwLock::default(),
        })
    }

    /// The user of a certificate; none if it is not the CA's, not for clients, not valid now, or has no common name.
    pub(super) fn user(&self, certificate: &CertificateDer<'_>, now: Timestamp) -> Option<User> {
        let digest = super::sha256(certificate);
        let verified = self.verified.read().unwrap_or_else(PoisonError::into_inner);
        let known = verified.get(&digest).cloned();
        drop(verified);
        let verified = match known {
            Some(known) => known,
            None => self.verify(certificate, digest, now)?,
        };
        let (not_before, not_after) = verified.validity;
        let valid = (not_before..=not_after).contains(&now.as_second());
        valid.then(|| verified.user.clone())
    }

    fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Option<Arc<Verified>> {
        let since_epoch = Duration::from_secs(now.as_second().try_into().ok()?);
        let at = UnixTime::since_unix_epoch(since_epoch);
        self.chain.verify_client_cert(certificate, &[], at).ok()?;
        let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
        let (not_before, not_after) = (parsed.validity().not_before, parsed.validity().not_after);
        let verified = Arc::new(Verified {
            user: user(&parsed, digest)?,
            validity: (not_before.timestamp(), not_after.timestamp()),
        });
        let mut all = self
            .verified
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(digest, Arc::clone(&verified));
        Some(verified)
    }
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificates").finish_non_exhaustive()
    }
}

/// The common name is the user, every organization a group.
fn user(certificate: &X509Certificate<'_>, digest: [u8; 32]) -> Option<User> {
    let text = |value: &x509_parser::x509::AttributeTypeAndValue<'_>| {
        value.as_str().ok().map(str::to_owned)
    };
    let subject = certificate.subject();
    // As Go: the last one counts.
    let name = subject.iter_common_name().filter_map(text).last()?;
    if name.is_empty() {
        return None;
    }
    let mut id = "X509SHA256=".to_owned();
    for byte in digest {
        // Writing to a String does not fail.
        let _ = write!(id, "{byte:02x}");
    }
    Some(User {
        name,
        groups: subject.iter_organization().filter_map(text).collect(),
        extra: [(CREDENTIAL_ID.to_owned(), vec![id])].into(),
        ..User::default()
    })
}

/// Asks for a certificate, verifies that the client has its key, and nothing else.
#[derive(Debug)]
struct Lenient(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Lenient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        // Each request is judged by `Certificates::user`.
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use berth_certs::issue::{Authority, Issued};
    use jiff::ToSpan;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn der(issued: &Issued) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap()
    }

    #[test]
    fn a_certificate_counts_while_it_is_valid_and_of_the_ca() {
        let now: Timestamp = "2026-07-01T12:00:00Z".parse().unwrap();
        let ca = Authority::new("clients", 24 * HOUR, now).unwrap();
        let foreign = Authority::new("clients", 24 * HOUR, now).unwrap();
        let client = |ca: &Authority| der(&ca.client("dev", &["a", "b"], &[], HOUR, now).unwrap());
        let server = der(&ca.leaf(&["hub"], &[], HOUR, now).unwrap());
        let certificates = Certificates::new(ca.certificate_pem()).unwrap();
        let later = now.checked_add(2.hours()).unwrap();
        let earlier = now.checked_sub(2.hours()).unwrap();
        let good = client(&ca);
        let rows = [
            ("not valid yet", &good, earlier, false),
            ("valid", &good, now, true),
            ("valid, and known", &good, now, true),
            ("expired, and known", &good, later, false),
            ("known, before it was valid", &good, earlier, false),
            ("expired", &client(&ca), later, false),
            (
                "of another CA with the same name",
                &client(&foreign),
                now,
                false,
            ),
            ("for servers", &server, now, false),
            (
                "no certificate",
                &CertificateDer::from(vec![0x30, 0]),
                now,
                false,
            ),
        ];
        for (sentence, certificate, at, counts) in rows {
            let user = certificates.user(certificate, at);
            assert_eq!(user.is_some(), counts, "{sentence}");
        }
        let user = certificates.user(&good, now).unwrap();
        assert_eq!(
            (user.name.as_str(), &user.groups[..]),
            ("dev", &["a".to_owned(), "b".to_owned()][..])
        );
        let id = &user.extra[CREDENTIAL_ID][0];
        assert_eq!(id.len(), "X509SHA256=".len() + 64, "{id}");
    }

    #[test]
    fn not_more_certificates_are_remembered_than_fit() {
        let now = Timestamp::now();
        let ca = Authority::new("clients", 24 * HOUR, now).unwrap();
        let certificates = Certificates::new(ca.certificate_pem()).unwrap();
        let certificate = der(&ca.client("dev", &[], &[], HOUR, now).unwrap());
        let known = certificates.verify(&certificate, [0; 32], now).unwrap();
        let full = (0..REMEMBERED).map(|number| {
            let mut digest = [1; 32];
            digest[..8].copy_from_slice(&number.to_be_bytes());
            (digest, Arc::clone(&known))
        });
        *certificates.verified.write().unwrap() = full.collect();
        certificates.user(&certificate, now).unwrap();
        assert_eq!(certificates.verified.read().unwrap().len(), 1);
    }
}
