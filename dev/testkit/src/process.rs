//! A running controller, and its hub.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::cluster::janitor::Watched;
use crate::cluster::{CRDS, Cluster, Person};
use crate::shipped;
use crate::{Logged, berth, eventually, port, send, when};

/// The path of the Lease of the leader election.
pub const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/leases/registration-controller-lock";
/// The path of all ManagedClusters.
pub const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
/// The path of all ManagedClusterSets.
pub const SETS: &str = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets";

/// A running `berth controller`, which ends with this process.
pub struct Controller {
    process: Logged,
    _watched: Watched,
    /// The port of health and metrics.
    pub port: u16,
}

impl Controller {
    /// Starts it with the controller's account of the manifests, and these flags.
    pub async fn start(cluster: &Cluster, flags: &[&str]) -> Self {
        let kubeconfig = shipped::controller(cluster).await.kubeconfig;
        Self::with_kubeconfig(&kubeconfig, flags)
    }

    /// Starts it as a container of the pod with this UID, with these flags.
    pub async fn in_pod(cluster: &Cluster, uid: &str, flags: &[&str]) -> Self {
        let kubeconfig = shipped::controller(cluster).await.kubeconfig;
        let mut command = Self::command(&kubeconfig, flags);
        command.env("POD_UID", uid);
        Self::run(command)
    }

    /// Starts it with this kubeconfig, and these flags.
    pub fn with_kubeconfig(kubeconfig: &Path, flags: &[&str]) -> Self {
        Self::run(Self::command(kubeconfig, flags))
    }

    fn command(kubeconfig: &Path, flags: &[&str]) -> Command {
        let mut command = berth(&["controller", "--kubeconfig", kubeconfig.to_str().unwrap()]);
        command
            .args(["--listen", "127.0.0.1:auto", "--log-format", "json"])
            .args(flags);
        command
    }

    fn run(command: Command) -> Self {
        let mut process = Logged::start(command);
        let watched = Watched::new(&process.child);
        let serving = process.logged(|line| line["message"] == "serving");
        Self {
            process,
            _watched: watched,
            port: port(&serving["controller"]),
        }
    }

    /// Waits until it is ready.
    pub async fn is_ready(&self) {
        ready(self.port).await;
    }

    /// Waits until it leads.
    pub fn leads(&mut self) {
        self.logged(leads);
    }
}

impl Deref for Controller {
    type Target = Logged;

    fn deref(&self) -> &Logged {
        &self.process
    }
}

impl DerefMut for Controller {
    fn deref_mut(&mut self) -> &mut Logged {
        &mut self.process
    }
}

/// Returns whether a line of the log says that the lifecycle leads.
pub fn leads(line: &Value) -> bool {
    line["message"] == "reconciling" && line["controller"] == "registration"
}

/// Applies the CRDs, the accounts and their rights.
pub async fn install(cluster: &Cluster) {
    cluster.apply_manifests(&CRDS).await;
    install_server(cluster).await;
}

/// Applies the accounts and their rights.
pub async fn install_server(cluster: &Cluster) {
    shipped::install(cluster).await;
}

/// Waits until the object satisfies the condition, and returns it.
pub async fn once(person: &Person, path: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    let answer = eventually(&format!("{path}: {what}"), async || {
        let answer = person.get(path).await.unwrap();
        when(answer, |it| it.code == 200 && is(&it.body))
    })
    .await;
    answer.body
}

/// The holder of the Lease.
pub async fn holder(person: &Person) -> String {
    let lease = person.get(LEASE).await.unwrap();
    let holder = &lease.ok()["spec"]["holderIdentity"];
    holder.as_str().unwrap_or_default().to_owned()
}

/// Waits until the process with this port is ready.
pub async fn ready(port: u16) {
    let (_, body) = eventually("readiness", async || {
        when(get(port, "/readyz").await, |(code, _)| *code == 200)
    })
    .await;
    assert_eq!(body, "ok");
}

/// The code and the body of the response, over TLS without verification, as the kubelet asks.
pub async fn get(port: u16, path: &str) -> (u16, String) {
    get_with(port, path, None).await
}

/// The metrics of the process with this port, as Prometheus reads them.
pub async fn scrape(cluster: &Cluster, port: u16) -> String {
    let token = shipped::scrapers_token(cluster).await;
    // The hub may learn of the rights a moment later, and its answer is cached for a moment.
    let (_, body) = eventually("the right to read metrics", async || {
        let answer = get_with(port, "/metrics", Some(&token)).await;
        when(answer, |(code, _)| *code == 200)
    })
    .await;
    body
}

/// As [`get`], with a bearer token.
pub async fn get_with(port: u16, path: &str, token: Option<&str>) -> (u16, String) {
    request(port, "GET", path, token, String::new()).await
}

/// Sends a request with any method, a bearer token and a body. Returns the code and the body of the response.
pub async fn request(
    port: u16,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: String,
) -> (u16, String) {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = ask(port, request.body(Full::from(body)).unwrap()).await;
    let body = String::from_utf8(response.body().to_vec()).unwrap();
    (response.status().as_u16(), body)
}

async fn ask(port: u16, request: Request<Full<Bytes>>) -> Response<Bytes> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(ring::default_provider())))
        .with_no_client_auth();
    let tcp = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    send(connector.connect(name, tcp).await.unwrap(), request).await
}

/// Accepts any certificate.
#[derive(Debug)]
struct Anybody(CryptoProvider);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
