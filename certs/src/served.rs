//! Checks the certificates of another server: would an API server with a given CA bundle trust them?
//!
//! [`seen_at`] fetches the certificates of a server without verification; no data is sent over that connection. [`judge`]
//! returns all objections of an API server, while a handshake reports only the first. It follows Go's rules where they
//! differ from rustls': an expired CA verifies no certificate, and a certificate that is itself in the bundle needs no CA.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use crate::pair::alternative_names;
use crate::pem::{PemFile, Problem, certificate_pem, decode, validity};

/// The certificates of a server: its own first, then the intermediate ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain(Vec<CertificateDer<'static>>);

/// The authorities that a client trusts.
#[derive(Clone, Debug)]
pub struct Bundle(Vec<CertificateDer<'static>>);

/// Facts about a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The first moment of its validity.
    pub not_before: Timestamp,
    /// The last moment of its validity.
    pub not_after: Timestamp,
    /// Its names: DNS names, then IP addresses.
    pub names: Vec<String>,
    /// The issuer that it names.
    pub issuer: String,
}

/// Reasons why a client does not trust a server's certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The server's certificate cannot be decoded.
    Unreadable(String),
    /// No authority of the bundle signed it.
    UnknownAuthority,
    /// The authority of the bundle that signed it is no longer valid, or not yet.
    AuthorityInvalid {
        /// The last moment of its validity.
        not_after: Timestamp,
    },
    /// It is not valid for the name that the client uses.
    Name,
    /// It is no longer valid.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// Another error of the verification.
    Other(String),
}

/// A client's verdict on a server's certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The server's own certificate, if it can be decoded.
    pub leaf: Option<Leaf>,
    /// The time when the last of the authorities that verify it now expires.
    pub authority_not_after: Option<Timestamp>,
    /// The objections. If empty, the client trusts the certificates.
    pub objections: Vec<Objection>,
}

// === impl Chain ===

impl Chain {
    /// Decodes a PEM file, such as `tls.crt`.
    ///
    /// # Errors
    /// The file contains no certificate, or a part of it cannot be decoded.
    pub fn from_pem(pem: &[u8]) -> Result<Self, Problem> {
        certificates(pem).map(Self)
    }

    /// Returns the certificates in PEM, in their order.
    pub fn pem(&self) -> String {
        self.0.iter().map(|der| certificate_pem(der)).collect()
    }
}

// === impl Bundle ===

impl Bundle {
    /// Decodes a bundle in PEM.
    ///
    /// # Errors
    /// The bundle contains no certificate, or a part of it cannot be decoded.
    pub fn from_pem(pem: &[u8]) -> Result<Self, Problem> {
        let certificates = certificates(pem)?;
        for (certificate, number) in certificates.iter().zip(1..) {
            decode(certificate, number)?;
        }
        Ok(Self(certificates))
    }

    /// Returns the authorities as trust anchors of rustls, without those that it cannot use.
    fn anchors<'a>(
        certificates: impl Iterator<Item = &'a CertificateDer<'static>>,
    ) -> RootCertStore {
        let mut anchors = RootCertStore::empty();
        anchors.add_parsable_certificates(certificates.cloned());
        anchors
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let file = PemFile {
        name: String::new(),
        content: pem.to_vec(),
    };
    file.certificates()
}

/// Judges these certificates at `now`, as a client that connects to `name` and trusts `bundle`.
pub fn judge(chain: &Chain, bundle: &Bundle, name: &str, now: Timestamp) -> Judgement {
    let mut judgement = Judgement {
        leaf: None,
        authority_not_after: None,
        objections: Vec::new(),
    };
    let Some((own, others)) = chain.0.split_first() else {
        judgement
            .objections
            .push(Objection::Unreadable("the server sent none".to_owned()));
        return judgement;
    };
    let leaf = match decode(own, 1) {
        Ok(decoded) => {
            let (not_before, not_after) = validity(&decoded);
            let (mut names, addresses) = alternative_names(&decoded);
            names.extend(addresses.iter().map(ToString::to_string));
            let issuer = decoded.issuer().to_string();
            Leaf {
                not_before,
                not_after,
                names,
                issuer,
            }
        }
        Err(problem) => {
            judgement
                .objections
                .push(Objection::Unreadable(problem.to_string()));
            return judgement;
        }
    };
    if now.as_second() > leaf.not_after.as_second() {
        judgement.objections.push(Objection::Expired);
    } else if now < leaf.not_before {
        judgement.objections.push(Objection::NotYetValid);
    }
    if !bears(own, name) {
        judgement.objections.push(Objection::Name);
    }
    // Find the signer within the validity of the leaf: an expired leaf is an objection of its own.
    let within = now.clamp(leaf.not_before, leaf.not_after);
    judgement.leaf = Some(leaf);
    if bundle.0.contains(own) {
        return judgement;
    }
    let signers: Vec<_> = bundle
        .0
        .iter()
        .filter(|authority| is_signed(own, others, authority, within))
        .filter_map(|authority| Some(validity(&decode(authority, 1).ok()?)))
        .collect();
    let good = |(from, to): &&(Timestamp, Timestamp)| *from <= now && now <= *to;
    match (
        signers.iter().filter(good).map(|(_, to)| *to).max(),
        signers.iter().map(|(_, to)| *to).max(),
    ) {
        (Some(not_after), _) => judgement.authority_not_after = Some(not_after),
        (None, Some(not_after)) => judgement
            .objections
            .push(Objection::AuthorityInvalid { not_after }),
        (None, None) => judgement
            .objections
            .push(unknown(own, others, bundle, within)),
    }
    judgement
}

/// Returns the reason why no authority of the bundle verifies it.
fn unknown(
    own: &CertificateDer<'_>,
    others: &[CertificateDer<'static>],
    bundle: &Bundle,
    at: Timestamp,
) -> Objection {
    use rustls::CertificateError::{BadSignature, UnknownIssuer};
    match verify(own, others, Bundle::anchors(bundle.0.iter()), at) {
        Ok(()) | Err(Error::InvalidCertificate(UnknownIssuer | BadSignature)) => {
            Objection::UnknownAuthority
        }
        Err(error) => Objection::Other(error.to_string()),
    }
}

fn is_signed(
    own: &CertificateDer<'_>,
    others: &[CertificateDer<'static>],
    authority: &CertificateDer<'static>,
    at: Timestamp,
) -> bool {
    verify(own, others, Bundle::anchors(std::iter::once(authority)), at).is_ok()
}

/// Verifies that one of these authorities signed the certificates. Names are not checked.
fn verify(
    own: &CertificateDer<'_>,
    others: &[CertificateDer<'static>],
    anchors: RootCertStore,
    at: Timestamp,
) -> Result<(), Error> {
    let provider = Arc::new(ring::default_provider());
    let parsed = ParsedCertificate::try_from(own)?;
    let seconds = u64::try_from(at.as_second()).unwrap_or(0);
    let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    verify_server_cert_signed_by_trust_anchor(
        &parsed,
        &anchors,
        others,
        at,
        provider.signature_verification_algorithms.all,
    )
}

fn bears(own: &CertificateDer<'_>, name: &str) -> bool {
    let Ok(name) = ServerName::try_from(name) else {
        return false;
    };
    ParsedCertificate::try_from(own).is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
}

/// Returns the certificates that a server sends to a client that connects to this name. They are not verified. The caller
/// must limit the time.
///
/// # Errors
/// The server sends no certificate, for example because it does not use TLS.
pub async fn seen_at<S>(stream: S, name: &str) -> Result<Chain, String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| format!("{name:?} is neither a DNS name nor an IP address"))?;
    let provider = Arc::new(ring::default_provider());
    let watcher = Arc::new(Watcher {
        provider: Arc::clone(&provider),
        seen: Mutex::default(),
    });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&watcher) as _)
        .with_no_client_auth();
    let handshake = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .map(drop);
    let seen = watcher
        .seen
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    // A server that asks for a client certificate has already sent its own.
    match (seen, handshake) {
        (Some(chain), _) => Ok(Chain(chain)),
        (None, Err(error)) => Err(error.to_string()),
        (None, Ok(())) => Err("the server sent no certificate".to_owned()),
    }
}

/// Records the certificates and accepts them. No data is sent to that server.
struct Watcher {
    provider: Arc<CryptoProvider>,
    seen: Mutex<Option<Vec<CertificateDer<'static>>>>,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher").finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Watcher {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = std::iter::once(end_entity)
            .chain(intermediates)
            .map(|certificate| certificate.clone().into_owned())
            .collect();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(chain);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

// === impl Objection ===

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "it cannot be read: {why}"),
            Self::UnknownAuthority => f.write_str("no authority of the bundle signed it"),
            Self::AuthorityInvalid { not_after } => {
                write!(f, "the authority that signed it is valid until {not_after}")
            }
            Self::Name => f.write_str("it is not valid for the name"),
            Self::Expired => f.write_str("it has expired"),
            Self::NotYetValid => f.write_str("it is not valid yet"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::issue::Authority;
    use crate::testing::{HOUR, NAME, authority, leaf};
    use rustls::pki_types::pem::PemObject;

    fn at(now: Timestamp, hours: i64) -> Timestamp {
        now + jiff::SignedDuration::from_hours(hours)
    }

    fn bundle(pem: &str) -> Bundle {
        Bundle::from_pem(pem.as_bytes()).unwrap()
    }

    #[test]
    fn a_judgement_names_everything_that_is_wrong() {
        let now = Timestamp::now();
        let (own, other) = (authority(), authority());
        let issued = leaf(&own);
        let short = Authority::new("short", HOUR, now).unwrap();
        let long_leaf = own.leaf(&[NAME], &["10.0.0.1".parse().unwrap()], 2 * HOUR, now);
        let long_leaf = long_leaf.unwrap();
        let of_short = short.leaf(&[NAME], &[], HOUR, now).unwrap();
        let both = format!("{}{}", other.certificate_pem(), own.certificate_pem());
        // (sentence, certificate, bundle, name, hours from now, objections)
        let table = [
            (
                "all is well",
                &issued,
                own.certificate_pem(),
                NAME,
                0,
                vec![],
            ),
            ("one of two authorities", &issued, &both, NAME, 0, vec![]),
            (
                "an address is a name",
                &long_leaf,
                own.certificate_pem(),
                "10.0.0.1",
                0,
                vec![],
            ),
            (
                "another authority of the same name",
                &issued,
                other.certificate_pem(),
                NAME,
                0,
                vec![Objection::UnknownAuthority],
            ),
            (
                "another name",
                &issued,
                own.certificate_pem(),
                "other.example.svc",
                0,
                vec![Objection::Name],
            ),
            (
                "no name at all",
                &issued,
                own.certificate_pem(),
                "",
                0,
                vec![Objection::Name],
            ),
            (
                "expired",
                &issued,
                own.certificate_pem(),
                NAME,
                2,
                vec![Objection::Expired],
            ),
            (
                "from the future",
                &issued,
                own.certificate_pem(),
                NAME,
                -1,
                vec![
                    Objection::NotYetValid,
                    Objection::AuthorityInvalid {
                        not_after: own.not_after(),
                    },
                ],
            ),
            (
                "expired, misnamed, and of an unknown authority",
                &issued,
                other.certificate_pem(),
                "x",
                2,
                vec![
                    Objection::Expired,
                    Objection::Name,
                    Objection::UnknownAuthority,
                ],
            ),
            (
                "an authority that has expired with it",
                &of_short,
                short.certificate_pem(),
                NAME,
                2,
                vec![
                    Objection::Expired,
                    Objection::AuthorityInvalid {
                        not_after: short.not_after(),
                    },
                ],
            ),
            (
                "a certificate that is in the bundle itself",
                &issued,
                &issued.certificate_pem,
                NAME,
                0,
                vec![],
            ),
            (
                "an authority that serves with its own certificate, which has no names",
                &crate::issue::Issued {
                    certificate_pem: own.certificate_pem().to_owned(),
                    ..issued.clone()
                },
                own.certificate_pem(),
                NAME,
                0,
                vec![Objection::Name],
            ),
        ];
        for (sentence, issued, trusted, name, hours, objections) in table {
            let chain = Chain::from_pem(issued.certificate_pem.as_bytes()).unwrap();
            let judgement = judge(&chain, &bundle(trusted), name, at(now, hours));
            assert_eq!(judgement.objections, objections, "{sentence}");
        }
    }

    #[test]
    fn a_judgement_describes_the_certificate() {
        let own = authority();
        let chain = Chain::from_pem(leaf(&own).certificate_pem.as_bytes()).unwrap();
        let judgement = judge(
            &chain,
            &bundle(own.certificate_pem()),
            NAME,
            Timestamp::now(),
        );
        assert_eq!(
            judgement.authority_not_after.map(Timestamp::as_second),
            Some(own.not_after().as_second())
        );
        let leaf = judgement.leaf.unwrap();
        assert_eq!(leaf.names, [NAME]);
        assert_eq!(leaf.issuer, "CN=test authority");
    }

    #[test]
    fn invalid_bundles_are_refused() {
        assert_eq!(Bundle::from_pem(b"").err(), Some(Problem::NoCertificate));
        assert_eq!(
            Bundle::from_pem(b"-----BEGIN CERTIFICATE-----\nAAAA\n").err(),
            Some(Problem::Truncated)
        );
        let nonsense = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(
            Bundle::from_pem(nonsense),
            Err(Problem::Malformed(_))
        ));
    }

    #[tokio::test]
    async fn any_servers_certificates_are_seen() {
        use rustls::ServerConfig;
        use rustls::pki_types::PrivateKeyDer;
        let own = authority();
        let issued = leaf(&own);
        let certificates =
            vec![CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certificates.clone(), key)
            .unwrap();
        let (near, far) = tokio::io::duplex(16 * 1024);
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let (seen, _) = tokio::join!(seen_at(near, "whatever.example"), acceptor.accept(far));
        assert_eq!(seen, Ok(Chain(certificates)));

        let (near, far) = tokio::io::duplex(16 * 1024);
        drop(far);
        let seen = tokio::time::timeout(Duration::from_secs(10), seen_at(near, NAME)).await;
        assert!(seen.unwrap().is_err());
    }
}
