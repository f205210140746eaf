//! The gate as a child process, and clients for it.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{Logged, berth, port, repository};

/// A running `berth webhook-server`. It is killed when this is dropped.
pub struct Gate {
    pub(crate) process: Logged,
    /// Its certificates: `ca.crt`, `tls.crt`, `tls.key`.
    pub certs: TempDir,
    /// The port of the webhooks.
    pub port: u16,
    /// The port of the metrics, in plain HTTP.
    pub metrics_port: u16,
    /// The port of the probes, in plain HTTP.
    pub health_port: u16,
}

/// The body of a recorded review.
pub fn recorded(name: &str) -> Vec<u8> {
    let path = repository("tests/data/reviews").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The flags that [`Gate::run`] requires: free ports, a log in JSON, and the folder of the certificates.
pub fn where_to_serve(certs: &Path) -> Vec<&str> {
    let log = ["--log-format", "json", "--bind-address", "127.0.0.1"];
    let ports = [
        "--port",
        "auto",
        "--metrics-port",
        "auto",
        "--health-probe-port",
        "auto",
    ];
    let certdir = ["--certdir", certs.to_str().unwrap()];
    [&log[..], &ports, &certdir].concat()
}

impl Gate {
    /// Starts the gate with the files of the sample hub.
    pub fn with_files(args: &[&str]) -> Self {
        let hub = repository("examples/hub");
        Self::start(&[&["--hub-files", hub.to_str().unwrap()], args].concat())
    }

    /// Starts the gate with a self-signed certificate, on free ports.
    pub fn start(args: &[&str]) -> Self {
        let certs = TempDir::new().unwrap();
        let mut command = berth(&["webhook-server", "--self-signed"]);
        command.args(where_to_serve(certs.path())).args(args);
        Self::run(command, certs)
    }

    /// Starts the gate with this command, which has the flags of [`where_to_serve`].
    pub fn run(command: Command, certs: TempDir) -> Self {
        let mut process = Logged::start(command);
        let serving = process.logged(|line| line["message"] == "serving");
        let port = |field: &str| port(&serving[field]);
        Self {
            port: port("webhooks"),
            metrics_port: port("metrics"),
            health_port: port("health"),
            process,
            certs,
        }
    }

    /// The configuration of a client that trusts the gate's authority.
    pub fn client_config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(self.certs.path().join("ca.crt")).unwrap()
        {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        builder.with_root_certificates(roots).with_no_client_auth()
    }

    /// Opens a TLS connection.
    pub async fn tls(&self) -> TlsStream<TcpStream> {
        let tcp = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(self.client_config()))
            .connect(name, tcp)
            .await
            .unwrap()
    }

    /// Sends a request over a new connection, and reads the whole response.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Response<Bytes> {
        send(self.tls().await, request).await
    }

    /// Sends a review as an API server does, and reads the response, which has HTTP status 200.
    pub async fn review(&self, path: &str, body: impl Into<Bytes>) -> Value {
        let response = self.send(post(&format!("{path}?timeout=10s"), body)).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/json");
        serde_json::from_slice(response.body()).unwrap()
    }

    /// Sends a GET to a port without TLS.
    pub async fn get(&self, port: u16, path: &str) -> Response<Bytes> {
        let tcp = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        send(
            tcp,
            Request::get(path)
                .header("host", "localhost")
                .body(Full::default())
                .unwrap(),
        )
        .await
    }

    /// The metrics, as text.
    pub async fn metrics(&self) -> String {
        let response = self.get(self.metrics_port, "/metrics").await;
        String::from_utf8(response.into_body().to_vec()).unwrap()
    }
}

impl Deref for Gate {
    type Target = Logged;

    fn deref(&self) -> &Logged {
        &self.process
    }
}

impl DerefMut for Gate {
    fn deref_mut(&mut self) -> &mut Logged {
        &mut self.process
    }
}

/// A POST as an API server sends it.
pub fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .unwrap()
}

/// Sends one HTTP/1.1 request over a stream, and reads the whole response.
pub async fn send<S>(stream: S, request: Request<Full<Bytes>>) -> Response<Bytes>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    drop(sender);
    connection.abort();
    Response::from_parts(head, body)
}

/// The `response` of an AdmissionReview.
pub fn response(review: &Value) -> &Value {
    assert_eq!(review["kind"], "AdmissionReview");
    &review["response"]
}
