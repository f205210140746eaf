//! Calls to a hub: a request, and as much of the answer as decides.
//!
//! kube's `Client` would put a queue, a task and several boxes between a question and its connection, and make a whole
//! object of most answers: a fifth of what a question costs.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use berth_rules::display;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use kube::Error;
use kube::client::Body;
use kube::core::Status;
use kube::core::response::reason::NOT_FOUND;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt};

/// An HTTP client that knows the hub's address and this process's credentials: requests have paths only.
///
/// It must not try again by itself: it would sleep through the deadlines of reviews.
pub type HubService = BoxCloneSyncService<Request<Body>, Response<Incoming>, BoxError>;

/// The ClusterRole of the manifests that grants the gate its own rights.
const CLUSTER_ROLE: &str = "open-cluster-management:cluster-manager-registration:webhook";

/// Calls to the hub at the same time; further ones wait for a place until their review's time is up.
const CALLS_AT_ONCE: usize = 200;

/// An API server's whole answer when it does not know the kind.
const NO_SUCH_KIND: &str = "404 page not found";

/// No object is larger; twenty objects' metadata are only if somebody means it, and are not read then.
const LONGEST_ANSWER: usize = 8 << 20;

/// Only metadata of an object, or of those in a list.
pub(super) const METADATA: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
const METADATA_LIST: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a call is to be.
pub(super) struct Call {
    /// The verb and resource, as a role grants them.
    what: &'static str,
    path: Cow<'static, str>,
    accept: HeaderValue,
    /// What is posted; without it, it is a `GET`.
    body: Option<Bytes>,
    /// Whether a hub that does not know the kind has none of it.
    kind_may_be_missing: bool,
}

/// Makes calls.
#[derive(Clone)]
pub(super) struct Calls {
    service: HubService,
    /// A place for each call: over HTTP/1.1 each takes a connection, and with it one of the process's open files.
    places: Arc<Semaphore>,
}

// === impl Call ===

impl Call {
    pub(super) fn get(what: &'static str, path: impl Into<Cow<'static, str>>) -> Self {
        Self {
            what,
            path: path.into(),
            accept: JSON,
            body: None,
            kind_may_be_missing: false,
        }
    }

    pub(super) fn accept(self, accept: HeaderValue) -> Self {
        Self { accept, ..self }
    }

    /// The metadata of all; a hub that does not know the kind has none.
    pub(super) fn list(what: &'static str, path: String) -> Self {
        Self {
            accept: METADATA_LIST,
            kind_may_be_missing: true,
            ..Self::get(what, path)
        }
    }

    pub(super) fn post(what: &'static str, path: &'static str, body: Vec<u8>) -> Self {
        Self {
            body: Some(body.into()),
            ..Self::get(what, path)
        }
    }

    /// That something is not there is for the hub to say: what stands between may not know the page.
    fn finds_nothing(&self, refusal: &Status) -> bool {
        let no_such_object = || {
            let asked = self.path.rsplit('/').next();
            let named = refusal.details.as_ref().map(|details| &*details.name);
            refusal.reason == NOT_FOUND && named.is_none_or(|named| Some(named) == asked)
        };
        let no_such_kind = || self.kind_may_be_missing && refusal.message == NO_SUCH_KIND;
        refusal.code == 404 && (no_such_object() || no_such_kind())
    }

    fn request(&self) -> Result<Request<Body>, Error> {
        let request = Request::builder()
            .uri(&*self.path)
            .header(ACCEPT, &self.accept);
        let request = match &self.body {
            Some(body) => request
                .method("POST")
                .header(CONTENT_TYPE, JSON)
                .body(Body::from(body.clone())),
            None => request.body(Body::empty()),
        };
        request.map_err(Error::HttpError)
    }
}

// === impl Calls ===

impl Calls {
    pub(super) fn new(service: HubService) -> Self {
        Self {
            service,
            places: Arc::new(Semaphore::new(CALLS_AT_ONCE)),
        }
    }

    /// Makes a call, again if the hub may only have been busy or restarting, and says in words what was in its way. All
    /// calls only read, so that asking twice does no harm. How long it may take is for the caller to say.
    ///
    /// `None`: there is no such object.
    pub(super) async fn make<T: DeserializeOwned>(&self, call: Call) -> Result<Option<T>, String> {
        let soon = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(100))
            .with_max_times(2)
            .with_jitter();
        let answered = (|| self.once(&call)).retry(soon).when(may_pass).await;
        let answer = match answered {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(Error::SerdeError),
            Err(Error::Api(status)) if call.finds_nothing(&status) => Ok(None),
            Err(error) => Err(error),
        };
        answer.map_err(|error| trouble(call.what, &error))
    }

    async fn once(&self, call: &Call) -> Result<Bytes, Error> {
        let _place = self.places.acquire().await;
        let answer = self.service.clone().oneshot(call.request()?).await;
        // As kube's client tells them apart.
        let answer = answer.map_err(|error| match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => Error::Service(error),
        })?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LONGEST_ANSWER).collect();
        let body = body.await.map_err(broken_off)?.to_bytes();
        if status.is_success() {
            return Ok(body);
        }
        // What stands between the gate and the hub may answer with a page, or with JSON of its own.
        let refusal = serde_json::from_slice::<Status>(&body)
            .ok()
            .filter(Status::is_failure)
            .unwrap_or_else(|| Status::failure(&cut(&String::from_utf8_lossy(&body)), "NoStatus"));
        Err(Error::Api(Box::new(refusal.with_code(status.as_u16()))))
    }
}

fn broken_off(error: BoxError) -> Error {
    if error.is::<LengthLimitError>() {
        let longest = format_args!("it is longer than {} MiB", LONGEST_ANSWER >> 20);
        return Error::SerdeError(serde::de::Error::custom(longest));
    }
    Error::Service(error)
}

/// Whether it may be better the next time: another connection, another of the hub's servers.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Api(status) => matches!(status.code, 429 | 502..=504),
        error => matches!(error, Error::Service(_)),
    }
}

fn trouble(what: &str, error: &Error) -> String {
    // The innermost error is the one that says what happened.
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    match error {
        Error::Api(status) => {
            let message = cut(&status.message);
            match status.code {
                401 => format!(
                    "the hub does not know the gate's own credentials ({what}), \
                     check its kubeconfig or service account: {message}"
                ),
                403 => format!(
                    "the gate itself may not {what}, grant it the ClusterRole {CLUSTER_ROLE} of its manifests: {message}"
                ),
                code => format!("the hub answered {what} with {code} {message}"),
            }
        }
        Error::SerdeError(_) => {
            format!("the hub's answer to {what} cannot be read: {innermost}")
        }
        Error::Auth(error) => {
            format!("the gate cannot get credentials for the hub ({what}): {error}")
        }
        _ => format!("the hub cannot be reached ({what}): {innermost}"),
    }
}

fn cut(message: &str) -> String {
    display::Plain(display::cut(message, 300).0.trim()).to_string()
}
