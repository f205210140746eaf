//! A hub for tests: it answers the gate's requests over HTTP from `examples/hub`, and makes the faults that a test selects.
//!
//! It authenticates the gate by a token (without TLS by sending none, as clients do), gives it exactly the rights of the manifests' ClusterRole, and records every
//! request. Its errors are those of an API server, to the letter where the gate passes them on.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_rbac::Policy;
use http::Method;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

mod world;

use world::World;

/// The gate's token.
const TOKEN: &str = "the-gates-own-token";

/// A hub on a free port of this host. It stops when this is dropped.
pub struct FakeHub {
    /// The port on this host.
    pub port: u16,
    world: Arc<World>,
    tls: Option<TlsAcceptor>,
    /// The CA, PEM; empty without TLS.
    ca: String,
    kubeconfig: TempDir,
    /// A runtime of its own, so that it responds while a test blocks.
    runtime: Option<Runtime>,
    serving: Option<JoinHandle<()>>,
}

/// A request that the hub received.
#[derive(Clone, Debug)]
pub struct HubRequest {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query; empty without one.
    pub query: String,
    /// The `Accept` header; empty without one.
    pub accept: String,
    /// `null` without a body.
    pub body: Value,
    /// The number of its connection, counted from 0.
    pub connection: usize,
}

/// A fault of the hub.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// 403: the gate's own right is missing.
    Refuse,
    /// 401: the gate's credentials are unknown.
    Unauthorized,
    /// 429, as API servers reject requests under load.
    Busy,
    /// This code and text, which is not a Status, as from a proxy.
    Proxy(u16, &'static str),
    /// 500, as when etcd does not respond.
    Broken,
    /// No response, ever.
    Hang,
    /// The connection is closed instead of a response.
    Drop,
    /// 200 with a body that is not JSON.
    Garbage,
    /// 200 with JSON of another kind.
    OtherKind,
    /// A response that does not end.
    Flood,
    /// The correct response, late.
    Slow(Duration),
    /// This status instead of the correct one (of a SubjectAccessReview).
    Status(fn() -> Value),
}

impl FakeHub {
    /// The sample hub, in plain HTTP.
    pub fn start() -> Self {
        Self::new(None, String::new())
    }

    /// The sample hub, over TLS, with a certificate of a CA that only its kubeconfig knows.
    pub fn start_tls() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(["127.0.0.1".to_owned()])
            .unwrap()
            .self_signed(&key)
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        Self::new(Some(Arc::new(config).into()), certificate.pem())
    }

    fn new(tls: Option<TlsAcceptor>, ca: String) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let mut hub = Self {
            port: listener.local_addr().unwrap().port(),
            world: Arc::new(World::sample(tls.is_none())),
            tls,
            ca,
            kubeconfig: TempDir::new().unwrap(),
            runtime: Some(runtime.worker_threads(1).enable_all().build().unwrap()),
            serving: None,
        };
        hub.serve(listener);
        hub
    }

    /// The path of a kubeconfig with the gate's token.
    pub fn kubeconfig(&self) -> PathBuf {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut cluster = json!({ "server": format!("{scheme}://127.0.0.1:{}", self.port) });
        if self.tls.is_some() {
            cluster["certificate-authority-data"] = STANDARD.encode(&self.ca).into();
        }
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "hub", "cluster": cluster }],
            "users": [{ "name": "gate", "user": { "token": TOKEN } }],
            "contexts": [{ "name": "hub", "context": { "cluster": "hub", "user": "gate" } }],
            "current-context": "hub",
        });
        let path = self.kubeconfig.path().join("kubeconfig");
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        path
    }

    /// Stops: closes its port and all connections.
    pub async fn stop(&mut self) {
        let serving = self.serving.take().unwrap();
        serving.abort();
        let _ = serving.await;
    }

    /// Starts again, on the same port.
    pub fn start_again(&mut self) {
        let listener = std::net::TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        self.serve(listener);
    }

    /// From now on, requests get the fault that this returns for them.
    pub fn misbehave(&self, script: impl Fn(&HubRequest) -> Option<Fault> + Send + 'static) {
        *self.world.script.lock().unwrap() = Box::new(script);
    }

    /// From now on, all requests whose path contains this get the fault.
    pub fn misbehave_at(&self, path: &'static str, fault: Fault) {
        self.misbehave(move |asked| asked.path.contains(path).then_some(fault));
    }

    /// From now on, no request gets a fault.
    pub fn behave(&self) {
        self.misbehave(|_| None);
    }

    /// Changes the RBAC policy.
    pub fn policy(&self, change: impl FnOnce(&mut Policy)) {
        change(&mut self.world.policy.lock().unwrap());
    }

    /// Clears the recorded requests and the maximum of concurrent requests.
    pub fn forget(&self) {
        self.world.asked.lock().unwrap().clear();
        self.world.most_in_flight.store(0, Ordering::SeqCst);
    }

    /// All requests since [`forget`](Self::forget).
    pub fn asked(&self) -> Vec<HubRequest> {
        self.world.asked.lock().unwrap().clone()
    }

    /// The `spec` of all SubjectAccessReviews since [`forget`](Self::forget).
    pub fn reviews(&self) -> Vec<Value> {
        let asked = self.asked().into_iter();
        asked
            .filter(|asked| asked.path.ends_with("/subjectaccessreviews"))
            .map(|asked| asked.body["spec"].clone())
            .collect()
    }

    /// The maximum of concurrent requests.
    pub fn most_at_once(&self) -> usize {
        self.world.most_in_flight.load(Ordering::SeqCst)
    }

    fn serve(&mut self, listener: std::net::TcpListener) {
        listener.set_nonblocking(true).unwrap();
        let (world, tls) = (Arc::clone(&self.world), self.tls.clone());
        self.serving = Some(self.runtime.as_ref().unwrap().spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            // All connections end when it is aborted.
            let mut connections = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                let (world, tls) = (Arc::clone(&world), tls.clone());
                let connection = world.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(async move {
                    let service = service_fn(move |request| {
                        let world = Arc::clone(&world);
                        async move { world.answer(request, connection).await }
                    });
                    // The client checks how a connection ends.
                    let _ = match tls {
                        Some(tls) => {
                            let Ok(stream) = tls.accept(tcp).await else {
                                return;
                            };
                            let stream = TokioIo::new(stream);
                            http1::Builder::new()
                                .serve_connection(stream, service)
                                .await
                        }
                        None => {
                            http1::Builder::new()
                                .serve_connection(TokioIo::new(tcp), service)
                                .await
                        }
                    };
                });
            }
        }));
    }
}

impl Drop for FakeHub {
    fn drop(&mut self) {
        // A test's own runtime does not let it be waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
