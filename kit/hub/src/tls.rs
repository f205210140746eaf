//! TLS to an API server or a proxy: the client certificate, and the check of the server's.

use std::path::PathBuf;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use kube::Config;
use kube::client::ConfigExt;
use kube::config::AuthInfo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, DigitallySignedStruct, Error, InconsistentKeys, RootCertStore,
    SignatureScheme,
};
use tower::BoxError;

use crate::access::Sharing;
use crate::error::causes;
use crate::values::{Fault, secret};

/// TLS sessions that are kept for the next connection: those of one server, which rustls counts as eight.
const SESSIONS: usize = 8;

/// The object identifiers of curve P-521, of extended key usages, and of two of them: any, and that of servers. DER.
const P_521: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23];
const EXTENDED_KEY_USAGE: &[u8] = &[0x06, 0x03, 0x55, 0x1d, 0x25];
const ANY_USAGE: &[u8] = &[0x06, 0x04, 0x55, 0x1d, 0x25, 0x00];
const SERVER_USAGE: &[u8] = &[0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];

/// Trusts what webpki trusts, and a server whose certificate is itself configured as authority, as Go does.
///
/// The name, the validity and the signatures of the handshake are checked as for any other certificate. Only the issuer is not.
#[derive(Debug)]
struct Pinning {
    webpki: Arc<WebPkiServerVerifier>,
    authorities: Vec<CertificateDer<'static>>,
}

/// kube's TLS with our check of the server, with the protocols of this sharing, and without the room that rustls has for the
/// sessions of 32 servers.
pub(crate) fn tls<C>(
    config: &Config,
    sharing: Sharing,
    connector: C,
) -> Result<HttpsConnector<C>, BoxError> {
    let mut rest = config.clone();
    let identity = identity(&mut rest.auth_info).map_err(|fault| fault.to_string())?;
    let verifier = match &config.root_cert {
        // kube reads the authorities of a pod again.
        Some(authorities) if !config.accept_invalid_certs && config.root_cert_file.is_none() => {
            // kube fails on an authority that it cannot read. Go leaves it out.
            rest.root_cert = Some(Vec::new());
            let pinning = Pinning::new(authorities);
            Some(pinning.map_err(|why| Fault::new("certificate-authority", why).to_string())?)
        }
        _ => None,
    };
    let mut tls = rest.rustls_client_config()?;
    if let Some(verifier) = verifier {
        tls.dangerous().set_certificate_verifier(Arc::new(verifier));
    }
    // That of an exec plugin comes first.
    if let Some(identity) = identity
        && !tls.client_auth_cert_resolver.has_certs()
    {
        tls.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(identity));
    }
    tls.resumption = Resumption::in_memory_sessions(SESSIONS);
    let mut builder = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone())?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(match sharing {
        Sharing::OneEach => builder.enable_http1().wrap_connector(connector),
        Sharing::All | Sharing::AllBriefly => {
            builder.enable_all_versions().wrap_connector(connector)
        }
    })
}

/// Takes the client certificate and its key out of the user. (An exec plugin has its own.)
///
/// rustls refuses a certificate of X.509 version 1, which API servers accept and some distributions issue. It is for the server to
/// judge: here it only has to fit the key.
fn identity(user: &mut AuthInfo) -> Result<Option<CertifiedKey>, Fault> {
    let key_data = secret(user, "client-key-data");
    user.client_key_data = None;
    let certificate = (
        user.client_certificate_data.take(),
        user.client_certificate.take(),
    );
    let key = (key_data, user.client_key.take());
    let certificate = read("client-certificate", certificate)?;
    let key = read("client-key", key)?;
    let (Some(certificate), Some(key)) = (&certificate, &key) else {
        // As kubectl: a key alone is of no use, and does no harm.
        return match certificate {
            Some(_) => Err(Fault::new(
                "client-key",
                "missing: client-certificate needs it",
            )),
            None => Ok(None),
        };
    };
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| Fault::new("client-certificate", causes(&error)))?;
    if chain.is_empty() {
        return Err(Fault::new(
            "client-certificate",
            "it has no certificate in PEM",
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
        let why = match error {
            rustls::pki_types::pem::Error::NoItemsFound => {
                "it has no private key in PEM (an encrypted one cannot be used)".to_owned()
            }
            error => causes(&error),
        };
        Fault::new("client-key", why)
    })?;
    let is_p521 = contains(key.secret_der(), P_521);
    let key = provider()
        .key_provider
        .load_private_key(key)
        .map_err(|error| {
            let why = if is_p521 {
                "a key on curve P-521 is not supported".to_owned()
            } else {
                error.to_string()
            };
            Fault::new(
                "client-key",
                format!("{why}: use RSA with 2048 to 4096 bits, ECDSA P-256 or P-384, or Ed25519"),
            )
        })?;
    let identity = CertifiedKey::new(chain, key);
    match identity.keys_match() {
        Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            let why = "the key is not that of the certificate in client-certificate";
            Err(Fault::new("client-key", why))
        }
        Err(error) if !is_version_1(&error) && !matches!(error, Error::InconsistentKeys(_)) => {
            Err(Fault::new("client-certificate", error.to_string()))
        }
        _ => Ok(Some(identity)),
    }
}

fn is_version_1(error: &Error) -> bool {
    is_other(error, "UnsupportedCertVersion")
}

/// Reports whether this is the error of webpki with this name, for which rustls has none.
fn is_other(error: &Error, name: &str) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other)) if other.0.to_string() == name)
}

fn read(
    field: &str,
    (data, file): (Option<String>, Option<String>),
) -> Result<Option<Vec<u8>>, Fault> {
    match (data, file.map(PathBuf::from)) {
        (Some(data), _) => {
            let field = format!("{field}-data");
            let decoded = BASE64_STANDARD.decode(data);
            decoded.map_err(|error| Fault::new(field, format!("it is not base64: {error}")))
        }
        (None, Some(file)) => std::fs::read(&file)
            .map_err(|error| Fault::new(field, format!("{}: {error}", file.display()))),
        (None, None) => return Ok(None),
    }
    .map(Some)
}

/// The provider that kube's configurations use.
fn provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|it| it == part)
}

// === impl Pinning ===

impl Pinning {
    fn new(authorities: &[Vec<u8>]) -> Result<Self, String> {
        let authorities: Vec<_> = authorities
            .iter()
            .cloned()
            .map(CertificateDer::from)
            .collect();
        let mut roots = RootCertStore::empty();
        let (readable, _) = roots.add_parsable_certificates(authorities.iter().cloned());
        if readable == 0 {
            return Err("none of its certificates can be read".to_owned());
        }
        let webpki = WebPkiServerVerifier::builder_with_provider(roots.into(), provider());
        let webpki = webpki.build().map_err(|error| error.to_string())?;
        Ok(Self {
            webpki,
            authorities,
        })
    }

    /// Verifies the configured certificate without its issuer.
    fn verify_pinned(
        &self,
        end_entity: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        let verified = self
            .webpki
            .verify_server_cert(end_entity, &[], name, &[], now);
        let Err(error) = verified else { return Ok(()) };
        // webpki checks the validity before all these, and the usage after the last one.
        let is_trusted = match &error {
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::BadSignature,
            ) => true,
            error => is_other(error, "CaUsedAsEndEntity") && is_for_servers(end_entity),
        };
        if !is_trusted {
            return Err(error);
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)
    }
}

fn is_for_servers(certificate: &CertificateDer<'_>) -> bool {
    !contains(certificate, EXTENDED_KEY_USAGE)
        || contains(certificate, SERVER_USAGE)
        || contains(certificate, ANY_USAGE)
}

impl ServerCertVerifier for Pinning {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = (self.webpki).verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        let is_pinned = || self.authorities.iter().any(|it| it == end_entity);
        if verified.is_ok() || !is_pinned() {
            return verified;
        }
        self.verify_pinned(end_entity, server_name, now)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

#[cfg(test)]
pub(crate) mod tests;
