//! Access to `/metrics`: a client needs a token that the hub authenticates, and the permission to get the path `/metrics`, as with
//! OCM's controller and with controller-runtime.
//!
//! # Guarantees
//! - Fail closed: without an answer of the hub, no client may read.
//! - Clients without a token cause no requests to the hub. Clients with wrong tokens cause at most [`AT_ONCE`] requests at a time.
//! - The cache of answers is bounded in number ([`MOST`]), in size ([`LONGEST_TOKEN`](super::reviews::LONGEST_TOKEN)) and in time ([`FRESH`]).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use berth_hub::{CallError, HubApi};
use http::{HeaderMap, StatusCode};
use k8s_openapi::api::authorization::v1::NonResourceAttributes;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::reviews::{self, Access, LONGEST, bearer};

/// How long an answer of the hub is cached, as in Kubernetes' components.
const FRESH: Duration = Duration::from_secs(10);

/// Upper bound on cached answers.
const MOST: usize = 64;

/// Limit on clients that wait for the hub at a time.
const AT_ONCE: usize = 4;

/// The answer of the hub about a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
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
pub(super) struct Scrapers {
    api: HubApi,
    known: Mutex<Known>,
    asking: Semaphore,
}

/// Cached answers of the hub, by token.
#[derive(Default)]
struct Known(HashMap<String, (Instant, Verdict)>);

// === impl Verdict ===

impl Verdict {
    /// Returns the response to a client that may not read metrics, or None if it may.
    pub(super) fn refusal(&self) -> Option<(StatusCode, String)> {
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

impl Scrapers {
    pub(super) fn new(api: HubApi) -> Self {
        Self {
            api,
            known: Mutex::default(),
            asking: Semaphore::new(AT_ONCE),
        }
    }

    /// Returns the verdict, if it needs no request: the token is missing, or the answer is cached.
    pub(super) fn known_verdict(&self, headers: &HeaderMap) -> Option<Verdict> {
        match bearer(headers) {
            Some(token) => self.known().of(token, Instant::now()),
            None => Some(Verdict::Unknown),
        }
    }

    /// Returns the verdict about the client with these headers.
    pub(super) async fn verdict(&self, headers: &HeaderMap) -> Verdict {
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

    async fn ask(&self, token: &str) -> Result<Verdict, CallError> {
        let Some(user) = reviews::user_of(&self.api, token).await? else {
            return Ok(Verdict::Unknown);
        };
        let access = Access::Path(NonResourceAttributes {
            path: Some("/metrics".to_owned()),
            verb: Some("get".to_owned()),
        });
        Ok(match reviews::is_allowed(&self.api, &user, access).await? {
            true => Verdict::Allowed,
            false => Verdict::Forbidden(user.username.unwrap_or_default()),
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
mod tests {
    use super::*;

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
