//! A hub for tests: answers over HTTP what the gate asks, from `examples/hub`, and misbehaves when told to.
//!
//! It knows the gate by a token, lets it do what the manifests' ClusterRole lets it and nothing else, and remembers every
//! request. Its errors are those of an API server, word for word where the gate passes them on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_rbac::{Policy, Subject, Verdict};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
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

use crate::repository;

/// What the gate says to be known by.
const TOKEN: &str = "the-gates-own-token";

/// Who it is then.
const GATE: &str = "system:serviceaccount:open-cluster-management-hub:registration-webhook-sa";

const CLUSTER: &str = "cluster.open-cluster-management.io";

/// What the gate may do: verb, API group and resource, as in the ClusterRole of the manifests.
const RIGHTS: [(&str, &str, &str); 5] = [
    ("create", "authorization.k8s.io", "subjectaccessreviews"),
    ("get", "", "namespaces"),
    ("get", CLUSTER, "managedclusters"),
    ("get", CLUSTER, "managedclustersets"),
    ("list", CLUSTER, "managedclustersetbindings"),
];

/// A hub on a free port of this host. It goes down when this is dropped.
pub struct FakeHub {
    /// Where it listens on this host.
    pub port: u16,
    world: Arc<World>,
    tls: Option<TlsAcceptor>,
    /// PEM; empty without TLS.
    ca: String,
    kubeconfig: TempDir,
    /// Its own, so that it answers while a test blocks.
    runtime: Option<Runtime>,
    serving: Option<JoinHandle<()>>,
}

/// A request that the hub got.
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
    /// Which connection it came by, counted from 0.
    pub connection: usize,
}

/// How the hub misbehaves.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// 403: the gate's own right is missing.
    Refuse,
    /// 401: the gate's credentials are not known.
    Unauthorized,
    /// 429, as API servers turn requests away.
    Busy,
    /// This code and text, which is no Status, as from a proxy in between.
    Proxy(u16, &'static str),
    /// 500, as when etcd does not answer.
    Broken,
    /// No answer, ever.
    Hang,
    /// The connection is closed instead of an answer.
    Drop,
    /// 200 with something else than JSON.
    Garbage,
    /// 200 with JSON of another kind.
    OtherKind,
    /// An answer without an end in sight.
    Flood,
    /// The right answer, late.
    Slow(Duration),
    /// This instead of the right answer's status (of a SubjectAccessReview).
    Status(fn() -> Value),
}

type Script = Box<dyn Fn(&HubRequest) -> Option<Fault> + Send>;

struct World {
    policy: Mutex<Policy>,
    /// By path.
    objects: Mutex<BTreeMap<String, Value>>,
    asked: Mutex<Vec<HubRequest>>,
    script: Mutex<Script>,
    connections: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
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
            world: Arc::new(World::sample()),
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

    /// Goes down: its port is closed, and every connection with it.
    pub async fn stop(&mut self) {
        let serving = self.serving.take().unwrap();
        serving.abort();
        let _ = serving.await;
    }

    /// Comes up again, on the same port.
    pub fn start_again(&mut self) {
        let listener = std::net::TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        self.serve(listener);
    }

    /// From now on it misbehaves for the requests that this names a fault for.
    pub fn misbehave(&self, script: impl Fn(&HubRequest) -> Option<Fault> + Send + 'static) {
        *self.world.script.lock().unwrap() = Box::new(script);
    }

    /// From now on it misbehaves so for all requests whose path contains this.
    pub fn misbehave_at(&self, path: &'static str, fault: Fault) {
        self.misbehave(move |asked| asked.path.contains(path).then_some(fault));
    }

    /// From now on it behaves.
    pub fn behave(&self) {
        self.misbehave(|_| None);
    }

    /// Changes who may do what.
    pub fn policy(&self, change: impl FnOnce(&mut Policy)) {
        change(&mut self.world.policy.lock().unwrap());
    }

    /// Forgets what it was asked, and how much at once.
    pub fn forget(&self) {
        self.world.asked.lock().unwrap().clear();
        self.world.most_in_flight.store(0, Ordering::SeqCst);
    }

    /// All requests since it forgot.
    pub fn asked(&self) -> Vec<HubRequest> {
        self.world.asked.lock().unwrap().clone()
    }

    /// `spec` of all SubjectAccessReviews since it forgot.
    pub fn reviews(&self) -> Vec<Value> {
        let asked = self.asked().into_iter();
        asked
            .filter(|asked| asked.path.ends_with("/subjectaccessreviews"))
            .map(|asked| asked.body["spec"].clone())
            .collect()
    }

    /// The most requests that were with it at once.
    pub fn most_at_once(&self) -> usize {
        self.world.most_in_flight.load(Ordering::SeqCst)
    }

    fn serve(&mut self, listener: std::net::TcpListener) {
        listener.set_nonblocking(true).unwrap();
        let (world, tls) = (Arc::clone(&self.world), self.tls.clone());
        self.serving = Some(self.runtime.as_ref().unwrap().spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            // Ends its connections when it is aborted.
            let mut connections = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                let (world, tls) = (Arc::clone(&world), tls.clone());
                let connection = world.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(async move {
                    let service = service_fn(move |request| {
                        let world = Arc::clone(&world);
                        async move { world.answer(request, connection).await }
                    });
                    // How a connection ends is the clients' business.
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

type Answer = Result<Response<Full<Bytes>>, Dropped>;

/// The connection is to be closed.
#[derive(Debug, thiserror::Error)]
#[error("the hub was told to drop the connection")]
struct Dropped;

impl World {
    fn sample() -> Self {
        let mut world = Self {
            policy: Mutex::default(),
            objects: Mutex::default(),
            asked: Mutex::default(),
            script: Mutex::new(Box::new(|_| None)),
            connections: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        };
        for file in ["examples/hub/rbac.yaml", "examples/hub/state.yaml"] {
            let text = std::fs::read_to_string(repository(file)).unwrap();
            for document in serde_saphyr::read::<_, Value>(&mut text.as_bytes()) {
                world.add(document.unwrap());
            }
        }
        world
    }

    fn add(&mut self, mut object: Value) {
        let kind = object["kind"].as_str().unwrap().to_owned();
        if let Value::Array(items) = object["items"].take() {
            for mut item in items {
                if item["kind"].is_null() {
                    item["kind"] = kind.trim_end_matches("List").into();
                    item["apiVersion"] = object["apiVersion"].clone();
                }
                self.add(item);
            }
            return;
        }
        object.as_object_mut().unwrap().remove("items");
        let policy = self.policy.get_mut().unwrap();
        let path = match kind.as_str() {
            "ClusterRole" => {
                let role = serde_json::from_value(object).unwrap();
                return policy.upsert_cluster_role(role).unwrap();
            }
            "ClusterRoleBinding" => {
                let binding = serde_json::from_value(object).unwrap();
                return policy.upsert_cluster_role_binding(binding).unwrap();
            }
            "Namespace" => "/api/v1/namespaces".to_owned(),
            _ => {
                let api = object["apiVersion"].as_str().unwrap();
                let namespace = match object["metadata"]["namespace"].as_str() {
                    Some(namespace) => format!("namespaces/{namespace}/"),
                    None => String::new(),
                };
                format!("/apis/{api}/{namespace}{}s", kind.to_lowercase())
            }
        };
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("{path}/{name}");
        self.objects.get_mut().unwrap().insert(path, object);
    }

    async fn answer(&self, request: Request<Incoming>, connection: usize) -> Answer {
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        let _leave = Leave(&self.in_flight);
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
        let header = |name: &str| match head.headers.get(name) {
            Some(value) => value.to_str().unwrap().to_owned(),
            None => String::new(),
        };
        let asked = HubRequest {
            method: head.method.clone(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            accept: header("accept"),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            connection,
        };
        self.asked.lock().unwrap().push(asked.clone());
        let fault = (self.script.lock().unwrap())(&asked);
        if header("authorization") != format!("Bearer {TOKEN}") {
            return Ok(unauthorized());
        }
        match fault {
            None => Ok(self.right_answer(&asked)),
            Some(Fault::Slow(duration)) => {
                tokio::time::sleep(duration).await;
                Ok(self.right_answer(&asked))
            }
            Some(Fault::Refuse) => Ok(forbidden(&asked)),
            Some(Fault::Unauthorized) => Ok(unauthorized()),
            Some(Fault::Busy) => {
                let mut busy = text(429, "Too many requests, please try again later.\n");
                busy.headers_mut()
                    .insert("retry-after", "1".parse().unwrap());
                Ok(busy)
            }
            Some(Fault::Proxy(code, words)) => Ok(text(code, words)),
            Some(Fault::Broken) => Ok(failure(
                500,
                "",
                "etcdserver: request timed out",
                Value::Null,
            )),
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::Drop) => Err(Dropped),
            Some(Fault::Garbage) => Ok(text(200, "<html>It works!</html>")),
            Some(Fault::Flood) => Ok(text(200, &" ".repeat(9 << 20))),
            Some(Fault::OtherKind) => Ok(json_of(
                200,
                &json!({ "kind": "Pod", "apiVersion": "v1", "metadata": {} }),
            )),
            Some(Fault::Status(status)) => Ok(reviewed(&asked, status())),
        }
    }

    fn right_answer(&self, asked: &HubRequest) -> Response<Full<Bytes>> {
        const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let Some((verb, group, resource, name)) = request_info(asked) else {
            return text(404, "404 page not found\n");
        };
        if !RIGHTS.contains(&(verb, group, resource)) {
            return forbidden(asked);
        }
        match verb {
            "create" => {
                assert_eq!(asked.path, REVIEWS);
                reviewed(asked, self.review(&asked.body["spec"]))
            }
            "get" => match self.objects.lock().unwrap().get(&asked.path) {
                Some(object) if asked.wants("PartialObjectMetadata") => {
                    json_of(200, &partial(object))
                }
                Some(object) => json_of(200, object),
                None => not_found(group, resource, name),
            },
            _ => {
                let objects = self.objects.lock().unwrap();
                let within = format!("{}/", asked.path);
                let items = objects.range(within.clone()..);
                let items = items.take_while(|(path, _)| path.starts_with(&within));
                let partially = asked.wants("PartialObjectMetadataList");
                let items: Vec<_> = items
                    .map(|(_, object)| {
                        if partially {
                            partial(object)
                        } else {
                            object.clone()
                        }
                    })
                    .collect();
                let (api, kind) = if partially {
                    ("meta.k8s.io/v1", "PartialObjectMetadataList")
                } else {
                    (
                        "cluster.open-cluster-management.io/v1beta2",
                        "ManagedClusterSetBindingList",
                    )
                };
                json_of(
                    200,
                    &json!({ "apiVersion": api, "kind": kind, "metadata": {}, "items": items }),
                )
            }
        }
    }

    /// `status` of a SubjectAccessReview.
    fn review(&self, spec: &Value) -> Value {
        let groups: Vec<String> =
            serde_json::from_value(spec["groups"].clone()).unwrap_or_default();
        let subject = Subject {
            user: spec["user"].as_str().unwrap_or_default(),
            groups: &groups,
        };
        let attribute = |name: &str| {
            spec["resourceAttributes"][name]
                .as_str()
                .unwrap_or_default()
        };
        let request = berth_rbac::Request::Resource {
            verb: attribute("verb"),
            api_group: attribute("group"),
            resource: attribute("resource"),
            subresource: attribute("subresource"),
            name: attribute("name"),
            namespace: attribute("namespace"),
        };
        match self.policy.lock().unwrap().evaluate(&subject, &request) {
            Verdict::Allowed(grant) => {
                json!({ "allowed": true, "reason": format!("RBAC: allowed by {grant}") })
            }
            Verdict::NoOpinion { errors } if errors.is_empty() => json!({ "allowed": false }),
            Verdict::NoOpinion { errors } => {
                let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
                json!({ "allowed": false, "reason": errors.join(", ") })
            }
        }
    }
}

impl HubRequest {
    /// Whether it is within the gate's rights, by a path that nothing but names make up.
    pub fn is_permitted(&self) -> bool {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        let named = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric());
        let mut parts = self.path.split('/').skip(1);
        let (verb, group, resource, _) = request_info(self).unwrap_or_default();
        parts.all(|part| named(part) && part.chars().all(plain))
            && RIGHTS.contains(&(verb, group, resource))
    }

    fn wants(&self, kind: &str) -> bool {
        self.accept.contains(&format!("as={kind};"))
    }
}

/// Counts a request for as long as it is with the hub.
struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Verb, API group, resource and name, as an API server reads them from a request.
fn request_info(asked: &HubRequest) -> Option<(&str, &str, &str, &str)> {
    let mut parts: Vec<_> = asked.path.strip_prefix('/')?.split('/').collect();
    let group = match parts[0] {
        "api" => "",
        "apis" => parts.remove(1),
        _ => return None,
    };
    parts.drain(..2);
    if parts.len() > 2 && parts[0] == "namespaces" {
        parts.drain(..2);
    }
    let (resource, name) = match parts[..] {
        [resource] => (resource, ""),
        [resource, name] => (resource, name),
        _ => return None,
    };
    let verb = match (asked.method.as_str(), name) {
        ("POST", "") => "create",
        ("GET", "") => "list",
        ("GET", _) => "get",
        _ => return None,
    };
    Some((verb, group, resource, name))
}

fn reviewed(asked: &HubRequest, status: Value) -> Response<Full<Bytes>> {
    let mut review = asked.body.clone();
    review["metadata"] = json!({});
    review["status"] = status;
    json_of(201, &review)
}

fn partial(object: &Value) -> Value {
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": object["metadata"],
    })
}

fn unauthorized() -> Response<Full<Bytes>> {
    failure(401, "Unauthorized", "Unauthorized", Value::Null)
}

fn forbidden(asked: &HubRequest) -> Response<Full<Bytes>> {
    let (verb, group, resource, name) = request_info(asked).unwrap_or_default();
    let dot = if group.is_empty() { "" } else { "." };
    let named = if name.is_empty() {
        String::new()
    } else {
        format!(" {name:?}")
    };
    let message = format!(
        "{resource}{dot}{group}{named} is forbidden: User {GATE:?} cannot {verb} resource {resource:?} \
         in API group {group:?} at the cluster scope"
    );
    let details = json!({ "name": name, "group": group, "kind": resource });
    failure(403, "Forbidden", &message, details)
}

fn not_found(group: &str, resource: &str, name: &str) -> Response<Full<Bytes>> {
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!("{resource}{dot}{group} {name:?} not found");
    let details = json!({ "name": name, "group": group, "kind": resource });
    failure(404, "NotFound", &message, details)
}

fn failure(code: u16, reason: &str, message: &str, details: Value) -> Response<Full<Bytes>> {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": code,
    });
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    if !details.is_null() {
        status["details"] = details;
    }
    json_of(code, &status)
}

fn json_of(code: u16, value: &Value) -> Response<Full<Bytes>> {
    let mut response = text(code, &value.to_string());
    let json = "application/json".parse().unwrap();
    response.headers_mut().insert("content-type", json);
    response
}

fn text(code: u16, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text.to_owned()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}
