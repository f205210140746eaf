//! The example of a whole controller does what it says.
#![allow(clippy::unwrap_used, reason = "tests")]

#[allow(dead_code, unreachable_pub, reason = "its main")]
#[path = "../examples/controller.rs"]
mod example;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use berth_hub::{HubApi, RequestBody};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/here/leases/config-map-counter-lock";

/// An API server with two Namespaces, a ConfigMap and a Lease.
#[derive(Clone, Default)]
struct FakeApi {
    lease: Arc<Mutex<Option<Value>>>,
    patches: Arc<Mutex<Vec<(String, Value)>>>,
    patched: Arc<Notify>,
}

impl FakeApi {
    async fn answer(self, request: Request<RequestBody>) -> (u16, Value) {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        let object = |namespace: &str, name: &str, label: &str| {
            json!({"metadata": {
            "namespace": namespace, "name": name, "resourceVersion": "5", "labels": {"config-maps": label}}})
        };
        let list = |items: &[Value]| {
            (
                200,
                json!({"metadata": {"resourceVersion": "7"}, "items": items}),
            )
        };
        match (&head.method, path) {
            (&Method::GET, LEASE) => match self.lease.lock().unwrap().clone() {
                Some(lease) => (200, lease),
                None => {
                    let details = json!({"group": "coordination.k8s.io", "kind": "leases", "name": "config-map-counter-lock"});
                    (
                        404,
                        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "details": details}),
                    )
                }
            },
            (&Method::POST | &Method::PUT, _) => {
                let mut lease: Value = serde_json::from_slice(&body).unwrap();
                lease["metadata"]["resourceVersion"] = "9".into();
                lease["metadata"]["uid"] = "u".into();
                *self.lease.lock().unwrap() = Some(lease.clone());
                (
                    if head.method == Method::POST {
                        201
                    } else {
                        200
                    },
                    lease,
                )
            }
            (&Method::PATCH, _) => {
                let mut patch: Value = serde_json::from_slice(&body).unwrap();
                self.patches
                    .lock()
                    .unwrap()
                    .push((path.to_owned(), patch.clone()));
                self.patched.notify_one();
                patch["metadata"]["name"] = "one".into();
                patch["metadata"]["resourceVersion"] = "8".into();
                (200, patch)
            }
            _ if query.contains("watch=true") => std::future::pending().await,
            (_, "/api/v1/namespaces") => list(&[object("", "none", "0"), object("", "one", "0")]),
            (_, "/api/v1/configmaps") => list(&[object("one", "a", "")]),
            other => panic!("{other:?}"),
        }
    }
}

/// The status line and the body of a GET.
async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test]
async fn the_example_leads_labels_a_namespace_and_serves_its_health() {
    let fake = FakeApi::default();
    let hub = fake.clone();
    let service = tower::service_fn(move |request: Request<RequestBody>| {
        let answer = hub.clone().answer(request);
        async move {
            let (code, body) = answer.await;
            let mut response = Response::new(Full::from(body.to_string()));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            Ok::<_, Infallible>(response)
        }
    });
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = port.local_addr().unwrap().to_string();
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let run = async move { example::run(HubApi::new(service), "here", port, stopped).await };
    let running = tokio::spawn(run);
    timeout(Duration::from_secs(30), fake.patched.notified())
        .await
        .unwrap();

    let holder = |fake: &FakeApi| {
        fake.lease.lock().unwrap().as_ref().unwrap()["spec"]["holderIdentity"].clone()
    };
    assert!(holder(&fake).as_str().is_some_and(|it| !it.is_empty()));
    assert!(get(&address, "/readyz").await.starts_with("HTTP/1.1 200"));
    assert!(
        get(&address, "/metrics")
            .await
            .contains("berth_caches_primed 1")
    );

    stop.cancel();
    running.await.unwrap().unwrap();
    let body = json!({"metadata": {"labels": {"config-maps": "1"}}});
    assert_eq!(
        *fake.patches.lock().unwrap(),
        [("/api/v1/namespaces/one".to_owned(), body)]
    );
    assert!(
        holder(&fake).as_str().is_none_or(str::is_empty),
        "the Lease is released"
    );
}
