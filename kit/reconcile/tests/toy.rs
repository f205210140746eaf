//! The example does what it says.
#![allow(clippy::unwrap_used, reason = "tests")]

#[allow(dead_code, unreachable_pub, reason = "its main")]
#[path = "../examples/toy.rs"]
mod toy;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use berth_hub::{HubApi, RequestBody};
use berth_reconcile::Metrics;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn the_toy_labels_what_lacks_its_label_and_nothing_else() {
    let (patches, patched) = (
        Arc::<Mutex<Vec<(String, Value)>>>::default(),
        Arc::new(Notify::new()),
    );
    let (log, notify) = (patches.clone(), patched.clone());
    let namespace = |name: &str, label: &str| json!({"metadata": {"name": name, "resourceVersion": "5", "labels": {"name-length": label}}});
    let service = tower::service_fn(move |request: Request<RequestBody>| {
        let (log, notify) = (log.clone(), notify.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let response = if head.method == Method::PATCH {
                let mut patch: Value = serde_json::from_slice(&body).unwrap();
                log.lock()
                    .unwrap()
                    .push((head.uri.path().to_owned(), patch.clone()));
                notify.notify_one();
                patch["metadata"]["name"] = "short".into();
                patch["metadata"]["resourceVersion"] = "8".into();
                patch
            } else if head.uri.query().unwrap().contains("watch=true") {
                std::future::pending().await
            } else {
                let items = [namespace("short", ""), namespace("right", "5")];
                json!({"metadata": {"resourceVersion": "7"}, "items": items})
            };
            Ok::<_, Infallible>(Response::new(Full::from(response.to_string())))
        }
    });
    let stop = CancellationToken::new();
    let registry = prometheus::Registry::new();
    let metrics = Metrics::new(&registry).unwrap();
    let running = tokio::spawn(toy::run(HubApi::new(service), metrics, stop.clone()));
    tokio::time::timeout(Duration::from_secs(30), patched.notified())
        .await
        .unwrap();
    stop.cancel();
    running.await.unwrap().unwrap();
    let body = json!({"metadata": {"labels": {"name-length": "5"}}});
    assert_eq!(
        *patches.lock().unwrap(),
        [("/api/v1/namespaces/short".to_owned(), body)]
    );
}
