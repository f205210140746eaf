//! One watch for each kind. What it tells goes into the view; it resumes and lists anew by itself.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use http::{Request, Response};
use kube::client::Body;
use kube::core::ApiResource;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use tower::BoxError;

use super::kinds::Kind;
use super::object::{Object, Renewal};
use super::view::{Source, View};
use super::work::Work;
use crate::facts::Now;

/// The first wait after a failure.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// The longest wait after a failure. Shorter than what [`super::view`] takes for the sight of leases regained.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The same for kinds that a hub need not have.
const LONGEST_WAIT_FOR_OPTIONAL: Duration = Duration::from_secs(60);

/// The longest a list may take, or the beginning of a watch: a hub that takes requests and answers none is asked again.
const LONGEST_REQUEST: Duration = Duration::from_secs(30);

/// Failures in a row, each of which makes the wait longer.
struct Failures {
    longest: Duration,
    count: u32,
}

// === impl Failures ===

impl Failures {
    /// One more: waits before the next try.
    async fn wait(&mut self) {
        let wait = FIRST_WAIT
            .saturating_mul(1 << self.count.min(16))
            .min(self.longest);
        self.count = self.count.saturating_add(1);
        tokio::time::sleep(wait.mul_f64(0.75 + fastrand::f64() / 2.0)).await;
    }
}

/// What is kept of an object.
trait Kept: Clone + Debug + Send + 'static {
    /// The watch of this kind told of it.
    fn told(object: &Object<Self>, view: &mut View, kind: Kind, now: Now);
}

impl Kept for Value {
    fn told(object: &Object, view: &mut View, kind: Kind, now: Now) {
        view.apply(kind, object, Source::Watch, now);
    }
}

impl Kept for Renewal {
    fn told(object: &Object<Self>, view: &mut View, _: Kind, now: Now) {
        view.apply_lease(object, now);
    }
}

/// Follows a kind for ever.
pub(crate) async fn follow(work: Arc<Work>, kind: Kind) {
    let resources = kind.resources();
    let longest = if kind.is_optional() {
        LONGEST_WAIT_FOR_OPTIONAL
    } else {
        LONGEST_WAIT
    };
    let mut failures = Failures { longest, count: 0 };
    loop {
        for resource in &resources {
            // Returns only when the hub does not have it.
            match kind {
                Kind::Lease => {
                    follow_version::<Renewal>(&work, kind, resource, &mut failures).await
                }
                _ => follow_version::<Value>(&work, kind, resource, &mut failures).await,
            }
        }
        failures.wait().await;
    }
}

/// Until the hub says that it does not have this version.
async fn follow_version<V: Kept>(
    work: &Work,
    kind: Kind,
    resource: &ApiResource,
    failures: &mut Failures,
) where
    Object<V>: DeserializeOwned,
{
    let api: Api<Object<V>> = Api::all_with(impatient(work.client()), resource);
    let config = match kind.label_selector() {
        Some(labels) => watcher::Config::default().labels(labels),
        None => watcher::Config::default(),
    };
    let mut events = std::pin::pin!(watcher(api.clone(), config.clone()));
    while let Some(event) = events.next().await {
        let now = crate::engine::now();
        match event {
            Ok(event) => {
                // Each try begins with this, whatever comes of it; and of the pages of a list, one may fail each time.
                if !matches!(event, Event::Init | Event::InitApply(_)) {
                    failures.count = 0;
                }
                let mut view = work.view();
                match event {
                    Event::Init => view.listing(kind),
                    Event::InitApply(object) | Event::Apply(object) => {
                        V::told(&object, &mut view, kind, now);
                    }
                    Event::Delete(object) => view.gone(kind, &object, Source::Watch),
                    Event::InitDone => {
                        view.listed(kind, now);
                        tracing::debug!(resource = kind.name(), "listed");
                    }
                }
                work.wake(view, now.instant);
            }
            Err(error) => {
                work.view().lost_sight(kind, now);
                work.metrics().watch_failed(kind);
                let absent = is_not_found(&error);
                if !(absent && kind.is_optional()) {
                    tracing::warn!(resource = kind.name(), %error, "a watch failed and is begun anew");
                }
                if absent {
                    return;
                }
                failures.wait().await;
                if cannot_be_resumed(&error) {
                    events.set(watcher(api.clone(), config.clone()));
                }
            }
        }
    }
}

/// The same client, for requests that each get an answer, or an error, in time. What a watch tells may take as long as it
/// likes.
fn impatient(client: &Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        let watches = request
            .uri()
            .query()
            .is_some_and(|query| query.split('&').any(|part| part == "watch=true"));
        let answer = async move {
            let answer = client.send(request).await?;
            if watches {
                return Ok(answer);
            }
            let (head, body) = answer.into_parts();
            let body = body.collect_bytes().await?;
            Ok::<_, BoxError>(Response::from_parts(head, Body::from(body)))
        };
        async move { timeout(LONGEST_REQUEST, answer).await? }
    });
    Client::new(service, namespace)
}

/// A watch cannot go on where it ended. kube begins anew by itself where an event says so, but not where the answer does.
fn cannot_be_resumed(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 410)
}

/// The kind is not served (in this version).
fn is_not_found(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
