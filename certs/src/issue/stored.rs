//! Loads a stored authority.

use jiff::Timestamp;
use rcgen::{Issuer, KeyPair, PublicKeyData};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::Authority;
use crate::pair::private_key;
use crate::pem::{CertError, Digest, PemFile, Problem, certificate_pem, decode, validity};
use crate::subject::{SEQUENCE, contents, element};

/// The tags of DER.
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;

impl Authority {
    /// Loads an authority from its certificate and its key: ECDSA P-256 or P-384, Ed25519, or RSA, as PKCS #8, PKCS #1 or SEC1. An expired
    /// authority is not an error.
    ///
    /// # Errors
    /// A file that cannot be decoded, a certificate that may not issue others, or a key that does not match it.
    pub fn from_pem(certificate: &PemFile, key: &PemFile) -> Result<Self, CertError> {
        let digest = Digest::of(&[&certificate.content, &key.content]);
        let in_certificate = |problem| certificate.error(problem, digest);
        let in_key = |problem| key.error(problem, digest);

        let chain = certificate.certificates().map_err(in_certificate)?;
        let der: &CertificateDer<'static> = &chain[0];
        let decoded = decode(der, 1).map_err(in_certificate)?;
        // A certificate with unreadable extensions may not sign. Without the extension, every usage is allowed (RFC 5280): OpenSSL makes
        // such authorities.
        let may_sign = decoded.is_ca()
            && match decoded.key_usage() {
                Ok(Some(usage)) => usage.value.key_cert_sign(),
                Ok(None) => true,
                Err(_) => false,
            };
        if !may_sign {
            let what = "certificate 1 of the file does not belong to an authority".to_owned();
            return Err(in_certificate(Problem::Malformed(what)));
        }
        let (not_before, not_after) = validity(&decoded);
        let common_name = decoded
            .subject()
            .iter_common_name()
            .find_map(|name| name.as_str().ok())
            .unwrap_or_default()
            .to_owned();

        let own = private_key(&key.content).map_err(in_key)?;
        // The error itself is dropped: it may quote the key.
        let own =
            key_pair(&own, decoded.public_key().raw).ok_or_else(|| in_key(Problem::UnusableKey))?;
        if own.subject_public_key_info() != decoded.public_key().raw {
            return Err(in_key(Problem::KeyMismatch {
                certificate: certificate.name.clone(),
            }));
        }
        let issuer = Issuer::from_ca_cert_der(der, own).map_err(|_| {
            let what = "certificate 1 of the file cannot issue other certificates".to_owned();
            in_certificate(Problem::Malformed(what))
        })?;
        Ok(Self {
            issuer,
            certificate_pem: certificate_pem(der),
            name: decoded.subject().as_raw().to_vec(),
            common_name,
            not_before,
            not_after,
        })
    }

    /// Returns the private key, PKCS #8 in PEM. Store it where only the owner can read it.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Returns the first moment the authority is valid.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }
}

/// Reads a private key. `public`: the SubjectPublicKeyInfo of its certificate, which names the algorithm.
///
/// ring reads PKCS #8 only, which is the algorithm and the key in one of the other two formats.
fn key_pair(key: &PrivateKeyDer<'_>, public: &[u8]) -> Option<KeyPair> {
    let wrapped = |inner: &[u8]| {
        let fields = contents(public);
        let (rest, _) = x509_parser::der_parser::parse_der(fields).ok()?;
        let algorithm = &fields[..fields.len() - rest.len()];
        let version = element(INTEGER, &[&[0]]);
        let key = element(OCTET_STRING, &[inner]);
        Some(element(SEQUENCE, &[&version, algorithm, &key]))
    };
    let pkcs8 = match key {
        PrivateKeyDer::Pkcs8(key) => key.secret_pkcs8_der().to_vec(),
        PrivateKeyDer::Pkcs1(key) => wrapped(key.secret_pkcs1_der())?,
        PrivateKeyDer::Sec1(key) => wrapped(key.secret_sec1_der())?,
        _ => return None,
    };
    KeyPair::try_from(pkcs8).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType};
    use rustls::pki_types::pem::PemObject;
    use std::time::Duration;
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;
    use crate::csr::{Csr, Usage};
    use crate::testing::{HOUR, NAME, authority, file, leaf};

    fn stored(authority: &Authority) -> (PemFile, PemFile) {
        (
            file("ca.crt", authority.certificate_pem()),
            file("ca.key", authority.key_pem()),
        )
    }

    #[test]
    fn a_stored_authority_issues_on() {
        let first = authority();
        let (certificate, key) = stored(&first);
        let again = Authority::from_pem(&certificate, &key).unwrap();
        assert_eq!(again.certificate_pem(), first.certificate_pem());
        assert_eq!(again.key_pem(), first.key_pem());
        assert_eq!(again.not_before(), first.not_before());
        assert_eq!(again.not_after(), first.not_after());
        let now = Timestamp::now();
        let leaf = again.leaf(&[NAME], &[], HOUR, now).unwrap();
        let root = crate::managed::Root::of(&first).unwrap();
        let name = NAME.try_into().unwrap();
        let leaf = leaf.certificate_pem.as_bytes();
        assert!(crate::managed::verifies(leaf, &[root], &[name], now));
    }

    #[test]
    fn certificates_and_keys_that_cannot_issue_are_refused() {
        let (one, other) = (authority(), authority());
        let (certificate, key) = stored(&one);
        let issued = leaf(&one);
        let end_entity = file("ca.crt", issued.certificate_pem.clone());
        let cut = |file: &PemFile| PemFile {
            content: file.content[..file.content.len() / 2].to_vec(),
            ..file.clone()
        };
        // (sentence, certificate, key, blamed, part of the text)
        let table = [
            (
                "no certificate",
                file("ca.crt", ""),
                key.clone(),
                "ca.crt: the file holds no PEM certificate",
            ),
            (
                "half a certificate",
                cut(&certificate),
                key.clone(),
                "ca.crt: a PEM block begins and does not end",
            ),
            (
                "a leaf",
                end_entity,
                file("ca.key", issued.key_pem),
                "ca.crt: certificate 1 of the file does not belong to an authority",
            ),
            (
                "no key",
                certificate.clone(),
                file("ca.key", "none"),
                "ca.key: the file holds no PEM private key",
            ),
            (
                "no text",
                certificate.clone(),
                file("ca.key", vec![0xff, 0xfe]),
                "ca.key: the file holds no PEM private key",
            ),
            (
                "half a key",
                certificate.clone(),
                cut(&key),
                "ca.key: a PEM block begins and does not end",
            ),
            (
                "another's key",
                certificate,
                file("ca.key", other.key_pem()),
                "ca.key: the private key does not match the first certificate of ca.crt",
            ),
        ];
        for (sentence, certificate, key, says) in table {
            let error = Authority::from_pem(&certificate, &key)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(says), "{sentence}: {error}");
        }
    }

    /// Authorities that OpenSSL made, with names of several units and without key usages.
    const RSA: &str = include_str!("stored/fixtures/rsa.crt");
    const P256: &str = include_str!("stored/fixtures/p256.crt");
    const P384: &str = include_str!("stored/fixtures/p384.crt");

    #[test]
    fn authorities_of_other_programs_issue_certificates_that_verify() {
        for (sentence, certificate, key) in [
            (
                "RSA, PKCS #1",
                RSA,
                include_str!("stored/fixtures/rsa.pkcs1.key"),
            ),
            (
                "RSA, PKCS #8",
                RSA,
                include_str!("stored/fixtures/rsa.pkcs8.key"),
            ),
            (
                "P-256, SEC1",
                P256,
                include_str!("stored/fixtures/p256.sec1.key"),
            ),
            (
                "P-256, PKCS #8",
                P256,
                include_str!("stored/fixtures/p256.pkcs8.key"),
            ),
            (
                "P-384, SEC1",
                P384,
                include_str!("stored/fixtures/p384.sec1.key"),
            ),
        ] {
            let authority = Authority::from_pem(&file("ca.crt", certificate), &file("ca.key", key));
            let authority = authority.unwrap_or_else(|error| panic!("{sentence}: {error}"));
            let own = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(vec!["x.example".to_owned()]).unwrap();
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, "agent");
            let request = params.serialize_request(&own).unwrap().pem().unwrap();
            let request = Csr::from_pem(request.as_bytes()).unwrap();
            let usages = [
                Usage::DigitalSignature,
                Usage::KeyEncipherment,
                Usage::ClientAuth,
            ];
            let now = Timestamp::now();
            let day = Duration::from_secs(24 * 3600);
            let issued = authority.sign(&request, &usages, day, now).unwrap();
            let issued = CertificateDer::from_pem_slice(issued.as_bytes()).unwrap();
            let (_, issued) = X509Certificate::from_der(&issued).unwrap();
            let ca = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
            let (_, ca) = X509Certificate::from_der(&ca).unwrap();
            issued.verify_signature(Some(ca.public_key())).unwrap();
            // Byte by byte, as Go compares them.
            assert_eq!(
                issued.issuer().as_raw(),
                ca.subject().as_raw(),
                "{sentence}"
            );
            assert_eq!(issued.subject().to_string(), "CN=agent");
            let usage = issued.extended_key_usage().unwrap().unwrap().value;
            assert!(usage.client_auth && !usage.server_auth && !usage.any);
            assert!(!issued.is_ca());
            assert_eq!(
                issued.validity().not_after.timestamp(),
                now.as_second() + 24 * 3600
            );
        }
    }

    #[test]
    fn a_key_of_another_kind_than_the_certificates_is_refused() {
        for (certificate, key) in [
            (RSA, include_str!("stored/fixtures/p256.sec1.key")),
            (P256, include_str!("stored/fixtures/rsa.pkcs1.key")),
            (P256, include_str!("stored/fixtures/p384.sec1.key")),
        ] {
            let error = Authority::from_pem(&file("ca.crt", certificate), &file("ca.key", key));
            assert_eq!(error.unwrap_err().problem, Problem::UnusableKey);
        }
    }
}
