//! Against an API server with these objects.

use std::convert::Infallible;
use std::sync::Arc;

use berth_hub::RequestBody;
use berth_policies::{Options, policies};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use prometheus::proto::MetricFamily;
use serde_json::json;
use tokio::time::timeout;
use tower::service_fn;

use super::*;

/// An API server whose watches end after 20 s, so that changes are found by lists.
#[derive(Clone, Default)]
struct ApiServer(Arc<Mutex<Content>>);

#[derive(Default)]
struct Content {
    served: Vec<&'static str>,
    objects: Vec<Value>,
    forbidden: bool,
    requests: Vec<String>,
}

// === impl ApiServer ===

impl ApiServer {
    fn with(objects: Vec<Value>) -> Self {
        let this = Self::default();
        let mut content = this.content();
        content.objects = objects;
        content.served = PolicyKind::ALL
            .iter()
            .flat_map(|kind| [kind.policies(), kind.bindings()])
            .collect();
        drop(content);
        this
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap()
    }

    fn api(&self) -> HubApi {
        let this = self.clone();
        HubApi::new(service_fn(move |request: Request<RequestBody>| {
            let response = this.answer(&request.uri().to_string());
            async move {
                let (code, body) = match response {
                    Some(response) => response,
                    None => {
                        sleep(Duration::from_secs(20)).await;
                        (200, Value::Null)
                    }
                };
                let body = match body {
                    Value::Null => Bytes::new(),
                    body => body.to_string().into(),
                };
                let response = Response::builder()
                    .status(code)
                    .header("content-type", "application/json");
                Ok::<_, Infallible>(response.body(Full::new(body)).unwrap())
            }
        }))
    }

    /// `None` for a watch.
    fn answer(&self, uri: &str) -> Option<(u16, Value)> {
        let mut content = self.content();
        content.requests.push(uri.to_owned());
        if uri == DISCOVERY {
            let resources = content.served.iter().map(|name| json!({"name": name}));
            return Some((200, json!({"resources": resources.collect::<Vec<_>>()})));
        }
        if content.forbidden {
            return Some((
                403,
                json!({"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden", "message": "no"}),
            ));
        }
        if uri.contains("watch=true") {
            return None;
        }
        let path = uri.strip_prefix(DISCOVERY).unwrap();
        let (resource, query) = path[1..].split_once('?').unwrap();
        let name = query
            .strip_prefix("fieldSelector=metadata.name%3D")
            .unwrap();
        let (name, _) = name.split_once('&').unwrap();
        let items = content.objects.iter().filter(|it| {
            let kind = it["kind"].as_str().unwrap().to_lowercase();
            let plural = match kind.strip_suffix('y') {
                Some(start) => format!("{start}ies"),
                None => format!("{kind}s"),
            };
            it["metadata"]["name"] == name && plural == resource
        });
        let items: Vec<&Value> = items.collect();
        Some((
            200,
            json!({"metadata": {"resourceVersion": "1"}, "items": items}),
        ))
    }
}

fn printed() -> Vec<Value> {
    let documents = policies(&Options::default());
    let documents = documents.iter().map(|it| serde_json::to_value(it).unwrap());
    documents.collect()
}

/// The series that are 1, as `policy state`.
fn shown(registry: &Registry) -> Vec<String> {
    let families = registry.gather();
    let metrics = families.iter().flat_map(MetricFamily::get_metric);
    metrics
        .filter(|it| it.get_gauge().get_value() > 0.0)
        .map(|it| {
            let labels: Vec<&str> = it
                .get_label()
                .iter()
                .map(prometheus::proto::LabelPair::value)
                .collect();
            labels.join(" ")
        })
        .collect()
}

/// Follows for this time. Time passes at once when no task can run.
async fn follow(follower: &Follower, seconds: u64) {
    let run = follower.run();
    assert!(timeout(Duration::from_secs(seconds), run).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_goes_is_missing() {
    let server = ApiServer::with(printed());
    let registry = Registry::new();
    let follower = Follower::new(server.api(), &registry);
    let changes = async {
        sleep(Duration::from_secs(30)).await;
        let enforced = shown(&registry);
        assert_eq!(enforced.len(), PolicyName::all().len());
        assert!(
            enforced.iter().all(|it| it.ends_with(" enforced")),
            "{enforced:?}"
        );
        let is_gone = |it: &Value| {
            it["kind"] == "ValidatingAdmissionPolicy"
                && it["metadata"]["name"] == "managedclusters.berth.open-cluster-management.io"
        };
        server.content().objects.retain(|it| !is_gone(it));
        sleep(Duration::from_secs(60)).await;
        assert!(shown(&registry).contains(&"managedclusters missing".to_owned()));
        server.content().objects.clear();
        sleep(Duration::from_secs(60)).await;
        let missing = shown(&registry);
        assert_eq!(missing.len(), PolicyName::all().len());
        assert!(
            missing.iter().all(|it| it.ends_with(" missing")),
            "{missing:?}"
        );
    };
    tokio::select! {
        never = follower.run() => match never {},
        () = changes => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_without_policies_has_no_series() {
    let server = ApiServer::with(Vec::new());
    let registry = Registry::new();
    follow(&Follower::new(server.api(), &registry), 120).await;
    assert_eq!(registry.gather(), []);
}

#[tokio::test(start_paused = true)]
async fn where_policies_are_not_served_one_request_in_minutes_is_sent() {
    let server = ApiServer::default();
    let registry = Registry::new();
    follow(&Follower::new(server.api(), &registry), 3000).await;
    let requests = server.content().requests.clone();
    assert!(requests.iter().all(|it| it == DISCOVERY), "{requests:?}");
    assert!((5..=11).contains(&requests.len()), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_not_asked_for_again_and_again() {
    let server = ApiServer::with(printed());
    server.content().forbidden = true;
    let registry = Registry::new();
    follow(&Follower::new(server.api(), &registry), 240).await;
    let asked = server.content().requests.len();
    assert!(asked <= 1 + 2 * PolicyName::all().len(), "{asked}");
    assert_eq!(registry.gather(), []);
}
