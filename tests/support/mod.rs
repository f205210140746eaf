//! What the tests of the built binary share: the gate as a process of its own, and ordinary clients for it.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

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

/// A running `berth webhook-server`. It is killed when this is dropped.
pub struct Gate {
    pub child: Child,
    /// Its certificates: `ca.crt`, `tls.crt`, `tls.key`.
    pub certs: TempDir,
    pub port: u16,
    pub metrics_port: u16,
    pub health_port: u16,
    log: Arc<Mutex<Vec<Value>>>,
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The body of a recorded review.
pub fn recorded(name: &str) -> Vec<u8> {
    let path = repository("tests/data/reviews").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `berth` with these arguments.
pub fn berth(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command
        .args(args)
        .env_remove("RUST_LOG")
        .env_remove("KUBECONFIG")
        .env("NO_COLOR", "1");
    command
}

/// The flags that [`Gate::run`] counts on: free ports, JSON for the log, and the folder of the certificates.
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
    /// The gate with the sample hub as files.
    pub fn with_files(args: &[&str]) -> Self {
        let hub = repository("examples/hub");
        Self::start(&[&["--hub-files", hub.to_str().unwrap()], args].concat())
    }

    /// The gate with certificates of its own, on free ports.
    pub fn start(args: &[&str]) -> Self {
        let certs = TempDir::new().unwrap();
        let mut command = berth(&["webhook-server", "--self-signed"]);
        command.args(where_to_serve(certs.path())).args(args);
        Self::run(command, certs)
    }

    /// The gate as this command starts it, which names its certificates' folder, free ports, and JSON for the log.
    pub fn run(mut command: Command, certs: TempDir) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let lines = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // A line that has a key twice, of which a Value keeps one, is none of JSON: readers would differ.
                let line = match serde_json::from_str::<Value>(&line) {
                    Ok(value) if value.to_string().len() == line.len() => value,
                    _ => Value::String(line),
                };
                lines.lock().unwrap().push(line);
            }
        });
        let mut gate = Self {
            child,
            certs,
            port: 0,
            metrics_port: 0,
            health_port: 0,
            log,
        };
        let serving = gate.logged(|line| line["message"] == "serving");
        let port = |field: &str| {
            let address = serving[field].as_str().unwrap();
            address.rsplit_once(':').unwrap().1.parse().unwrap()
        };
        (gate.port, gate.metrics_port, gate.health_port) =
            (port("webhooks"), port("metrics"), port("health"));
        gate
    }

    /// The first line of the log that is so; waits for it.
    pub fn logged(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(line) = self.log.lock().unwrap().iter().find(|line| is(line)) {
                return line.clone();
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the gate ended, {status}: {:?}", self.log.lock().unwrap());
            }
            assert!(
                Instant::now() < patience,
                "no such line in the log: {:?}",
                self.log.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// All lines of the log so far.
    pub fn log(&self) -> Vec<Value> {
        self.log.lock().unwrap().clone()
    }

    /// Trusts the gate's authority.
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

    /// A TLS connection.
    pub async fn tls(&self) -> TlsStream<TcpStream> {
        let tcp = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(self.client_config()))
            .connect(name, tcp)
            .await
            .unwrap()
    }

    /// Sends a request over a new connection, and reads the whole answer.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Response<Bytes> {
        send(self.tls().await, request).await
    }

    /// Sends a review as an API server does, and reads the answer, which comes with HTTP 200.
    pub async fn review(&self, path: &str, body: impl Into<Bytes>) -> Value {
        let response = self.send(post(&format!("{path}?timeout=10s"), body)).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/json");
        serde_json::from_slice(response.body()).unwrap()
    }

    /// GETs from a plain port.
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

    /// Sends a signal by its name.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args([&format!("-{signal}"), &self.child.id().to_string()])
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A POST as an API server makes it.
pub fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .unwrap()
}

/// Sends one HTTP/1.1 request over a stream, and reads the whole answer.
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

/// The response of an AdmissionReview that answers.
pub fn response(review: &Value) -> &Value {
    assert_eq!(review["kind"], "AdmissionReview");
    &review["response"]
}
