//! Certificate signing requests (PKCS #10), decoded, with a verified signature.
//!
//! The signature proves that the sender has the private key, and nothing else. The caller must decide whether the sender may
//! have the subject.

use std::fmt;

use rcgen::{SanType, SubjectPublicKeyInfo};
use rustls::pki_types::pem::{PemObject, SectionKind};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509CertificationRequest};

use crate::pem::sha256;
use crate::subject;

/// The OID 2.5.29.17, encoded.
pub(crate) const ALTERNATIVE_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x11];

/// A request with a verified signature.
pub struct Csr {
    common_name: String,
    organizations: Vec<String>,
    units: Vec<String>,
    subject: Vec<u8>,
    plain_subject: bool,
    plain_subject_with_units: bool,
    alternative_names: Vec<SanType>,
    /// How often the bytes mention alternative names.
    mentions_of_alternative_names: usize,
    /// `None` if an alternative name is not a DNS name.
    dns_names: Option<Vec<String>>,
    key: SubjectPublicKeyInfo,
    key_fingerprint: [u8; 32],
}

/// The usages of a client certificate, with Kubernetes' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// `digital signature`
    DigitalSignature,
    /// `key encipherment`
    KeyEncipherment,
    /// `client auth`
    ClientAuth,
}

/// Reasons why a request cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CsrError {
    /// Not PEM, or PEM of another type. The message is kube-apiserver's.
    #[error("PEM block type must be CERTIFICATE REQUEST")]
    NoRequest,
    /// The PEM block does not hold a PKCS #10 request.
    #[error("the certificate request cannot be decoded: {0}")]
    Malformed(String),
    /// The signature does not verify with the key of the request.
    #[error("the signature of the certificate request does not verify with its own key")]
    Signature,
    /// The key type is not supported.
    #[error(
        "the key of the certificate request is of an unsupported kind; use ECDSA P-256 or P-384, Ed25519, or RSA"
    )]
    Key,
    /// An alternative name that a certificate cannot contain.
    #[error("the certificate request has an invalid alternative name: {0}")]
    AlternativeName(String),
}

// === impl Csr ===

impl Csr {
    /// Decodes a request in PEM and verifies its signature.
    ///
    /// # Errors
    /// See [`CsrError`].
    pub fn from_pem(pem: &[u8]) -> Result<Self, CsrError> {
        let (kind, der) =
            <(SectionKind, Vec<u8>)>::from_pem_slice(pem).map_err(|_| CsrError::NoRequest)?;
        if kind != SectionKind::Csr {
            return Err(CsrError::NoRequest);
        }
        Self::from_der(&der)
    }

    fn from_der(der: &[u8]) -> Result<Self, CsrError> {
        let malformed = |reason: &dyn fmt::Display| CsrError::Malformed(reason.to_string());
        let (rest, request) =
            X509CertificationRequest::from_der(der).map_err(|error| malformed(&error))?;
        if !rest.is_empty() {
            return Err(malformed(&"trailing data"));
        }
        let info = &request.certification_request_info;
        let key =
            SubjectPublicKeyInfo::from_der(info.subject_pki.raw).map_err(|_| CsrError::Key)?;
        request
            .verify_signature()
            .map_err(|_| CsrError::Signature)?;

        let text = |value: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            value.as_str().ok().map(str::to_owned)
        };
        let organizations = info.subject.iter_organization().filter_map(text).collect();
        let units = (info.subject.iter_organizational_unit())
            .filter_map(text)
            .collect();
        // As in Go, the last one counts.
        let common_name = info.subject.iter_common_name().filter_map(text).last();
        Ok(Self {
            key_fingerprint: sha256(info.subject_pki.raw),
            common_name: common_name.unwrap_or_default(),
            organizations,
            units,
            subject: info.subject.as_raw().to_vec(),
            plain_subject: subject::is_plain(&info.subject),
            plain_subject_with_units: subject::is_plain_with_units(&info.subject),
            alternative_names: alternative_names(&request)?,
            // A search through all bytes: parsers may disagree about lists of extensions.
            mentions_of_alternative_names: info
                .raw
                .windows(ALTERNATIVE_NAME.len())
                .filter(|bytes| *bytes == ALTERNATIVE_NAME)
                .count(),
            dns_names: dns_names(&request),
            key,
        })
    }

    /// Returns the common name; empty if the subject has none.
    pub fn common_name(&self) -> &str {
        &self.common_name
    }

    /// Returns the organizations, in the order of the subject.
    pub fn organizations(&self) -> &[String] {
        &self.organizations
    }

    /// Returns true if the subject contains only one common name and organizations, in an encoding that all parsers read the
    /// same way.
    ///
    /// Otherwise the signer may see more names than this type returns.
    pub fn has_plain_subject(&self) -> bool {
        self.plain_subject
    }

    /// Returns true if the request may ask for alternative names of any kind, and false only if it does not.
    pub fn asks_for_alternative_names(&self) -> bool {
        self.mentions_of_alternative_names > 0
    }

    /// Returns the organizational units, in the order of the subject.
    pub fn units(&self) -> &[String] {
        &self.units
    }

    /// As [`Self::has_plain_subject`], but the subject may contain organizational units, too.
    pub fn has_plain_subject_with_units(&self) -> bool {
        self.plain_subject_with_units
    }

    /// Returns the DNS names that the request asks for, and `None` if it may ask for anything else: an alternative name of another kind,
    /// or a second list that another parser may find.
    pub fn dns_names(&self) -> Option<&[String]> {
        match (self.mentions_of_alternative_names, &self.dns_names) {
            (0, _) => Some(&[]),
            (1, Some(names)) if !names.is_empty() => Some(names),
            _ => None,
        }
    }

    /// Returns the SHA-256 of the key's SubjectPublicKeyInfo.
    pub fn key_fingerprint(&self) -> [u8; 32] {
        self.key_fingerprint
    }

    pub(crate) fn subject(&self) -> &[u8] {
        &self.subject
    }

    pub(crate) fn alternative_names(&self) -> &[SanType] {
        &self.alternative_names
    }

    pub(crate) fn key(&self) -> &SubjectPublicKeyInfo {
        &self.key
    }
}

impl fmt::Debug for Csr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Csr")
            .field("common_name", &self.common_name)
            .field("organizations", &self.organizations)
            .finish_non_exhaustive()
    }
}

/// Returns true for exactly one PEM block `CERTIFICATE REQUEST` that every parser reads in the same way: no text around it, no
/// headers in it.
#[must_use]
pub fn is_one_request(pem: &[u8]) -> bool {
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(byte);
    pem.trim_ascii_end()
        .strip_prefix(b"-----BEGIN CERTIFICATE REQUEST-----")
        .and_then(|rest| rest.strip_suffix(b"-----END CERTIFICATE REQUEST-----"))
        .is_some_and(|content| {
            content.iter().all(base64)
                && content.trim_ascii_start().len() < content.len()
                && content.ends_with(b"\n")
        })
}

/// Returns the alternative names if all are DNS names.
fn dns_names(request: &X509CertificationRequest<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for extension in request.requested_extensions().into_iter().flatten() {
        if let ParsedExtension::SubjectAlternativeName(found) = extension {
            for name in &found.general_names {
                match name {
                    GeneralName::DNSName(name) => names.push((*name).to_owned()),
                    _ => return None,
                }
            }
        }
    }
    Some(names)
}

/// Returns the names of the kinds that Go copies into certificates, and ignores others.
fn alternative_names(request: &X509CertificationRequest<'_>) -> Result<Vec<SanType>, CsrError> {
    let mut names = Vec::new();
    for extension in request.requested_extensions().into_iter().flatten() {
        let ParsedExtension::SubjectAlternativeName(found) = extension else {
            continue;
        };
        for name in &found.general_names {
            let refused = || CsrError::AlternativeName(name.to_string());
            names.push(match name {
                GeneralName::DNSName(name) => {
                    SanType::DnsName((*name).try_into().map_err(|_| refused())?)
                }
                GeneralName::RFC822Name(name) => {
                    SanType::Rfc822Name((*name).try_into().map_err(|_| refused())?)
                }
                GeneralName::URI(name) => SanType::URI((*name).try_into().map_err(|_| refused())?),
                GeneralName::IPAddress(octets) => {
                    if let Ok(octets) = <[u8; 4]>::try_from(*octets) {
                        SanType::IpAddress(octets.into())
                    } else {
                        let octets = <[u8; 16]>::try_from(*octets).map_err(|_| refused())?;
                        SanType::IpAddress(octets.into())
                    }
                }
                _ => continue,
            });
        }
    }
    Ok(names)
}

// === impl Usage ===

impl Usage {
    /// Returns the usage of this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "digital signature" => Self::DigitalSignature,
            "key encipherment" => Self::KeyEncipherment,
            "client auth" => Self::ClientAuth,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
    use rustls::pki_types::CertificateDer;
    use x509_parser::prelude::X509Certificate;

    use super::*;
    use crate::testing::authority;

    fn request(key: &KeyPair, common_name: &str) -> String {
        let mut params = CertificateParams::new(vec!["agent.example".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let name = &mut params.distinguished_name;
        name.push(DnType::OrganizationName, "agents");
        name.push(DnType::CommonName, common_name);
        params.serialize_request(key).unwrap().pem().unwrap()
    }

    fn tampered(pem: &str, at: impl Fn(usize) -> usize) -> String {
        let (_, mut der) = <(SectionKind, Vec<u8>)>::from_pem_slice(pem.as_bytes()).unwrap();
        let index = at(der.len());
        der[index] ^= 1;
        let content = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, der);
        format!(
            "-----BEGIN CERTIFICATE REQUEST-----\n{content}\n-----END CERTIFICATE REQUEST-----\n"
        )
    }

    #[test]
    fn requests_with_all_types_of_keys_are_read() {
        for algorithm in [
            &rcgen::PKCS_ECDSA_P256_SHA256,
            &PKCS_ECDSA_P384_SHA384,
            &PKCS_ED25519,
        ] {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let csr = Csr::from_pem(request(&key, "agent").as_bytes()).unwrap();
            assert_eq!(csr.common_name(), "agent");
            assert_eq!(csr.organizations(), ["agents"]);
            assert_eq!(csr.alternative_names().len(), 1);
            assert!(csr.asks_for_alternative_names());
            assert_eq!(csr.dns_names(), Some(&["agent.example".to_owned()][..]));
            assert!(csr.has_plain_subject() && csr.has_plain_subject_with_units());
        }
    }

    #[test]
    fn subjects_that_parsers_may_read_differently_are_not_plain() {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "agent");
        let of = |params: &CertificateParams| {
            let pem = params.serialize_request(&key).unwrap().pem().unwrap();
            Csr::from_pem(pem.as_bytes()).unwrap()
        };
        let csr = of(&params);
        assert!(!csr.asks_for_alternative_names());
        assert_eq!(csr.dns_names(), Some(&[][..]));
        assert!(csr.has_plain_subject());

        let unit = DnType::OrganizationalUnitName;
        params.distinguished_name.push(unit, "unit");
        let csr = of(&params);
        assert!(!csr.has_plain_subject() && csr.has_plain_subject_with_units());
        assert_eq!(csr.units(), ["unit"]);
    }

    #[test]
    fn dns_names_are_returned_only_if_nothing_else_is_asked_for() {
        let key = KeyPair::generate().unwrap();
        let dns = |name: &str| SanType::DnsName(name.try_into().unwrap());
        let address = SanType::IpAddress([127, 0, 0, 1].into());
        let of = |names: Vec<SanType>| {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.subject_alt_names = names;
            let pem = params.serialize_request(&key).unwrap().pem().unwrap();
            let csr = Csr::from_pem(pem.as_bytes()).unwrap();
            csr.dns_names().map(<[String]>::to_vec)
        };
        assert_eq!(of(vec![]), Some(vec![]));
        assert_eq!(
            of(vec![dns("a.example"), dns("b.example")]),
            Some(vec!["a.example".to_owned(), "b.example".to_owned()])
        );
        assert_eq!(of(vec![dns("a.example"), address]), None);
        // A unit whose text mentions the extension could hide a second list from one of two parsers.
        let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        let hidden = String::from_utf8(ALTERNATIVE_NAME.to_vec()).unwrap();
        let unit = DnType::OrganizationalUnitName;
        params.distinguished_name.push(unit, hidden);
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        assert_eq!(Csr::from_pem(pem.as_bytes()).unwrap().dns_names(), None);
    }

    #[test]
    fn invalid_requests_are_refused() {
        let good = request(&KeyPair::generate().unwrap(), "agent");
        let certificate = authority().certificate_pem().to_owned();
        let empty =
            "-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n";
        let table = [
            (
                "nothing",
                String::new(),
                "PEM block type must be CERTIFICATE REQUEST",
            ),
            (
                "no PEM",
                "hello".to_owned(),
                "PEM block type must be CERTIFICATE REQUEST",
            ),
            (
                "a certificate",
                certificate,
                "PEM block type must be CERTIFICATE REQUEST",
            ),
            ("an empty sequence", empty.to_owned(), "cannot be decoded"),
            (
                "another subject",
                good_with_another_subject(&good),
                "does not verify with its own key",
            ),
            (
                "another signature",
                tampered(&good, |length| length - 3),
                "does not verify with its own key",
            ),
        ];
        for (sentence, pem, words) in table {
            let error = Csr::from_pem(pem.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{sentence}: {error}");
        }
    }

    fn good_with_another_subject(pem: &str) -> String {
        let (_, der) = <(SectionKind, Vec<u8>)>::from_pem_slice(pem.as_bytes()).unwrap();
        let at = der.windows(5).position(|bytes| bytes == b"agent").unwrap();
        tampered(pem, |_| at)
    }

    #[test]
    fn a_signed_certificate_has_the_subject_and_the_key_of_its_request() {
        let (authority, now) = (authority(), Timestamp::now());
        let key = KeyPair::generate().unwrap();
        // A subject with two organizations, as agents have: rcgen cannot write it into a request, an authority can.
        let mut csr = Csr::from_pem(request(&key, "agent").as_bytes()).unwrap();
        csr.subject = crate::subject::name("agent", &["system:a", "system:b"]);

        let usages = [Usage::ClientAuth, Usage::KeyEncipherment];
        let pem = authority
            .sign(&csr, &usages, Duration::from_secs(600), now)
            .unwrap();
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
        assert_eq!(
            certificate.subject().to_string(),
            "O=system:a, O=system:b, CN=agent"
        );
        assert_eq!(
            certificate.public_key().subject_public_key.data.as_ref(),
            key.public_key_raw()
        );
        let usage = certificate.key_usage().unwrap().unwrap().value;
        assert!(usage.key_encipherment() && !usage.digital_signature());
        let extended = certificate.extended_key_usage().unwrap().unwrap().value;
        assert!(extended.client_auth && !extended.server_auth);
        assert_eq!(
            certificate.validity().not_after.timestamp(),
            now.as_second() + 600
        );
        assert!(!certificate.is_ca());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Csr::from_der(&bytes);
            let _ = Csr::from_pem(&bytes);
        }
    }
}
