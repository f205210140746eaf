use base64::prelude::{BASE64_STANDARD, Engine};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DistinguishedName, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::{Call, HubApi};

/// What `openssl x509 -req` 3.0 makes of a request without extensions, and a key on P-521.
const VERSION_1: [&str; 2] = [
    include_str!("fixtures/version-1.crt"),
    include_str!("fixtures/version-1.key"),
];
const P_521_PAIR: [&str; 2] = [
    include_str!("fixtures/p-521.crt"),
    include_str!("fixtures/p-521.key"),
];

/// Accepts every client certificate, as an API server accepts those of its client CA.
#[derive(Debug)]
pub(crate) struct AnyClient;

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    // webpki cannot read a certificate of version 1.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// A server with this certificate. It answers with the client's, in base64.
async fn serve(certificate: &CertificateDer<'static>, key: &KeyPair) -> u16 {
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let key = provider().key_provider.load_private_key(key).unwrap();
    let identity = CertifiedKey::new(vec![certificate.clone()], key);
    let config = ServerConfig::builder()
        .with_client_cert_verifier(Arc::new(AnyClient))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("localhost:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut tls) = acceptor.accept(tcp).await else {
                    return;
                };
                let peer = tls.get_ref().1.peer_certificates();
                let peer = peer
                    .map(|chain| BASE64_STANDARD.encode(&chain[0]))
                    .unwrap_or_default();
                let mut buffer = vec![0; 4096];
                while let Ok(read @ 1..) = tls.read(&mut buffer).await {
                    let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
                    if let Some(to) = request.strip_prefix("CONNECT ") {
                        let to = to.split(' ').next().unwrap().to_owned();
                        let mut server = TcpStream::connect(to).await.unwrap();
                        tls.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                        let _ = tokio::io::copy_bidirectional(&mut tls, &mut server).await;
                        return;
                    }
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", peer.len());
                    if tls.write_all((head + &peer).as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// What a server on this port answers to a client with these fields of cluster and user.
async fn ask(port: u16, cluster: &str, user: &str) -> Result<String, String> {
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
         clusters: [{{name: c, cluster: {{server: 'https://localhost:{port}', {cluster}}}}}], \
         users: [{{name: u, user: {{{user}}}}}]}}"
    );
    let hub = HubApi::of_kubeconfig(&text, "k")
        .await
        .map_err(|error| error.to_string())?;
    let answer = hub
        .call(Call::get("/version"))
        .await
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8(answer.body.to_vec()).unwrap())
}

fn trusting(authorities: &[&CertificateDer<'_>]) -> String {
    let pem = |der: &&CertificateDer<'_>| {
        let der = BASE64_STANDARD.encode(der);
        format!("-----BEGIN CERTIFICATE-----\n{der}\n-----END CERTIFICATE-----\n")
    };
    let pem: String = authorities.iter().map(pem).collect();
    format!(
        "certificate-authority-data: {}",
        BASE64_STANDARD.encode(pem)
    )
}

struct Ca(Issuer<'static, KeyPair>, CertificateDer<'static>);

impl Ca {
    fn new(name: &str) -> Self {
        let mut params = params("ca");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let own = params.self_signed(&key).unwrap();
        Self(Issuer::new(params, key), own.der().clone())
    }

    fn sign(&self, params: &CertificateParams, key: &KeyPair) -> CertificateDer<'static> {
        params.signed_by(key, &self.0).unwrap().der().clone()
    }
}

fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

#[tokio::test]
async fn a_server_whose_own_certificate_is_configured_is_trusted_as_go_does() {
    let _ = default_provider().install_default();
    let (ca, same_name, key) = (Ca::new("one"), Ca::new("one"), KeyPair::generate().unwrap());
    let (plain, other_key) = (params("localhost"), KeyPair::generate().unwrap());
    let own = |change: fn(&mut CertificateParams)| {
        // `openssl req -x509` makes an authority.
        let mut params = params("localhost");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        change(&mut params);
        params.self_signed(&key).unwrap().der().clone()
    };
    let leaf = ca.sign(&plain, &key);
    let (old, mut expired) = (
        |params: &mut CertificateParams| params.not_after = rcgen::date_time_ymd(2020, 1, 1),
        plain.clone(),
    );
    old(&mut expired);
    let self_signed = own(|_| {});
    let server_usage = own(|it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]);
    let client_usage = own(|it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]);
    let [leaf_elsewhere, leaf_expired] =
        [params("elsewhere"), expired].map(|it| ca.sign(&it, &key));
    let elsewhere = own(|it| it.subject_alt_names = params("elsewhere").subject_alt_names);
    let old = own(|it| it.not_after = rcgen::date_time_ymd(2020, 1, 1));
    let another = ca.sign(&plain, &other_key);
    for (what, server, trusted, expected) in [
        ("its authority", &leaf, vec![&ca.1], Ok(())),
        ("itself, of an authority", &leaf, vec![&leaf], Ok(())),
        (
            "itself, beside an authority of the same name",
            &leaf,
            vec![&same_name.1, &leaf],
            Ok(()),
        ),
        (
            "itself, self-signed",
            &self_signed,
            vec![&self_signed],
            Ok(()),
        ),
        (
            "itself, self-signed for servers",
            &server_usage,
            vec![&server_usage],
            Ok(()),
        ),
        (
            "another of the same authority",
            &leaf,
            vec![&another],
            Err("UnknownIssuer"),
        ),
        (
            "another self-signed one",
            &self_signed,
            vec![&another],
            Err("CaUsedAsEndEntity"),
        ),
        (
            "itself for another name",
            &leaf_elsewhere,
            vec![&leaf_elsewhere],
            Err("not valid for name"),
        ),
        (
            "itself self-signed, for another name",
            &elsewhere,
            vec![&elsewhere],
            Err("not valid for name"),
        ),
        (
            "itself, expired",
            &leaf_expired,
            vec![&leaf_expired],
            Err("expired"),
        ),
        (
            "itself, self-signed and expired",
            &old,
            vec![&old],
            Err("expired"),
        ),
        (
            "itself, for clients",
            &client_usage,
            vec![&client_usage],
            Err("CaUsedAsEndEntity"),
        ),
        // The server has no key for this certificate.
        (
            "a copy without its key",
            &another,
            vec![&another],
            Err("BadSignature"),
        ),
    ] {
        let port = serve(server, &key).await;
        let answer = ask(port, &trusting(&trusted), "token: t").await.map(drop);
        match (answer, expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(words)) if error.contains(words) => {}
            (answer, _) => panic!("{what}: {answer:?}, not {expected:?}"),
        }
    }
}

#[tokio::test]
async fn a_proxy_whose_own_certificate_is_configured_is_trusted() {
    let _ = default_provider().install_default();
    let key = KeyPair::generate().unwrap();
    let mut own = params("localhost");
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = own.self_signed(&key).unwrap().der().clone();
    let (server, proxy) = (serve(&own, &key).await, serve(&own, &key).await);
    let through = format!(
        "proxy-url: 'https://localhost:{proxy}', {}",
        trusting(&[&own])
    );
    assert_eq!(ask(server, &through, "token: t").await, Ok(String::new()));
}

#[tokio::test]
async fn client_certificates_are_sent_if_the_key_fits() {
    let _ = default_provider().install_default();
    let (ca, key) = (Ca::new("one"), KeyPair::generate().unwrap());
    let port = serve(&ca.sign(&params("localhost"), &key), &key).await;
    let client = params("c").self_signed(&key).unwrap();
    let (certificate, key) = (client.pem(), key.serialize_pem());
    let both = format!("{key}{certificate}");
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let fields = |certificate: &str, key: &str| {
        let mut fields = String::new();
        for (field, pem) in [("certificate", certificate), ("key", key)] {
            if !pem.is_empty() {
                fields += &format!("client-{field}-data: '{}',", BASE64_STANDARD.encode(pem));
            }
        }
        fields
    };
    let first = |pem: &str| {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        Ok(BASE64_STANDARD.encode(der))
    };
    let cluster = trusting(&[&ca.1]);
    for (what, [certificate, key], expected) in [
        ("a pair", [&*certificate, &*key], first(&certificate)),
        ("both in one file", [&*both, &*both], first(&certificate)),
        ("version 1", VERSION_1, first(VERSION_1[0])),
        ("a key alone", ["", &*key], Ok(String::new())),
        (
            "a certificate alone",
            [&*certificate, ""],
            Err("client-key: missing"),
        ),
        (
            "P-521",
            P_521_PAIR,
            Err("client-key: a key on curve P-521 is not supported: use RSA"),
        ),
        (
            "the key of another",
            [VERSION_1[0], P_521_PAIR[1]],
            Err("client-key: a key on curve"),
        ),
        (
            "a certificate of another",
            [P_521_PAIR[0], &*key],
            Err("client-key: the key is not that"),
        ),
        (
            "no key",
            [&*certificate, &*certificate],
            Err("client-key: it has no private key in PEM"),
        ),
        (
            "an encrypted key",
            [&*certificate, &*encrypted],
            Err("client-key: it has no private key in PEM"),
        ),
        (
            "no certificate",
            [&*key, &*key],
            Err("client-certificate: it has no certificate in PEM"),
        ),
        (
            "text",
            ["a", "b"],
            Err("client-certificate: it has no certificate in PEM"),
        ),
    ] {
        let answer = ask(port, &cluster, &fields(certificate, key)).await;
        match (answer, expected) {
            (Ok(sent), Ok(expected)) => assert_eq!(sent, expected, "{what}"),
            (Err(error), Err(words)) if error.contains(words) => {
                assert!(error.starts_with("k: "), "{error}");
            }
            (answer, _) => panic!("{what}: {answer:?}"),
        }
    }
}
