//! A relay between a gate and its hub: it forwards requests with the gate's credentials, records them, and delays those that
//! a test selects.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;

use berth_testkit::cluster::{Cluster, Person, Private};
use berth_testkit::guarded::{Guarded, RunningGate, gates_account, install, register};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Serves until the runtime of the test ends.
pub struct Relay {
    url: String,
    state: Arc<State>,
}

struct State {
    gate: Person,
    /// The specs of all SubjectAccessReviews.
    reviews: Mutex<Vec<Value>>,
    /// The subresources that no answer comes about for now.
    held: watch::Sender<BTreeSet<&'static str>>,
}

/// A hub whose gate asks through a relay.
pub async fn relayed() -> (Guarded<Private>, Relay) {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let relay = Relay::start(&cluster).await;
    let gate = relay.gate(&cluster).await;
    register(&cluster, &gate.url(), &gate.ca_pem()).await;
    (Guarded { cluster, gate }, relay)
}

impl Relay {
    async fn start(cluster: &Cluster) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            gate: gates_account(cluster).await,
            reviews: Mutex::default(),
            held: watch::Sender::default(),
        });
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let state = Arc::clone(&serving);
                let service = service_fn(move |request| {
                    let state = Arc::clone(&state);
                    async move { Ok::<_, std::convert::Infallible>(state.pass_on(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(tcp), service));
            }
        });
        Self { url, state }
    }

    /// A gate that asks through this.
    async fn gate(&self, cluster: &Cluster) -> RunningGate {
        let kubeconfig = cluster.person_at(&self.url).await.kubeconfig;
        let certs = tempfile::TempDir::new().unwrap();
        RunningGate::run(&kubeconfig, certs, &["--self-signed"])
    }

    /// What was asked about a user since the start.
    pub fn asked_about(&self, user: &str) -> Vec<Value> {
        let reviews = self.state.reviews.lock().unwrap();
        let about = reviews.iter().filter(|spec| spec["user"] == user);
        about.cloned().collect()
    }

    /// For now no answer comes about these subresources.
    pub fn hold(&self, subresources: &[&'static str]) {
        let held = subresources.iter().copied().collect();
        self.state.held.send_replace(held);
    }
}

impl State {
    async fn pass_on(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        if head.uri.path() == REVIEWS {
            let review: Value = serde_json::from_slice(&body).unwrap();
            let about = review["spec"]["resourceAttributes"]["subresource"].clone();
            self.reviews.lock().unwrap().push(review["spec"].clone());
            let about = about.as_str().unwrap_or_default();
            let mut held = self.held.subscribe();
            let _ = held.wait_for(|it| !it.contains(about)).await;
        }
        let mut request = Request::builder()
            .method(head.method)
            .uri(head.uri.path_and_query().unwrap().as_str());
        for name in [ACCEPT, CONTENT_TYPE] {
            if let Some(value) = head.headers.get(&name) {
                request = request.header(name, value);
            }
        }
        let request = request.body(kube::client::Body::from(body.to_vec()));
        let answer = self.gate.client.send(request.unwrap()).await.unwrap();
        let (head, body) = answer.into_parts();
        let mut response = Response::new(Full::new(body.collect().await.unwrap().to_bytes()));
        *response.status_mut() = head.status;
        if let Some(value) = head.headers.get(CONTENT_TYPE) {
            response.headers_mut().insert(CONTENT_TYPE, value.clone());
        }
        response
    }
}
