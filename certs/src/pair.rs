//! A certificate with its private key, decoded from PEM and checked before it is served.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::InconsistentKeys;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{GeneralName, X509Certificate};

use crate::pem::{CertError, Digest, PemFile, Problem, decode, validity};

/// A certificate chain and the private key of its first certificate. They match.
#[derive(Clone)]
pub struct Pair {
    /// The pair for rustls.
    pub certified_key: Arc<CertifiedKey>,
    /// The first moment the leaf is valid.
    pub not_before: Timestamp,
    /// The last moment the leaf is valid.
    pub not_after: Timestamp,
    /// The digest of both files.
    pub digest: Digest,
    /// The names it is valid for (DNS subject alternative names; today's clients ignore the common name).
    pub dns_names: Vec<String>,
    /// The addresses it is valid for (IP subject alternative names).
    pub ip_addresses: Vec<IpAddr>,
}

impl Pair {
    /// Decodes and checks a pair: at least one certificate, the first of them valid at `now`, and a private key that matches
    /// it. The names and the completeness of the chain are not checked: clients do that.
    ///
    /// # Errors
    /// The first problem found, in the order certificate file, key file, match, validity.
    pub fn from_pem(
        certificate: &PemFile,
        key: &PemFile,
        now: Timestamp,
    ) -> Result<Self, CertError> {
        let digest = Digest::of(&[&certificate.content, &key.content]);
        let in_certificate = |problem| certificate.error(problem, digest);
        let in_key = |problem| key.error(problem, digest);

        let chain = certificate.certificates().map_err(in_certificate)?;
        let leaf = decode(&chain[0], 1).map_err(in_certificate)?;
        let (not_before, not_after) = validity(&leaf);
        let (dns_names, ip_addresses) = alternative_names(&leaf);

        let private_key = private_key(&key.content).map_err(in_key)?;
        let signing_key =
            any_supported_type(&private_key).map_err(|_| in_key(Problem::UnusableKey))?;
        let certified_key = CertifiedKey::new(chain, signing_key);
        match certified_key.keys_match() {
            // Unknown: a key without a known public key, which ring does not have.
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(rustls::Error::InconsistentKeys(_)) => {
                return Err(in_key(Problem::KeyMismatch {
                    certificate: certificate.name.clone(),
                }));
            }
            Err(error) => {
                let what = format!("certificate 1 of the file cannot be served ({error})");
                return Err(in_certificate(Problem::Malformed(what)));
            }
        }

        let pair = Self {
            certified_key: Arc::new(certified_key),
            not_before,
            not_after,
            digest,
            dns_names,
            ip_addresses,
        };
        if now < not_before {
            return Err(in_certificate(Problem::NotYetValid { not_before }));
        }
        if !pair.is_valid_at(now) {
            return Err(in_certificate(Problem::Expired { not_after }));
        }
        Ok(pair)
    }

    /// Returns true if the leaf is valid at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        // X.509 has whole seconds, and the last one is part of the validity.
        self.not_before <= now && now.as_second() <= self.not_after.as_second()
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair")
            .field("dns_names", &self.dns_names)
            .field("ip_addresses", &self.ip_addresses)
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

/// Returns the first private key among the PEM blocks.
pub(crate) fn private_key(content: &[u8]) -> Result<PrivateKeyDer<'static>, Problem> {
    PrivateKeyDer::from_pem_slice(content).map_err(|error| {
        // "BEGIN ENCRYPTED PRIVATE KEY" (PKCS #8), or "Proc-Type: 4,ENCRYPTED" inside a block (OpenSSL's older form).
        if content.windows(9).any(|word| word == b"ENCRYPTED") {
            return Problem::EncryptedKey;
        }
        match error {
            pem::Error::NoItemsFound => Problem::NoKey,
            error => Problem::of_pem(&error),
        }
    })
}

/// Returns the DNS and IP subject alternative names; empty if the extension cannot be decoded.
pub(crate) fn alternative_names(certificate: &X509Certificate<'_>) -> (Vec<String>, Vec<IpAddr>) {
    let (mut dns_names, mut ip_addresses) = (Vec::new(), Vec::new());
    if let Ok(Some(extension)) = certificate.subject_alternative_name() {
        for name in &extension.value.general_names {
            match name {
                GeneralName::DNSName(name) => dns_names.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => ip_addresses.extend(
                    <[u8; 4]>::try_from(*bytes)
                        .map(IpAddr::from)
                        .or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)),
                ),
                _ => {}
            }
        }
    }
    (dns_names, ip_addresses)
}

#[cfg(test)]
mod tests;
