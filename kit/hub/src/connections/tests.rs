use std::convert::Infallible;
use std::path::Path;

use futures::StreamExt;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::WebPkiClientVerifier;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::{Call, HubApi};

/// An authority, and what it signs.
struct Signer(Issuer<'static, KeyPair>, rcgen::Certificate);

impl Signer {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self(Issuer::new(params, key), certificate)
    }

    fn sign(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }
}

/// TLS of a server that asks for client certificates.
fn server_tls(signer: &Signer) -> ServerConfig {
    let (certificate, key) = signer.sign("localhost");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(signer.1.der().clone()).unwrap();
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
    let verifier = verifier.allow_unauthenticated().build().unwrap();
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap()
}

/// Answers each request with the digest of the client's certificate and the Authorization header. Does not accept the token `old`.
async fn serve(signer: &Signer) -> u16 {
    let config = server_tls(signer);
    let listener = TcpListener::bind("localhost:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((tcp, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut tls) = acceptor.accept(tcp).await else {
                    return;
                };
                let peer = tls.get_ref().1.peer_certificates();
                let peer = peer.map_or(0, |chain| digest(&chain[0]));
                let mut buffer = vec![0; 4096];
                while let Ok(read @ 1..) = tls.read(&mut buffer).await {
                    let request = String::from_utf8_lossy(&buffer[..read]).to_lowercase();
                    let token = request
                        .lines()
                        .find_map(|line| line.strip_prefix("authorization: "));
                    let body = format!("{peer} {}", token.unwrap_or("-"));
                    let code = match token {
                        Some("bearer old") => "401 Unauthorized",
                        _ => "200 OK",
                    };
                    let response = format!(
                        "HTTP/1.1 {code}\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    if tls.write_all(response.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

async fn said(hub: &HubApi) -> String {
    let answer = hub.call(Call::get("/version")).await.unwrap();
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// The next call compares the files.
async fn a_period_later() {
    tokio::time::pause();
    tokio::time::advance(PERIOD).await;
    tokio::time::resume();
}

fn kubeconfig(folder: &TempDir, port: u16, user: &str) -> std::path::PathBuf {
    let path = folder.path().join("kubeconfig");
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}],\n\
         clusters: [{{name: c, cluster: {{server: 'https://localhost:{port}', certificate-authority: ca.crt}}}}],\n\
         users: [{{name: u, user: {{{user}}}}}]}}"
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn write_pair(folder: &Path, pair: &(rcgen::Certificate, KeyPair)) {
    std::fs::write(folder.join("tls.crt"), pair.0.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), pair.1.serialize_pem()).unwrap();
}

#[tokio::test]
async fn a_client_certificate_that_changes_on_disk_is_used_without_a_restart() {
    let _ = default_provider().install_default();
    let (signer, folder) = (Signer::new(), tempfile::tempdir().unwrap());
    let port = serve(&signer).await;
    std::fs::write(folder.path().join("ca.crt"), signer.1.pem()).unwrap();
    let (first, second) = (signer.sign("first"), signer.sign("second"));
    write_pair(folder.path(), &first);
    let path = kubeconfig(
        &folder,
        port,
        "client-certificate: tls.crt, client-key: tls.key",
    );
    let hub = HubApi::connect(&Access::of_server(Some(path.clone())))
        .await
        .unwrap();
    let [first, second] = [first, second].map(|pair| (format!("{} -", digest(pair.0.der())), pair));
    assert_eq!(said(&hub).await, first.0);

    // Half of the pair is written: the old one goes on.
    std::fs::write(folder.path().join("tls.crt"), second.1.0.pem()).unwrap();
    a_period_later().await;
    assert_eq!(said(&hub).await, first.0);
    write_pair(folder.path(), &second.1);
    assert_eq!(said(&hub).await, first.0, "it is compared once in a period");
    a_period_later().await;
    assert_eq!(said(&hub).await, second.0);

    // What cannot be read leaves the connections as they are.
    std::fs::remove_file(&path).unwrap();
    a_period_later().await;
    assert_eq!(said(&hub).await, second.0);
    kubeconfig(&folder, port, "token: t2");
    a_period_later().await;
    assert_eq!(said(&hub).await, "0 bearer t2");

    // Another server is for the next start.
    kubeconfig(&folder, port + 1, "token: t3");
    a_period_later().await;
    assert_eq!(said(&hub).await, "0 bearer t2");
}

#[tokio::test]
async fn a_token_file_is_trimmed_and_read_again() {
    let _ = default_provider().install_default();
    let (signer, folder) = (Signer::new(), tempfile::tempdir().unwrap());
    let port = serve(&signer).await;
    std::fs::write(folder.path().join("ca.crt"), signer.1.pem()).unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "t1\n").unwrap();
    let path = kubeconfig(&folder, port, "token: t0, tokenFile: token");
    let hub = HubApi::connect(&Access::of_server(Some(path)))
        .await
        .unwrap();
    assert_eq!(said(&hub).await, "0 bearer t1");
    std::fs::write(&token, "\tt2\r\n").unwrap();
    a_period_later().await;
    assert_eq!(said(&hub).await, "0 bearer t2");

    // A file that cannot be used leaves the token as it is.
    std::fs::write(&token, "t3\nt4").unwrap();
    a_period_later().await;
    assert_eq!(said(&hub).await, "0 bearer t2");
}

#[tokio::test]
async fn a_plugin_is_asked_again_when_its_credentials_are_not_accepted() {
    // What a plugin printed before is kept by the service; a 401 has it run once more.
    let _ = default_provider().install_default();
    let (signer, folder) = (Signer::new(), tempfile::tempdir().unwrap());
    let port = serve(&signer).await;
    std::fs::write(folder.path().join("ca.crt"), signer.1.pem()).unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "old").unwrap();
    let script = format!(
        "printf '%s' '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"'$(cat {})'\"}}}}'",
        token.display()
    );
    let plugin = folder.path().join("plugin.sh");
    std::fs::write(&plugin, script).unwrap();
    let user = format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: ['{}'], interactiveMode: Never}}",
        plugin.display()
    );
    let path = kubeconfig(&folder, port, &user);
    let hub = HubApi::connect(&Access::of_server(Some(path)))
        .await
        .unwrap();
    std::fs::write(&token, "new").unwrap();
    let error = hub.call(Call::get("/version")).await.unwrap_err();
    assert_eq!(error.code(), 401);
    a_period_later().await;
    assert_eq!(said(&hub).await, "0 bearer new");
}

/// An API server that offers HTTP/2, where each connection can be frozen: no byte passes any more, and the connection stays.
struct Http2Server {
    port: u16,
    /// The connections so far.
    connections: Arc<Mutex<Vec<watch::Sender<bool>>>>,
}

impl Http2Server {
    /// Answers watches with a body that never ends.
    async fn start(signer: &Signer) -> Self {
        let mut config = server_tls(signer);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("localhost:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::<Mutex<Vec<watch::Sender<bool>>>>::default();
        let all = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut tcp, _)) = listener.accept().await {
                let (freeze, mut is_frozen) = watch::channel(false);
                all.lock().unwrap().push(freeze);
                let (mut ours, theirs) = tokio::io::duplex(1 << 16);
                tokio::spawn(async move {
                    let passing = tokio::io::copy_bidirectional(&mut tcp, &mut ours);
                    tokio::select! {
                        _ = passing => {}
                        _ = async { is_frozen.wait_for(|it| *it).await.is_ok() } => {
                            std::future::pending().await
                        }
                    }
                });
                tokio::spawn(answer(acceptor.clone(), theirs));
            }
        });
        Self { port, connections }
    }

    fn accepted(&self) -> usize {
        self.connections.lock().unwrap().len()
    }
}

async fn answer(acceptor: TlsAcceptor, io: tokio::io::DuplexStream) {
    let tls = acceptor.accept(io).await.unwrap();
    let service = hyper::service::service_fn(async |request: http::Request<Incoming>| {
        assert_eq!(request.version(), http::Version::HTTP_2);
        let events: futures::stream::BoxStream<'_, Result<_, Infallible>> =
            if request.uri().path() == "/watch" {
                Box::pin(futures::stream::pending())
            } else {
                let frame = hyper::body::Frame::data(bytes::Bytes::from_static(b"ok"));
                Box::pin(futures::stream::iter([Ok(frame)]))
            };
        Ok::<_, Infallible>(http::Response::new(StreamBody::new(events)))
    });
    let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    let _ = http.serve_connection(TokioIo::new(tls), service).await;
}

/// The API server of an agent.
async fn agents_hub(signer: &Signer, folder: &TempDir, port: u16) -> HubApi {
    let _ = default_provider().install_default();
    std::fs::write(folder.path().join("ca.crt"), signer.1.pem()).unwrap();
    let path = kubeconfig(folder, port, "token: t");
    HubApi::connect(&Access::of_agent(Some(path)))
        .await
        .unwrap()
}

#[tokio::test]
async fn an_agents_calls_and_watches_share_one_connection() {
    let (signer, folder) = (Signer::new(), tempfile::tempdir().unwrap());
    let server = Http2Server::start(&signer).await;
    let hub = agents_hub(&signer, &folder, server.port).await;
    let _watches = [
        hub.stream(Call::get("/watch")).await.unwrap(),
        hub.stream(Call::get("/watch")).await.unwrap(),
    ];
    for _ in 0..3 {
        assert_eq!(said(&hub).await, "ok");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_dead_connection_is_given_up_though_nothing_is_sent_on_it() {
    let (signer, folder) = (Signer::new(), tempfile::tempdir().unwrap());
    let server = Http2Server::start(&signer).await;
    let hub = agents_hub(&signer, &folder, server.port).await;
    let mut watch = hub.stream(Call::get("/watch")).await.unwrap();
    assert_eq!(said(&hub).await, "ok");
    server.connections.lock().unwrap()[0].send_replace(true);
    // Time passes while nothing happens.
    tokio::time::pause();
    let begun = Instant::now();
    let end = tokio::time::timeout(PING * 10, watch.next()).await;
    let end = end.expect("the connection is given up").unwrap();
    assert!(end.is_err(), "{end:?}");
    let silence = begun.elapsed();
    assert!(
        (PONG..=PING + PONG + PONG).contains(&silence),
        "{silence:?}"
    );
    tokio::time::resume();
    assert_eq!(said(&hub).await, "ok");
    assert_eq!(server.accepted(), 2);
}

#[test]
fn a_servers_url_is_shown_without_secrets() {
    for (url, expected) in [
        ("https://hub.example:6443/", "https://hub.example:6443"),
        ("https://me:secret@hub/path?token=x", "https://hub"),
    ] {
        assert_eq!(shown(&url.parse().unwrap()), expected);
    }
}

#[test]
fn a_proxys_password_is_decoded() {
    assert_eq!(percent_decoded("user:pa%40ss%3Aword"), b"user:pa@ss:word");
    assert_eq!(percent_decoded("user:pass%+A"), b"user:pass%+A");
    assert_eq!(percent_decoded("u%4"), b"u%4");
}

#[tokio::test]
async fn a_server_behind_a_proxy_is_reached_by_a_tunnel() {
    let _ = default_provider().install_default();
    let (signer, folder) = (Signer::new(), tempfile::tempdir().unwrap());
    let port = serve(&signer).await;
    std::fs::write(folder.path().join("ca.crt"), signer.1.pem()).unwrap();
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy_port = proxy.local_addr().unwrap().port();
    let connected = tokio::spawn(async move {
        let (mut client, _) = proxy.accept().await.unwrap();
        let mut buffer = vec![0; 4096];
        let read = client.read(&mut buffer).await.unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut server = tokio::net::TcpStream::connect(("localhost", port))
            .await
            .unwrap();
        tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        String::from_utf8_lossy(&buffer[..read]).into_owned()
    });
    let path = kubeconfig(&folder, port, "token: t");
    let text = std::fs::read_to_string(&path).unwrap();
    let proxied = format!("ca.crt, proxy-url: 'http://me:pa%40ss@127.0.0.1:{proxy_port}'");
    std::fs::write(&path, text.replace("ca.crt", &proxied)).unwrap();
    let hub = HubApi::connect(&Access::of_server(Some(path)))
        .await
        .unwrap();
    assert_eq!(said(&hub).await, "0 bearer t");
    let request = connected.await.unwrap().to_lowercase();
    assert!(
        request.starts_with(&format!("connect localhost:{port} http/1.1\r\n")),
        "{request}"
    );
    let user = BASE64_STANDARD.encode("me:pa@ss").to_lowercase();
    assert!(
        request.contains(&format!("proxy-authorization: basic {user}\r\n")),
        "{request}"
    );
}
