//! Access to `/metrics`: a client needs a token that the hub authenticates, and the permission to get the path `/metrics`, as with
//! OCM's controller and with controller-runtime.
//!
//! # Guarantees
//! - Fail closed: without an answer of the hub, no client may read.
//! - Clients without a token cause no requests to the hub. Clients with wrong tokens cause at most `AT_ONCE` requests at a time.
//! - The cache of answers is bounded in number (`MOST`), in size (`LONGEST_TOKEN`) and in time (`FRESH`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use prometheus::Registry;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use super::{Access, Authority, LONGEST, bearer};
use crate::endpoints;
use crate::metrics::render;

/// How long an answer of the hub is cached, as in Kubernetes' components.
const FRESH: Duration = Duration::from_secs(10);

/// Upper bound on cached answers.
const MOST: usize = 64;

/// Timeout of the permission check for metrics, including the wait for a busy main runtime.
const LONGEST_QUESTION: Duration = Duration::from_secs(6);

/// Limit on clients that wait for the hub at a time.
const AT_ONCE: usize = 4;

/// The answer of the hub about a token.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// The user may read metrics.
    Allowed,
    /// The token is missing, or the hub does not authenticate it.
    Unknown,
    /// This user may not read metrics.
    Forbidden(String),
    /// The hub did not answer.
    Undecided(String),
}

/// Checks the clients that read metrics.
struct Scrapers<A> {
    authority: A,
    known: Mutex<Known>,
    asking: Semaphore,
}

/// Cached answers of the hub, by token.
#[derive(Default)]
struct Known(HashMap<String, (Instant, Verdict)>);

/// The registry of the metrics, and the check of their readers.
struct Metrics<A> {
    registry: Registry,
    scrapers: Arc<Scrapers<A>>,
    /// The runtime of the authority.
    main: Handle,
}

/// `/metrics`, for clients that the authority allows to get the path. Must be called on the runtime of the authority's connections;
/// it may be served on another one.
pub fn metrics<A: Authority>(registry: Registry, authority: A) -> Router {
    let metrics = Metrics {
        registry,
        scrapers: Arc::new(Scrapers::new(authority)),
        main: Handle::current(),
    };
    Router::new()
        .route("/metrics", get(exposed::<A>))
        .with_state(Arc::new(metrics))
}

async fn exposed<A: Authority>(
    State(metrics): State<Arc<Metrics<A>>>,
    headers: HeaderMap,
) -> Response {
    let scrapers = Arc::clone(&metrics.scrapers);
    let verdict = match scrapers.known_verdict(&headers) {
        Some(verdict) => verdict,
        None => {
            let asked = async move { scrapers.verdict(&headers).await };
            let asked = metrics.main.spawn(asked);
            match timeout(LONGEST_QUESTION, asked).await {
                Ok(Ok(verdict)) => verdict,
                Ok(Err(_)) | Err(_) => Verdict::Undecided("no answer in time".to_owned()),
            }
        }
    };
    if let Some((status, text)) = verdict.refusal() {
        let challenge =
            (status == StatusCode::UNAUTHORIZED).then_some([(WWW_AUTHENTICATE, "Bearer")]);
        return (status, challenge, text).into_response();
    }
    let registry = metrics.registry.clone();
    match spawn_blocking(move || render(&registry)).await {
        Ok(text) => endpoints::exposition(text),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

// === impl Verdict ===

impl Verdict {
    /// Returns the response to a client that may not read metrics, or None if it may.
    fn refusal(&self) -> Option<(StatusCode, String)> {
        match self {
            Self::Allowed => None,
            Self::Unknown => Some((
                StatusCode::UNAUTHORIZED,
                "Unauthorized: /metrics needs a bearer token that the hub knows\n".to_owned(),
            )),
            Self::Forbidden(user) => Some((
                StatusCode::FORBIDDEN,
                format!(
                    "Forbidden: user {user:?} needs verb \"get\" on the non-resource URL \"/metrics\"\n"
                ),
            )),
            Self::Undecided(why) => Some((
                StatusCode::SERVICE_UNAVAILABLE,
                format!("could not ask the hub who may read /metrics: {why}\n"),
            )),
        }
    }
}

// === impl Scrapers ===

impl<A: Authority> Scrapers<A> {
    fn new(authority: A) -> Self {
        Self {
            authority,
            known: Mutex::default(),
            asking: Semaphore::new(AT_ONCE),
        }
    }

    /// Returns the verdict, if it needs no request: the token is missing, or the answer is cached.
    fn known_verdict(&self, headers: &HeaderMap) -> Option<Verdict> {
        match bearer(headers) {
            Some(token) => self.known().of(token, Instant::now()),
            None => Some(Verdict::Unknown),
        }
    }

    /// Returns the verdict about the client with these headers.
    async fn verdict(&self, headers: &HeaderMap) -> Verdict {
        if let Some(verdict) = self.known_verdict(headers) {
            return verdict;
        }
        let Some(token) = bearer(headers) else {
            return Verdict::Unknown;
        };
        let Ok(_permit) = self.asking.try_acquire() else {
            return Verdict::Undecided("too many callers at once".to_owned());
        };
        let verdict = match timeout(LONGEST, self.ask(token)).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the hub could not be asked who may read metrics");
                return Verdict::Undecided(
                    "the hub does not answer, or forbids the question".to_owned(),
                );
            }
            Err(_) => return Verdict::Undecided("no answer in time".to_owned()),
        };
        self.known().note(token, verdict.clone(), Instant::now());
        verdict
    }

    async fn ask(&self, token: &str) -> Result<Verdict, A::Error> {
        let Some(caller) = self.authority.user_of(token).await? else {
            return Ok(Verdict::Unknown);
        };
        let access = Access::Path {
            verb: "get".to_owned(),
            path: "/metrics".to_owned(),
        };
        Ok(match self.authority.is_allowed(&caller, &access).await? {
            true => Verdict::Allowed,
            false => Verdict::Forbidden(caller.name),
        })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Known ===

impl Known {
    fn of(&self, token: &str, now: Instant) -> Option<Verdict> {
        let (at, verdict) = self.0.get(token)?;
        (now.saturating_duration_since(*at) < FRESH).then(|| verdict.clone())
    }

    /// Caches an answer. If the cache is full, the oldest answer is removed.
    fn note(&mut self, token: &str, verdict: Verdict, now: Instant) {
        self.0
            .retain(|_, (at, _)| now.saturating_duration_since(*at) < FRESH);
        if self.0.len() >= MOST {
            let oldest = self.0.iter().min_by_key(|(_, (at, _))| *at);
            if let Some(oldest) = oldest.map(|(token, _)| token.clone()) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(token.to_owned(), (now, verdict));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::Body;
    use http::Request;
    use tower::ServiceExt;

    use super::super::Caller;
    use super::*;

    /// Knows the tokens `reader` and `other`, and fails for the token `away`.
    #[derive(Clone, Default)]
    struct Authorized(Arc<AtomicUsize>);

    impl Authority for Authorized {
        type Error = &'static str;

        async fn user_of(&self, token: &str) -> Result<Option<Caller>, Self::Error> {
            self.0.fetch_add(1, Ordering::Relaxed);
            match token {
                "away" => Err("the hub is away"),
                "reader" | "other" => Ok(Some(Caller {
                    name: token.to_owned(),
                    ..Caller::default()
                })),
                _ => Ok(None),
            }
        }

        async fn is_allowed(&self, caller: &Caller, access: &Access) -> Result<bool, Self::Error> {
            let (verb, path) = ("get".to_owned(), "/metrics".to_owned());
            assert_eq!(*access, Access::Path { verb, path });
            Ok(caller.name == "reader")
        }
    }

    #[tokio::test]
    async fn only_callers_with_the_permission_read_metrics() {
        let authority = Authorized::default();
        let router = metrics(Registry::new(), authority.clone());
        for (token, status, requests) in [
            (None, 401, 0),
            (Some("Bearer reader"), 200, 1),
            (Some("Bearer reader"), 200, 1),
            (Some("Bearer other"), 403, 2),
            (Some("Bearer other"), 403, 2),
            (Some("Bearer wrong"), 401, 3),
            // A failure is not cached.
            (Some("Bearer away"), 503, 4),
            (Some("Bearer away"), 503, 5),
        ] {
            let mut request = Request::get("/metrics");
            if let Some(token) = token {
                request = request.header("authorization", token);
            }
            let request = request.body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{token:?}");
            let challenge = response.headers().contains_key(WWW_AUTHENTICATE);
            assert_eq!(challenge, status == 401, "{token:?}");
            assert_eq!(authority.0.load(Ordering::Relaxed), requests, "{token:?}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_in_number_and_time() {
        let begun = Instant::now();
        let mut known = Known::default();
        known.note("first", Verdict::Allowed, begun);
        assert_eq!(known.of("first", begun), Some(Verdict::Allowed));
        assert_eq!(known.of("other", begun), None);
        assert_eq!(known.of("first", begun + FRESH), None);
        for at in 0..10 * MOST {
            let now = begun + Duration::from_millis(1 + at as u64);
            known.note(&format!("wrong-{at}"), Verdict::Unknown, now);
            assert!(known.0.len() <= MOST);
        }
        assert_eq!(known.of("first", begun), None, "the oldest has gone");
        known.note("late", Verdict::Allowed, begun + 2 * FRESH);
        assert_eq!(known.0.len(), 1);
    }
}
