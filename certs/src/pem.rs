//! PEM files and their errors.
//!
//! All loaders share these types: [`PemFile`] is the content with a name for messages; [`CertError`] names the file, the
//! problem and the remedy. Neither shows the content.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use x509_parser::prelude::{FromDer, X509Certificate};

/// The content of a PEM file, and its name in messages.
#[derive(Clone, PartialEq, Eq)]
pub struct PemFile {
    /// A path, or for example `Secret ns/name, tls.crt`.
    pub name: String,
    /// The content as it was read.
    pub content: Vec<u8>,
}

/// The SHA-256 of content. Equal digests mean equal content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; 32]);

/// An error about a file, with the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct CertError {
    /// The name of the file.
    pub file: String,
    /// The problem.
    pub problem: Problem,
    /// The digest of the content, to distinguish two invalid contents with the same problem.
    pub content: Digest,
}

/// The problems of files. The messages include the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file does not exist.
    #[error("the file does not exist; write it, or correct the flag that names it")]
    Missing,
    /// The file exists and cannot be read.
    #[error(
        "the file cannot be read ({0}); give the user that this process runs as read access to it"
    )]
    Unreadable(String),
    /// A PEM block begins and does not end.
    #[error(
        "a PEM block begins and does not end; write the file again, whole and with its line breaks"
    )]
    Truncated,
    /// The content of a PEM block cannot be decoded.
    #[error("{0}; replace the file by a PEM file as openssl or cert-manager write it")]
    Malformed(String),
    /// The file has no certificate.
    #[error("the file holds no PEM certificate; it needs a block -----BEGIN CERTIFICATE-----")]
    NoCertificate,
    /// The file has no private key.
    #[error("the file holds no PEM private key; it needs a block -----BEGIN PRIVATE KEY-----")]
    NoKey,
    /// The private key needs a passphrase.
    #[error(
        "the private key is encrypted; store it without a passphrase (openssl pkey -in OLD -out NEW)"
    )]
    EncryptedKey,
    /// The private key is damaged or not supported.
    #[error(
        "the private key is damaged or of an unsupported kind; use ECDSA P-256 or P-384, Ed25519, or RSA with 2048 to \
         4096 bits"
    )]
    UnusableKey,
    /// The private key belongs to another certificate.
    #[error(
        "the private key does not match the first certificate of {certificate}; put the server's own certificate first, \
         and replace both files together"
    )]
    KeyMismatch {
        /// The name of the certificate file.
        certificate: String,
    },
    /// Another authority than the stored one issued the certificate.
    #[error(
        "the certificate was not issued by the authority of {authority}; replace both together"
    )]
    OtherAuthority {
        /// The name of the authority's file.
        authority: String,
    },
    /// The certificate is no longer valid.
    #[error("the certificate expired on {not_after}; renew it")]
    Expired {
        /// The last moment of its validity.
        not_after: Timestamp,
    },
    /// The certificate is not valid yet.
    #[error(
        "the certificate is not valid before {not_before}; check the clock of this machine and of the one that issued it"
    )]
    NotYetValid {
        /// The first moment of its validity.
        not_before: Timestamp,
    },
}

// === impl PemFile ===

impl PemFile {
    /// Reads `path`. Messages use `name`.
    ///
    /// # Errors
    /// [`Problem::Missing`] or [`Problem::Unreadable`].
    pub fn read(path: &Path, name: String) -> Result<Self, CertError> {
        match std::fs::read(path) {
            Ok(content) => Ok(Self { name, content }),
            Err(error) => Err(CertError {
                file: name,
                problem: match error.kind() {
                    ErrorKind::NotFound => Problem::Missing,
                    _ => Problem::Unreadable(error.to_string()),
                },
                content: Digest::of(&[]),
            }),
        }
    }

    /// Returns the certificates, at least one, in the order of the file. Other PEM blocks are ignored.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Problem> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(&self.content)
            .collect::<Result<_, _>>()
            .map_err(|error| Problem::of_pem(&error))?;
        if certificates.is_empty() {
            return Err(Problem::NoCertificate);
        }
        Ok(certificates)
    }

    /// Returns the error for `problem` in this file.
    pub(crate) fn error(&self, problem: Problem, content: Digest) -> CertError {
        CertError {
            file: self.name.clone(),
            problem,
            content,
        }
    }
}

impl fmt::Debug for PemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content may be a private key.
        f.debug_struct("PemFile")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

// === impl Problem ===

impl Problem {
    /// Converts a PEM error without its text, which may quote a line of a key.
    pub(crate) fn of_pem(error: &pem::Error) -> Self {
        match error {
            pem::Error::MissingSectionEnd { .. } => Self::Truncated,
            _ => Self::Malformed("a PEM block of the file cannot be decoded".to_owned()),
        }
    }
}

// === impl Digest ===

impl Digest {
    /// Returns the digest of these parts in order.
    pub fn of(parts: &[&[u8]]) -> Self {
        // The SHA-256 of the provider needs no further dependency.
        let suite = TLS13_AES_128_GCM_SHA256
            .tls13()
            .expect("a TLS 1.3 suite by its name");
        let mut hash = suite.common.hash_provider.start();
        for part in parts {
            hash.update(&part.len().to_be_bytes());
            hash.update(part);
        }
        Self(
            hash.finish()
                .as_ref()
                .try_into()
                .expect("SHA-256 has 32 bytes"),
        )
    }

    /// Returns a number from 0 to below 1: uniformly distributed, and always the same for the same content.
    pub(crate) fn fraction(self) -> f64 {
        let [a, b, c, d, ..] = self.0;
        f64::from(u32::from_be_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
    }
}

/// Decodes the `number`th certificate of a file (counted from 1).
pub(crate) fn decode<'a>(
    certificate: &'a CertificateDer<'_>,
    number: usize,
) -> Result<X509Certificate<'a>, Problem> {
    match X509Certificate::from_der(certificate) {
        Ok((_, decoded)) => Ok(decoded),
        Err(error) => Err(Problem::Malformed(format!(
            "certificate {number} of the file cannot be decoded ({error})"
        ))),
    }
}

/// Encodes a certificate in PEM.
pub(crate) fn certificate_pem(der: &[u8]) -> String {
    encode("CERTIFICATE", der)
}

/// Encodes PEM, always with the same line length, that of Go and OpenSSL.
pub(crate) fn encode(label: &str, der: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        pem.extend(line.iter().copied().map(char::from));
        pem.push('\n');
    }
    pem + &format!("-----END {label}-----\n")
}

/// Returns the SHA-256 of these bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut sum = [0; 32];
    sum.copy_from_slice(digest(&SHA256, bytes).as_ref());
    sum
}

/// Returns these bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the first and last moment of validity, inclusive. Times beyond the range of jiff (X.509's `99991231235959Z` for
/// "never") become the last time of jiff.
pub(crate) fn validity(certificate: &X509Certificate<'_>) -> (Timestamp, Timestamp) {
    let clamped = |seconds| Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
    let validity = certificate.validity();
    (
        clamped(validity.not_before.timestamp()),
        clamped(validity.not_after.timestamp()),
    )
}
