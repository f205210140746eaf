//! The key of a client, the requests that it signs, and the certificate that it gets.
//!
//! Keys are ECDSA P-256, written as client-go writes them: SEC 1 in PEM (`EC PRIVATE KEY`), the same bytes for the same key. They are read
//! in that form and in PKCS #8.

use std::fmt;

use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData, SigningKey};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::csr::ALTERNATIVE_NAME;
use crate::issue::IssueError;
use crate::pair::private_key;
use crate::pem::{PemFile, Problem, decode, encode, sha256, validity};
use crate::subject::{BIT_STRING, SEQUENCE, SET, element, name_with_units};

/// A P-256 key is its private number and its public point, at fixed places in both forms.
const NUMBER: usize = 32;
const POINT: usize = 65;

/// What is before, between and behind them in SEC 1, with the curve, as Go has it.
const SEC1: [&[u8]; 2] = [
    &[0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20],
    &[
        0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0xa1, 0x44, 0x03,
        0x42, 0x00,
    ],
];

/// The same in PKCS #8, as ring and Go have it.
const PKCS8: [&[u8]; 2] = [
    &[
        0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d,
        0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x6d, 0x30,
        0x6b, 0x02, 0x01, 0x01, 0x04, 0x20,
    ],
    &[0xa1, 0x44, 0x03, 0x42, 0x00],
];

/// The algorithm ecdsa-with-SHA256, encoded.
const ECDSA_SHA256: [u8; 12] = [
    0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02,
];

/// The OID of a request for extensions (1.2.840.113549.1.9.14), encoded.
const EXTENSION_REQUEST: [u8; 11] = [
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e,
];

/// A private key of a client.
pub struct ClientKey {
    pair: KeyPair,
    /// The key in SEC 1.
    sec1: Vec<u8>,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// The user name, for Kubernetes.
    pub common_name: &'a str,
    /// The groups, for Kubernetes.
    pub organizations: &'a [&'a str],
    /// Organizational units.
    pub units: &'a [&'a str],
    /// Alternative names.
    pub dns_names: &'a [&'a str],
}

/// A client certificate with its chain, read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The common name; empty without one. As in Go, the last one counts.
    pub common_name: String,
    /// The organizations, in the order of the subject.
    pub organizations: Vec<String>,
    /// The organizational units, in the order of the subject.
    pub units: Vec<String>,
    /// SHA-256 of the public key, as [`ClientKey::fingerprint`].
    pub key: [u8; 32],
    /// The latest first moment of the chain.
    pub not_before: Timestamp,
    /// The earliest last moment of the chain.
    pub not_after: Timestamp,
    /// SHA-256 of the certificate, without its chain.
    pub digest: [u8; 32],
}

// === impl ClientKey ===

impl ClientKey {
    /// Makes a new key.
    ///
    /// # Errors
    /// [`IssueError::Cryptography`] without random numbers.
    pub fn generate() -> Result<Self, IssueError> {
        let pair = KeyPair::generate().map_err(|error| cryptography(&error))?;
        Self::of(pair).ok_or_else(|| cryptography(&"the key has an unknown form"))
    }

    /// Reads a key, in SEC 1 or PKCS #8, in PEM. Errors do not contain any part of it.
    ///
    /// # Errors
    /// No key, or a key that is not ECDSA P-256.
    pub fn from_pem(pem: &[u8]) -> Result<Self, Problem> {
        let pkcs8 = match &private_key(pem)? {
            PrivateKeyDer::Sec1(key) => {
                let [number, point] =
                    parts(key.secret_sec1_der(), SEC1).ok_or(Problem::UnusableKey)?;
                [PKCS8[0], number, PKCS8[1], point].concat()
            }
            PrivateKeyDer::Pkcs8(key) => key.secret_pkcs8_der().to_vec(),
            _ => return Err(Problem::UnusableKey),
        };
        let pair = KeyPair::try_from(&PrivatePkcs8KeyDer::from(pkcs8))
            .map_err(|_| Problem::UnusableKey)?;
        Self::of(pair).ok_or(Problem::UnusableKey)
    }

    /// Returns the key, SEC 1 in PEM. Store it where only the owner can read it.
    pub fn to_pem(&self) -> String {
        encode("EC PRIVATE KEY", &self.sec1)
    }

    /// Returns the SHA-256 of the key's SubjectPublicKeyInfo.
    pub fn fingerprint(&self) -> [u8; 32] {
        sha256(&self.pair.subject_public_key_info())
    }

    /// Returns a request (PKCS #10) for a certificate for this key, in PEM.
    ///
    /// # Errors
    /// [`IssueError::Cryptography`] if the signature fails.
    pub fn request(&self, wanted: &Wanted<'_>) -> Result<String, IssueError> {
        let subject = name_with_units(wanted.common_name, wanted.organizations, wanted.units);
        let extensions = match wanted.dns_names {
            [] => Vec::new(),
            names => alternative_names(names),
        };
        let key = self.pair.subject_public_key_info();
        let info = element(
            SEQUENCE,
            &[
                &[0x02, 0x01, 0x00],
                &subject,
                &key,
                &element(0xa0, &[&extensions]),
            ],
        );
        let signature = self
            .pair
            .sign(&info)
            .map_err(|error| cryptography(&error))?;
        let signature = element(BIT_STRING, &[&[0], &signature]);
        let request = element(SEQUENCE, &[&info, &ECDSA_SHA256, &signature]);
        Ok(encode("CERTIFICATE REQUEST", &request))
    }

    /// `None` for another kind of key, which has other places.
    fn of(pair: KeyPair) -> Option<Self> {
        let pkcs8 = pair.serialize_der();
        let [number, point] = parts(&pkcs8, PKCS8)?;
        let sec1 = [SEC1[0], number, SEC1[1], point].concat();
        Some(Self { pair, sec1 })
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKey").finish_non_exhaustive()
    }
}

// === impl ClientCertificate ===

impl ClientCertificate {
    /// Reads a certificate with its chain, the client's own first.
    ///
    /// # Errors
    /// No certificate, or one of the chain that cannot be decoded.
    pub fn from_pem(pem: &[u8]) -> Result<Self, Problem> {
        let file = PemFile {
            name: String::new(),
            content: pem.to_vec(),
        };
        let chain = file.certificates()?;
        let own = decode(&chain[0], 1)?;
        let (mut not_before, mut not_after) = validity(&own);
        for (i, certificate) in chain.iter().enumerate().skip(1) {
            let (begin, end) = validity(&decode(certificate, i + 1)?);
            (not_before, not_after) = (not_before.max(begin), not_after.min(end));
        }
        let text = |value: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            value.as_str().ok().map(str::to_owned)
        };
        let subject = own.subject();
        Ok(Self {
            common_name: (subject.iter_common_name().filter_map(text).last()).unwrap_or_default(),
            organizations: subject.iter_organization().filter_map(text).collect(),
            units: subject
                .iter_organizational_unit()
                .filter_map(text)
                .collect(),
            key: sha256(own.public_key().raw),
            not_before,
            not_after,
            digest: sha256(&chain[0]),
        })
    }
}

/// Returns the private number and the public point of a key, if it has exactly this form.
fn parts<'k>(der: &'k [u8], [before, between]: [&[u8]; 2]) -> Option<[&'k [u8]; 2]> {
    let (number, rest) = der.strip_prefix(before)?.split_at_checked(NUMBER)?;
    let point = rest.strip_prefix(between)?;
    (point.len() == POINT).then_some([number, point])
}

/// Returns the attribute of a request that asks for these names.
fn alternative_names(dns_names: &[&str]) -> Vec<u8> {
    let names: Vec<u8> = dns_names
        .iter()
        .flat_map(|name| element(0x82, &[name.as_bytes()]))
        .collect();
    let value = element(0x04, &[&element(SEQUENCE, &[&names])]);
    let extension = element(SEQUENCE, &[&ALTERNATIVE_NAME, &value]);
    let extensions = element(SET, &[&element(SEQUENCE, &[&extension])]);
    element(SEQUENCE, &[&EXTENSION_REQUEST, &extensions])
}

fn cryptography(error: &dyn fmt::Display) -> IssueError {
    IssueError::Cryptography {
        subject: "the client".to_owned(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::{Csr, Usage};
    use crate::testing::{HOUR, authority};

    /// Made by Go 1.26, `x509.MarshalECPrivateKey`.
    const OF_GO: &str = "-----BEGIN EC PRIVATE KEY-----\n\
        MHcCAQEEIKI7fSUWf7aQrKf3XCtBVnR3ZueFoHl/FsKXIefQRkW8oAoGCCqGSM49\n\
        AwEHoUQDQgAELPJe+HN3Im7IZY3HBNE7GSyrTjBMzmxBZ0S4nB9pwpZEA6/kL1+R\n\
        13PtX1JKRQAZzfV5428FodkJ73plat/ZFQ==\n\
        -----END EC PRIVATE KEY-----\n";

    #[test]
    fn a_key_is_written_as_go_writes_it() {
        let key = ClientKey::from_pem(OF_GO.as_bytes()).unwrap();
        assert_eq!(key.to_pem(), OF_GO);
        let generated = ClientKey::generate().unwrap();
        let again = ClientKey::from_pem(generated.to_pem().as_bytes()).unwrap();
        assert_eq!(again.fingerprint(), generated.fingerprint());
        let pkcs8 = ClientKey::from_pem(generated.pair.serialize_pem().as_bytes()).unwrap();
        assert_eq!(pkcs8.to_pem(), generated.to_pem());
    }

    #[test]
    fn other_keys_are_refused_without_their_text() {
        let cut = OF_GO.replace("-----END", "");
        let damaged = OF_GO.replacen('M', "N", 1);
        let p384 = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
        for (sentence, pem, problem) in [
            ("nothing", String::new(), Problem::NoKey),
            (
                "a certificate",
                authority().certificate_pem().to_owned(),
                Problem::NoKey,
            ),
            ("half a key", cut, Problem::Truncated),
            ("a damaged key", damaged, Problem::UnusableKey),
            ("another curve", p384.serialize_pem(), Problem::UnusableKey),
        ] {
            assert_eq!(
                ClientKey::from_pem(pem.as_bytes()).err(),
                Some(problem),
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_request_asks_for_what_is_wanted() {
        let key = ClientKey::generate().unwrap();
        let wanted = Wanted {
            common_name: "system:open-cluster-management:c1:a1",
            organizations: &[
                "system:open-cluster-management:c1",
                "system:open-cluster-management:managed-clusters",
            ],
            ..Wanted::default()
        };
        let csr = Csr::from_pem(key.request(&wanted).unwrap().as_bytes()).unwrap();
        assert_eq!(csr.common_name(), wanted.common_name);
        assert_eq!(csr.organizations(), wanted.organizations);
        assert!(csr.has_plain_subject() && !csr.asks_for_alternative_names());
        assert_eq!(csr.key_fingerprint(), key.fingerprint());

        let usages = [Usage::DigitalSignature, Usage::ClientAuth];
        let now = Timestamp::now();
        let signed = authority().sign(&csr, &usages, HOUR, now).unwrap();
        let read = ClientCertificate::from_pem(signed.as_bytes()).unwrap();
        assert_eq!(read.common_name, wanted.common_name);
        assert_eq!(read.organizations, wanted.organizations);
        assert_eq!(read.key, key.fingerprint());
        assert!(read.not_before <= now && now < read.not_after);
        assert!(read.units.is_empty());
    }

    #[test]
    fn an_add_ons_request_has_units_and_names() {
        let key = ClientKey::generate().unwrap();
        let wanted = Wanted {
            common_name: "x",
            organizations: &["one"],
            units: &["two", "three"],
            dns_names: &["a.addon.open-cluster-management.io"],
        };
        let csr = Csr::from_pem(key.request(&wanted).unwrap().as_bytes()).unwrap();
        assert!(csr.asks_for_alternative_names() && !csr.has_plain_subject());
        let usages = [Usage::ClientAuth];
        let signed = authority().sign(&csr, &usages, HOUR, Timestamp::now());
        let signed = signed.unwrap();
        let read = ClientCertificate::from_pem(signed.as_bytes()).unwrap();
        assert_eq!(read.units, wanted.units);
        let file = crate::testing::file("tls.crt", signed);
        let chain = file.certificates().unwrap();
        let decoded = decode(&chain[0], 1).unwrap();
        let (names, _) = crate::pair::alternative_names(&decoded);
        assert_eq!(names, wanted.dns_names);
    }

    #[test]
    fn a_chain_is_valid_while_each_of_it_is() {
        let now = Timestamp::now();
        let authority = authority();
        let key = ClientKey::generate().unwrap();
        let wanted = Wanted {
            common_name: "x",
            ..Wanted::default()
        };
        let csr = Csr::from_pem(key.request(&wanted).unwrap().as_bytes()).unwrap();
        let own = authority.sign(&csr, &[], HOUR, now).unwrap();
        let alone = ClientCertificate::from_pem(own.as_bytes()).unwrap();
        let short = crate::issue::Authority::new("short", HOUR / 2, now).unwrap();
        let chain = format!("{own}{}", short.certificate_pem());
        let whole = ClientCertificate::from_pem(chain.as_bytes()).unwrap();
        assert!(whole.not_after < alone.not_after);
        assert_eq!(whole.digest, alone.digest);
        for (pem, problem) in [
            ("", Problem::NoCertificate),
            (OF_GO, Problem::NoCertificate),
            (&chain[..chain.len() / 2], Problem::Truncated),
        ] {
            assert_eq!(
                ClientCertificate::from_pem(pem.as_bytes()).err(),
                Some(problem)
            );
        }
    }
}
