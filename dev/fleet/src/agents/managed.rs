//! The API of a managed cluster, as far as its agent uses it: two Secrets, Events, nodes, claims, namespaces, health and version.
//!
//! Only the Secrets change. Watches of everything else report nothing.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_hub::{HubApi, RequestBody};
use futures::stream::{self, Stream, StreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use tokio::sync::broadcast;

/// Changes that a watch may lag behind.
const CHANGES: usize = 16;

type Chunk = Result<Frame<Bytes>, Infallible>;
type Body = StreamBody<Pin<Box<dyn Stream<Item = Chunk> + Send>>>;

/// A managed cluster.
pub(crate) struct ManagedCluster {
    name: String,
    nodes: usize,
    secrets: Mutex<Secrets>,
    changes: broadcast::Sender<Value>,
}

#[derive(Default)]
struct Secrets {
    by_name: BTreeMap<String, Value>,
    version: u64,
}

// === impl ManagedCluster ===

impl ManagedCluster {
    pub(crate) fn new(name: &str, nodes: usize) -> Self {
        Self {
            name: name.to_owned(),
            nodes,
            secrets: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES),
        }
    }

    /// Its API server, for an agent.
    pub(crate) fn api(cluster: &Arc<Self>) -> HubApi {
        let cluster = Arc::clone(cluster);
        HubApi::new(tower::service_fn(move |request: Request<RequestBody>| {
            let cluster = Arc::clone(&cluster);
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let object = serde_json::from_slice(&body).unwrap_or_default();
                let path = head.uri.path().to_owned();
                let query = head.uri.query().unwrap_or_default();
                Ok::<_, Infallible>(cluster.answer(&head.method, &path, query, object))
            }
        }))
    }

    fn answer(&self, method: &Method, path: &str, query: &str, body: Value) -> Response<Body> {
        let watches = query.contains("watch=true");
        if let Some((_, rest)) = path.split_once("/secrets") {
            let name = rest.trim_start_matches('/');
            return match name {
                "" if *method == Method::POST => self.create(body),
                "" if watches => self.watch(selected(query)),
                "" => self.list(selected(query)),
                name => self.one(method, name, &body),
            };
        }
        match path {
            "/livez" => response(StatusCode::OK, Bytes::from_static(b"ok")),
            "/version" => object(&json!({"gitVersion": "v1.36.2"})),
            path if path.ends_with("/events") => response(StatusCode::CREATED, body.to_string()),
            _ if watches => endless(stream::pending()),
            "/api/v1/nodes" => items((0..self.nodes).map(node)),
            path if path.ends_with("/clusterclaims") => items([self.claim()].into_iter()),
            _ => items(std::iter::empty()),
        }
    }

    fn create(&self, mut secret: Value) -> Response<Body> {
        let name = secret["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let mut secrets = self.secrets();
        if secrets.by_name.contains_key(&name) {
            return status(StatusCode::CONFLICT, "AlreadyExists", &name);
        }
        secrets.store(&name, &mut secret);
        drop(secrets);
        let _ = self
            .changes
            .send(json!({"type": "ADDED", "object": secret}));
        response(StatusCode::CREATED, secret.to_string())
    }

    fn one(&self, method: &Method, name: &str, patch: &Value) -> Response<Body> {
        let mut secrets = self.secrets();
        let Some(mut secret) = secrets.by_name.get(name).cloned() else {
            return status(StatusCode::NOT_FOUND, "NotFound", name);
        };
        let change = match *method {
            Method::GET => return object(&secret),
            Method::DELETE => {
                secrets.by_name.remove(name);
                "DELETED"
            }
            _ => {
                let wanted = &patch["metadata"]["resourceVersion"];
                if !wanted.is_null() && *wanted != secret["metadata"]["resourceVersion"] {
                    return status(StatusCode::CONFLICT, "Conflict", name);
                }
                json_patch::merge(&mut secret, patch);
                "MODIFIED"
            }
        };
        secrets.version += 1;
        if change == "MODIFIED" {
            secrets.store(name, &mut secret);
        }
        drop(secrets);
        let _ = self.changes.send(json!({"type": change, "object": secret}));
        object(&secret)
    }

    fn list(&self, name: Option<&str>) -> Response<Body> {
        let secrets = self.secrets();
        let found = secrets
            .by_name
            .iter()
            .filter(|it| name.is_none_or(|name| name == it.0));
        let found: Vec<_> = found.map(|(_, secret)| secret.clone()).collect();
        let version = secrets.version.to_string();
        drop(secrets);
        object(&json!({"metadata": {"resourceVersion": version}, "items": found}))
    }

    /// Changes from now on. The agent lists first, in the same task, so none is missed that matters here.
    fn watch(&self, name: Option<&str>) -> Response<Body> {
        let name = name.map(str::to_owned);
        let changes = self.changes.subscribe();
        let events = stream::unfold((changes, name), |(mut changes, name)| async move {
            loop {
                let event = changes.recv().await.ok()?;
                let is_wanted = name
                    .as_deref()
                    .is_none_or(|it| event["object"]["metadata"]["name"] == it);
                if is_wanted {
                    return Some((event, (changes, name)));
                }
            }
        });
        endless(events.map(|event| Bytes::from(format!("{event}\n"))))
    }

    fn claim(&self) -> Value {
        json!({"metadata": {"name": "id.k8s.io", "resourceVersion": "1"}, "spec": {"value": self.name}})
    }

    fn secrets(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Secrets ===

impl Secrets {
    fn store(&mut self, name: &str, secret: &mut Value) {
        self.version += 1;
        secret["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.by_name.insert(name.to_owned(), secret.clone());
    }
}

fn node(number: usize) -> Value {
    let amounts = json!({"cpu": "4", "memory": "16Gi", "pods": "110"});
    json!({
        "metadata": {"name": format!("node-{number}"), "resourceVersion": "1"},
        "status": {"capacity": amounts, "allocatable": amounts},
    })
}

/// The name in a field selector.
fn selected(query: &str) -> Option<&str> {
    let (_, rest) = query.split_once("fieldSelector=metadata.name%3D")?;
    rest.split('&').next()
}

fn items(items: impl Iterator<Item = Value>) -> Response<Body> {
    let items: Vec<_> = items.collect();
    object(&json!({"metadata": {"resourceVersion": "1"}, "items": items}))
}

fn object(object: &Value) -> Response<Body> {
    response(StatusCode::OK, object.to_string())
}

fn status(code: StatusCode, reason: &str, name: &str) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(), "reason": reason,
        "message": format!("secrets {name:?}: {reason}"),
        "details": {"name": name, "kind": "secrets"},
    });
    response(code, status.to_string())
}

fn response(code: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let body = body.into();
    with(code, stream::once(async { body }))
}

fn endless(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    with(StatusCode::OK, chunks)
}

fn with(code: StatusCode, chunks: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames: Pin<Box<dyn Stream<Item = Chunk> + Send>> =
        Box::pin(chunks.map(|chunk| Ok(Frame::data(chunk))));
    let mut response = Response::new(StreamBody::new(frames));
    *response.status_mut() = code;
    response
}
