//! The gate's server in the process of the test, for small limits, short times and slow answers.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use berth_certs::client_auth::ClientAuth;
use berth_certs::folder::Folder;
use berth_certs::issue::{Authority, Issued};
use berth_certs::options::TlsOptions;
use berth_certs::serving::ServingTls;
use berth_review::{Answerer, FilesAnswerer, Finding, Gate, HubFiles, Requester, Webhook};
use berth_rules::{FeatureGates, Question};
use berth_webhooks::{Limits, Metrics, Opening, ServeError, Server};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::{post, repository, send};

/// An hour.
pub const HOUR: Duration = Duration::from_secs(3600);

/// The settings of a server.
pub struct Setup {
    /// Answers the questions of reviews.
    pub answerer: Arc<dyn Answerer>,
    /// The limits of connections, bodies and times.
    pub limits: Limits,
    /// How long it serves after it was asked to stop.
    pub shutdown_delay: Duration,
    /// How long the serving certificate is valid.
    pub validity: Duration,
    /// The verification of client certificates.
    pub client_auth: Option<ClientAuth>,
}

/// A server that runs in the background. When this is dropped, it is asked to stop.
pub struct Running {
    /// The address of the webhooks.
    pub address: SocketAddr,
    /// The address of the probes.
    pub health: SocketAddr,
    /// Its metrics.
    pub metrics: Metrics,
    /// Its serving certificate.
    pub tls: Arc<ServingTls>,
    /// `ca.crt`, `tls.crt`, `tls.key`.
    pub certs: TempDir,
    /// The authority that issued its certificate.
    pub authority: Authority,
    /// Asks it to stop.
    pub shutdown: CancellationToken,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Default for Setup {
    /// Answers from the files of the sample hub, and stops without delay.
    fn default() -> Self {
        let files = HubFiles::read(&[repository("examples/hub")]).unwrap();
        Self {
            answerer: Arc::new(FilesAnswerer::new(files)),
            limits: Limits::default(),
            shutdown_delay: Duration::ZERO,
            validity: HOUR,
            client_auth: None,
        }
    }
}

impl Setup {
    /// Starts it, on free ports.
    pub async fn start(self) -> Running {
        let now = Timestamp::now();
        let certs = TempDir::new().unwrap();
        let authority = Authority::new("test", 24 * HOUR, now).unwrap();
        leaf(&authority, self.validity)
            .write_folder(certs.path())
            .unwrap();
        let metrics = Metrics::new();
        let (options, _) = TlsOptions::parse::<&str>("", &[]).unwrap();
        let source = Folder::new(certs.path());
        let tls = ServingTls::new(source, options, self.client_auth, metrics.observer(), now);
        let tls = Arc::new(tls.unwrap());
        let any = || TcpListener::bind(("127.0.0.1", 0));
        let (webhooks, health_port) = (any().await.unwrap(), any().await.unwrap());
        let (address, health) = (
            webhooks.local_addr().unwrap(),
            health_port.local_addr().unwrap(),
        );
        let shutdown = CancellationToken::new();
        let server = Server {
            gate: Gate::new(self.answerer, FeatureGates::default()),
            webhooks: &Webhook::ALL,
            converts: true,
            opening: Opening::at_once(webhooks, Arc::clone(&tls)),
            metrics_port: None,
            health_port: Some(health_port),
            metrics: metrics.clone(),
            limits: self.limits,
            shutdown_delay: self.shutdown_delay,
        };
        let task = tokio::spawn(server.run(shutdown.clone()));
        Running {
            address,
            health,
            metrics,
            tls,
            certs,
            authority,
            shutdown,
            task,
        }
    }
}

impl Running {
    /// Opens a TLS connection that trusts the server's authority.
    pub async fn connect(&self) -> TlsStream<TcpStream> {
        let config = Client::trusting(self.authority.certificate_pem()).config();
        connect(self.address, config).await.unwrap()
    }

    /// The response to a review, over a new connection.
    pub async fn review(&self, path: &str, body: impl Into<Bytes>) -> Value {
        let answer = send(self.connect().await, post(path, body)).await;
        serde_json::from_slice(answer.body()).unwrap()
    }

    /// The response of the health port.
    pub async fn health(&self, path: &str) -> Response<Bytes> {
        let tcp = TcpStream::connect(self.health).await.unwrap();
        let request = Request::get(path).header("host", "localhost");
        send(tcp, request.body(Full::default()).unwrap()).await
    }

    /// The line of the metrics with this name and these labels, without its value.
    pub fn metric(&self, line: &str) -> f64 {
        metric(&String::from_utf8(self.metrics.render()).unwrap(), line)
    }

    /// Asks it to stop, and waits until it has stopped.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        (&mut self.task).await.unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// The value of a line of metrics, or 0 if it is absent.
pub fn metric(text: &str, line: &str) -> f64 {
    text.lines()
        .find_map(|found| found.strip_prefix(line)?.strip_prefix(' '))
        .map_or(0.0, |value| value.parse().unwrap())
}

/// A serving certificate for the address that the tests use.
pub fn leaf(authority: &Authority, validity: Duration) -> Issued {
    let address = "127.0.0.1".parse().unwrap();
    authority
        .leaf(&["localhost"], &[address], validity, Timestamp::now())
        .unwrap()
}

/// A TLS client.
pub struct Client {
    /// The trusted authorities, PEM.
    pub trusts: String,
    /// The versions of TLS.
    pub versions: &'static [&'static SupportedProtocolVersion],
    /// The ALPN protocols.
    pub alpn: &'static [&'static str],
    /// The client certificate.
    pub certificate: Option<Issued>,
}

impl Client {
    /// A client that trusts this authority, without a certificate.
    pub fn trusting(authority: &str) -> Self {
        Self {
            trusts: authority.to_owned(),
            versions: rustls::ALL_VERSIONS,
            alpn: &[],
            certificate: None,
        }
    }

    /// Converts it for rustls.
    pub fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(self.trusts.as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let chain = CertificateDer::pem_slice_iter(issued.certificate_pem.as_bytes());
                let chain = chain.collect::<Result<_, _>>().unwrap();
                let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        config.alpn_protocols = self
            .alpn
            .iter()
            .map(|name| name.as_bytes().into())
            .collect();
        config
    }
}

/// Opens a TLS connection to an address.
pub async fn connect(
    address: SocketAddr,
    config: ClientConfig,
) -> std::io::Result<TlsStream<TcpStream>> {
    let tcp = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
}

/// Allows every question, once it is released.
#[derive(Debug)]
pub struct Held(pub Semaphore);

impl Held {
    /// An answerer that waits.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Semaphore::new(0)))
    }

    /// Releases it: from now on every question is answered.
    pub fn let_go(&self) {
        self.0.add_permits(Semaphore::MAX_PERMITS / 2);
    }
}

impl Answerer for Held {
    fn answer<'a>(
        &'a self,
        _: &'a Requester,
        _: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Finding> + Send + 'a>> {
        Box::pin(async {
            self.0.acquire().await.unwrap().forget();
            Finding::sure(true)
        })
    }

    fn probe(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async { Ok(()) })
    }
}

/// Sends a request over a new connection, and reads the whole response; the error names the step that failed.
pub async fn ask(
    address: SocketAddr,
    config: ClientConfig,
    request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, String> {
    let stream = connect(address, config)
        .await
        .map_err(|error| format!("connecting: {error}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| format!("opening: {error}"))?;
    let connection = tokio::spawn(connection);
    let answer = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        Ok::<_, hyper::Error>(Response::from_parts(head, body.collect().await?.to_bytes()))
    };
    let answer = answer.await;
    connection.abort();
    answer.map_err(|error| format!("asking: {error:?}"))
}
