//! Webhooks for tests: servers in this process that answer, or misbehave, as they are told.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use berth_certs::issue::{Authority, Issued};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::resources::{Behaviour, Columns, Resource, Subresource, Verb};
use crate::status::qualified;
use crate::storage::StorageId;

const HOUR: Duration = Duration::from_secs(3600);

pub(super) fn authority() -> Authority {
    Authority::new("test authority", HOUR, Timestamp::now()).expect("made")
}

/// A certificate for `hook.ns.svc` and 127.0.0.1.
pub(super) fn certificate(authority: &Authority) -> Issued {
    authority
        .leaf(
            &["hook.ns.svc"],
            &[Ipv4Addr::LOCALHOST.into()],
            HOUR,
            Timestamp::now(),
        )
        .expect("issued")
}

fn acceptor(certificate: &Issued) -> TlsAcceptor {
    let chain = CertificateDer::pem_slice_iter(certificate.certificate_pem.as_bytes());
    let chain: Result<Vec<_>, _> = chain.collect();
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain.expect("certificates"), key)
        .expect("a pair");
    TlsAcceptor::from(Arc::new(config))
}

/// What a server was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) headers: http::HeaderMap,
    pub(super) review: Value,
}

/// A running server; it ends when it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    /// How many connections it has taken.
    pub(super) connections: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<Asked>>>,
    open: Arc<Mutex<JoinSet<()>>>,
    listening: AbortHandle,
}

impl Server {
    /// A server that answers every review by a function of it.
    pub(super) async fn start(
        certificate: &Issued,
        answer: impl Fn(&Value) -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&asked);
        let answer = Arc::new(answer);
        let serve = move |stream: TlsStream<TcpStream>| {
            let (record, answer) = (Arc::clone(&record), Arc::clone(&answer));
            async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let (record, answer) = (Arc::clone(&record), Arc::clone(&answer));
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body
                            .collect()
                            .await
                            .map(http_body_util::Collected::to_bytes);
                        let review: Value =
                            serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
                        let response = answer(&review);
                        record.lock().expect("no panic").push(Asked {
                            path: head.uri.to_string(),
                            headers: head.headers,
                            review,
                        });
                        Ok::<_, Infallible>(response)
                    }
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            }
        };
        Self::start_raw(Some(certificate), asked, serve).await
    }

    /// A server that does as it likes with connections.
    pub(super) async fn misbehaving<F>(
        certificate: &Issued,
        serve: impl Fn(TlsStream<TcpStream>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start_raw(Some(certificate), Arc::default(), serve).await
    }

    async fn start_raw<F>(
        certificate: Option<&Issued>,
        asked: Arc<Mutex<Vec<Asked>>>,
        serve: impl Fn(TlsStream<TcpStream>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let acceptor = certificate.map(acceptor);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("bound");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let open = Arc::new(Mutex::new(JoinSet::new()));
        let (counted, tasks) = (Arc::clone(&connections), Arc::clone(&open));
        let serve = Arc::new(serve);
        let listening = tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (acceptor, serve) = (acceptor.clone(), Arc::clone(&serve));
                tasks.lock().expect("no panic").spawn(async move {
                    if let Some(acceptor) = acceptor
                        && let Ok(stream) = acceptor.accept(tcp).await
                    {
                        serve(stream).await;
                    }
                });
            }
        });
        Self {
            address,
            connections,
            asked,
            open,
            listening: listening.abort_handle(),
        }
    }

    /// Everything it was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic").clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Ends every connection, and goes on listening.
    pub(super) fn hang_up(&self) {
        self.open.lock().expect("no panic").abort_all();
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}/hook", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// An answer with a body in JSON.
pub(super) fn json(body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body.to_string()));
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    response
}

#[derive(Debug)]
struct Plain;

impl Behaviour for Plain {}

/// A resource of custom objects, in one version of several that share a place.
pub(super) fn resource(
    group: &str,
    version: &str,
    name: &str,
    kind: &str,
    namespaced: bool,
) -> Resource {
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        name: name.to_owned(),
        singular: String::new(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced,
        verbs: Verb::ALL.to_vec(),
        subresources: vec![Subresource {
            name: "status".to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            verbs: vec![Verb::Get, Verb::Update],
        }],
        schema: Arc::default(),
        columns: Columns::Paths(Vec::new()),
        storage: StorageId(Arc::from(qualified(name, group))),
        storage_version: format!("{group}/v1").trim_start_matches('/').to_owned(),
        custom: true,
        selectable_fields: Vec::new(),
        reading: None,
        name_errors: berth_api::names::dns1123_subdomain,
        needs_version: false,
        creates_on_update: false,
        takes_status_on_create: false,
        has_generation: false,
        behaviour: &Plain,
    }
}

pub(super) fn cluster(version: &str) -> Resource {
    let group = "cluster.open-cluster-management.io";
    resource(group, version, "managedclusters", "ManagedCluster", false)
}
