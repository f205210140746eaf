//! What a service sees of its connection, and what a listener bears, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use berth_serve::{Limits, Listener, Peer, Stop, Tls, Turns, endpoints};
use http::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

async fn port() -> (TcpListener, SocketAddr) {
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    (tcp, address)
}

fn private(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(key.serialize_der()).into()
}

fn trusting(pair: &CertifiedKey<KeyPair>) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(pair.cert.der().clone()).unwrap();
    Arc::new(roots)
}

/// A listener over TLS that answers every request with the size of the client's certificate, and how it is called over
/// HTTP/2.
struct Served {
    address: SocketAddr,
    client: ClientConfig,
    certificate: Vec<u8>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

async fn served(limits: Limits) -> Served {
    let [server, user] =
        ["localhost", "user"].map(|name| generate_simple_self_signed([name.to_owned()]).unwrap());
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(trusting(&user), provider.clone())
        .allow_unauthenticated()
        .build()
        .unwrap();
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![server.cert.der().clone()],
            private(&server.signing_key),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusting(&server))
        .with_client_auth_cert(vec![user.cert.der().clone()], private(&user.signing_key))
        .unwrap();
    client.alpn_protocols = vec![b"h2".to_vec()];

    let (tcp, address) = port().await;
    let stop = CancellationToken::new();
    let service = |peer: &Peer| {
        let certificate = peer.certificate.clone();
        Router::new().fallback(async move || certificate.map(|it| it.to_vec()).unwrap_or_default())
    };
    let listener = Listener::of_clients(tcp, Some(Tls::from(Arc::new(config))), service, limits);
    Served {
        address,
        client,
        certificate: user.cert.der().to_vec(),
        serving: tokio::spawn(listener.serve(Stop::at_once(stop.clone()))),
        stop,
    }
}

impl Served {
    /// Asks once over HTTP/2, with a header of this length.
    async fn ask(&self, length: usize) -> Result<(StatusCode, Vec<u8>), hyper::Error> {
        let tcp = TcpStream::connect(self.address).await.unwrap();
        let tls = TlsConnector::from(Arc::new(self.client.clone()));
        let name = ServerName::try_from("localhost").unwrap();
        let tls = tls.connect(name, tcp).await.unwrap();
        let io = TokioIo::new(tls);
        let (mut client, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
        let request = Request::get("https://localhost/")
            .header("authorization", "x".repeat(length))
            .body(Body::empty())
            .unwrap();
        tokio::select! {
            response = async {
                let response = client.send_request(request).await?;
                let status = response.status();
                let body = http_body_util::BodyExt::collect(response.into_body()).await?;
                Ok((status, body.to_bytes().to_vec()))
            } => response,
            _ = connection => panic!("the connection ended"),
        }
    }

    async fn end(self) {
        self.stop.cancel();
        self.serving.await.unwrap();
    }
}

#[tokio::test]
async fn a_service_sees_the_certificate_of_its_client() {
    let served = served(Limits::default()).await;
    let (status, body) = served.ask(100).await.unwrap();
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body, served.certificate);
    served.end().await;
}

#[tokio::test]
async fn headers_are_bounded_as_the_limits_say() {
    for (headers, length, expected) in [
        (4 * 1024, 3_000, StatusCode::OK),
        (
            4 * 1024,
            12_000,
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        ),
        (16 * 1024, 12_000, StatusCode::OK),
        (
            16 * 1024,
            20_000,
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        ),
    ] {
        let served = served(Limits {
            http2_headers: headers,
            ..Limits::default()
        })
        .await;
        let (status, _) = served.ask(length).await.unwrap();
        assert_eq!(status, expected, "{length} bytes of {headers}");
        served.end().await;
    }
}

#[tokio::test]
async fn a_listener_apart_answers_while_the_runtime_is_busy() {
    let (tcp, address) = port().await;
    let router = endpoints::health(Turns::default(), async || [("always", Ok(String::new()))]);
    let listener = Listener::new(tcp, None, router, Limits::default());
    let stop = CancellationToken::new();
    let serving = tokio::spawn(listener.serve_apart("health", Stop::at_once(stop.clone())));
    // The thread starts. From here on this thread, the only one of the runtime, waits without yielding.
    tokio::task::yield_now().await;
    let mut answer = String::new();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    client
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    stop.cancel();
    serving.await.unwrap();
}
