//! The check of client certificates: `--client-ca-file` and `--client-names`.
//!
//! Only the hub's API servers call a webhook. With a client CA, a handshake needs a client certificate of that CA. With names
//! as well, the certificate's common name or one of its DNS names must be one of these names.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, RootCertStore,
    SignatureScheme,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::pair::alternative_names;
use crate::pem::{CertError, Digest, PemFile, Problem, decode, validity};

/// The rule for client certificates: a CA bundle, which is reloaded, and names, which do not change.
#[derive(Clone, Debug)]
pub struct ClientAuth {
    ca_file: PathBuf,
    names: Arc<[String]>,
}

/// Errors in the flags of [`ClientAuth`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientAuthError {
    /// Names without a CA.
    #[error(
        "--client-names: names are checked only on certificates of a known CA; give --client-ca-file as well"
    )]
    NamesWithoutCa,
    /// An empty name, for example from an unset variable. It must not mean "any name".
    #[error(
        "--client-names: a name is empty; leave the flag out to let in every certificate of the client CA"
    )]
    EmptyName,
}

/// A client CA bundle that was read, as a verifier.
#[derive(Clone, Debug)]
pub(crate) struct LoadedClientCa {
    pub(crate) verifier: Arc<dyn ClientCertVerifier>,
    pub(crate) digest: Digest,
    /// When the first certificate of the bundle expires.
    pub(crate) not_after: Timestamp,
}

#[derive(Debug)]
struct NamedClientVerifier {
    chain: Arc<dyn ClientCertVerifier>,
    names: Arc<[String]>,
}

/// A certificate of the right CA, with the wrong names.
struct NameRefused {
    common_names: Vec<String>,
    dns_names: Vec<String>,
}

// === impl ClientAuth ===

impl ClientAuth {
    /// Makes the rule from the two flags; `None` without a CA file. Without names, every certificate of the CA is accepted.
    /// Spaces around a name are removed. The file is not read yet.
    ///
    /// # Errors
    /// Names without a CA file, or an empty name.
    pub fn new(
        ca_file: Option<PathBuf>,
        names: Vec<String>,
    ) -> Result<Option<Self>, ClientAuthError> {
        let names: Vec<_> = names.iter().map(|name| name.trim().to_owned()).collect();
        if names.iter().any(String::is_empty) {
            return Err(ClientAuthError::EmptyName);
        }
        match ca_file {
            Some(ca_file) => Ok(Some(Self {
                ca_file,
                names: names.into(),
            })),
            None if names.is_empty() => Ok(None),
            None => Err(ClientAuthError::NamesWithoutCa),
        }
    }

    /// Reads the bundle. Every certificate in it must be usable: to ignore one would lock out its clients.
    pub(crate) fn load(&self) -> Result<LoadedClientCa, CertError> {
        let file = PemFile::read(&self.ca_file, self.ca_file.display().to_string())?;
        let digest = Digest::of(&[&file.content]);
        let (roots, not_after) =
            trust_anchors(&file).map_err(|problem| file.error(problem, digest))?;
        let provider = Arc::new(ring::default_provider());
        let chain = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| file.error(Problem::Malformed(error.to_string()), digest))?;
        let verifier = Arc::new(NamedClientVerifier {
            chain,
            names: Arc::clone(&self.names),
        });
        Ok(LoadedClientCa {
            verifier,
            digest,
            not_after,
        })
    }
}

/// Returns the certificates of a bundle as trust anchors, and the time when the first of them expires.
fn trust_anchors(file: &PemFile) -> Result<(RootCertStore, Timestamp), Problem> {
    let mut roots = RootCertStore::empty();
    let mut first_to_expire = Timestamp::MAX;
    for (certificate, number) in file.certificates()?.into_iter().zip(1..) {
        let (_, not_after) = validity(&decode(&certificate, number)?);
        first_to_expire = first_to_expire.min(not_after);
        roots.add(certificate).map_err(|error| {
            Problem::Malformed(format!(
                "certificate {number} of the file cannot be used as a CA ({error})"
            ))
        })?;
    }
    Ok((roots, first_to_expire))
}

// === impl NamedClientVerifier ===

impl NamedClientVerifier {
    fn check_names(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        if self.names.is_empty() {
            return Ok(());
        }
        let (_, certificate) =
            X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
        let common_names: Vec<String> = certificate
            .subject()
            .iter_common_name()
            .filter_map(|name| name.as_str().ok().map(ToOwned::to_owned))
            .collect();
        let (dns_names, _) = alternative_names(&certificate);
        if common_names
            .iter()
            .chain(&dns_names)
            .any(|name| self.names.contains(name))
        {
            return Ok(());
        }
        // A certificate error, unlike Error::General, sends the client an alert about its certificate.
        Err(CertificateError::Other(OtherError(Arc::new(NameRefused {
            common_names,
            dns_names,
        })))
        .into())
    }
}

impl ClientCertVerifier for NamedClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.chain.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self
            .chain
            .verify_client_cert(end_entity, intermediates, now)?;
        self.check_names(end_entity)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

// === impl NameRefused ===

impl fmt::Display for NameRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "client certificate with common name {:?} and DNS names {:?} has none of the names in --client-names",
            self.common_names, self.dns_names
        )
    }
}

impl fmt::Debug for NameRefused {
    // rustls prints errors of this kind with Debug.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NameRefused {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_around_names_are_removed() {
        let names = vec![" kube-apiserver".to_owned(), "b ".to_owned()];
        let rule = ClientAuth::new(Some(PathBuf::from("/ca.crt")), names).unwrap();
        assert_eq!(*rule.unwrap().names, ["kube-apiserver", "b"]);
    }

    #[test]
    fn flags_are_checked_at_start() {
        let ca = || Some(PathBuf::from("/ca.crt"));
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        // (sentence, CA file, names, rule made or error, part of the text)
        let table = [
            ("no flags, no check", None, names(&[]), Ok(false), ""),
            ("a CA alone", ca(), names(&[]), Ok(true), ""),
            (
                "a CA and names",
                ca(),
                names(&["kube-apiserver", "b"]),
                Ok(true),
                "",
            ),
            (
                "names without a CA",
                None,
                names(&["a"]),
                Err(ClientAuthError::NamesWithoutCa),
                "--client-ca-file",
            ),
            (
                "an empty name",
                ca(),
                names(&["a", ""]),
                Err(ClientAuthError::EmptyName),
                "a name is empty",
            ),
            (
                "a name of spaces",
                ca(),
                names(&[" "]),
                Err(ClientAuthError::EmptyName),
                "leave the flag out",
            ),
        ];
        for (sentence, ca_file, names, expected, text) in table {
            let made = ClientAuth::new(ca_file, names).map(|rule| rule.is_some());
            assert_eq!(made, expected, "{sentence}");
            assert!(
                made.err()
                    .is_none_or(|error| error.to_string().contains(text)),
                "{sentence}"
            );
        }
    }
}
