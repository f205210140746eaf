//! Routes, and what happens between a request and its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use berth_rules::Outcome;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode, Uri, Version};
use jiff::Timestamp;
use prometheus::IntGauge;
use tokio::time::Instant;

use super::body::{BodyMemory, NotReceived};
use super::{Limits, Metrics, deadline};
use crate::review::{Gate, Refusal, RefusalKind, Verdict, Webhook};

/// What answers reviews.
#[derive(Debug)]
pub struct App {
    gate: Gate,
    metrics: Metrics,
    largest_number: usize,
    being_decided: AtomicUsize,
    memory: BodyMemory,
    draining: AtomicBool,
}

/// The routes of the gate: `POST` of an AdmissionReview to the path of each [`Webhook`].
pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for webhook in Webhook::ALL {
        let app = Arc::clone(&app);
        let answer = move |request: Request| async move { app.answer(webhook, request).await };
        router = router.route(webhook.path(), post(answer));
    }
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
}

impl App {
    /// Answers reviews with this gate, within these limits.
    pub fn new(gate: Gate, metrics: Metrics, limits: &Limits) -> Self {
        Self {
            gate,
            metrics,
            largest_number: limits.reviews,
            being_decided: AtomicUsize::new(0),
            memory: BodyMemory::new(limits.body_memory),
            draining: AtomicBool::new(false),
        }
    }

    /// From now on every answer asks its client to take the next request elsewhere.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.metrics.draining.set(1);
    }

    async fn answer(&self, webhook: Webhook, request: Request) -> Response {
        let begun = Instant::now();
        let metrics = self.metrics.webhook(webhook);
        let _in_flight = InFlight::enter(&metrics.in_flight);
        let version = request.version();
        let answer = self.review(webhook, request, begun).await;
        metrics.requests.inc();
        metrics.seconds.observe(begun.elapsed().as_secs_f64());

        let mut response = Response::new(Body::from(answer));
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.draining.load(Ordering::Relaxed) && version <= Version::HTTP_11 {
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    async fn review(&self, webhook: Webhook, request: Request, begun: Instant) -> Vec<u8> {
        let deadline = begun + deadline::budget(request.uri().query());
        let (parts, body) = request.into_parts();
        let content_type = parts
            .headers
            .get(CONTENT_TYPE)
            .map_or(&b""[..], HeaderValue::as_bytes);
        let received = match self.memory.receive(body, deadline).await {
            Ok(received) => received,
            Err(NotReceived {
                kind,
                message,
                beginning,
            }) => {
                return self.finish(
                    webhook,
                    &Verdict::unread(&beginning, Refusal { kind, message }),
                    begun,
                );
            }
        };
        let body = &received.bytes;
        // What is still being received does not count: clients that only trickle keep nobody out.
        let place = Deciding::enter(&self.being_decided);
        let verdict = if content_type != b"application/json" && !body.is_empty() {
            let content_type =
                String::from_utf8_lossy(&content_type[..content_type.len().min(253)]);
            let message = format!("contentType={content_type}, expected application/json");
            Verdict::unread(
                body,
                Refusal {
                    kind: RefusalKind::Undecodable,
                    message,
                },
            )
        } else if place.number > self.largest_number {
            let message = format!(
                "more than {} reviews are being decided: this is no denial, try again",
                self.largest_number
            );
            Verdict::unread(
                body,
                Refusal {
                    kind: RefusalKind::TooBusy,
                    message,
                },
            )
        } else {
            self.gate
                .examine(webhook, body, Timestamp::now(), deadline)
                .await
        };
        self.finish(webhook, &verdict, begun)
    }

    fn finish(&self, webhook: Webhook, verdict: &Verdict<'_>, begun: Instant) -> Vec<u8> {
        self.metrics.decided(webhook, verdict);
        if !verdict.is_allowed() {
            log(webhook, verdict, begun);
        }
        verdict.to_json()
    }
}

/// One line for whatever was not admitted. It says who and what, and no content of objects.
fn log(webhook: Webhook, verdict: &Verdict<'_>, begun: Instant) {
    let subject = verdict.subject.as_ref();
    let field =
        |read: fn(&crate::review::Subject<'_>) -> String| subject.map(read).unwrap_or_default();
    let requirements = match &verdict.result {
        Ok(decision) => match &decision.outcome {
            Outcome::Denied(denials) => denials
                .iter()
                .map(|denial| denial.reason.as_str())
                .collect::<Vec<_>>()
                .join(","),
            _ => verdict.reason().to_owned(),
        },
        Err(_) => verdict.reason().to_owned(),
    };
    tracing::info!(
        uid = verdict.uid(),
        user = field(|subject| subject.user.as_str().to_owned()),
        kind = webhook.kind(),
        namespace = field(|subject| subject.namespace.as_str().to_owned()),
        name = field(|subject| subject.name.as_str().to_owned()),
        operation = field(|subject| subject.operation.as_str().to_owned()),
        dry_run = subject.is_some_and(|subject| subject.dry_run),
        code = verdict.code(),
        reason = requirements,
        answer = verdict.message(),
        // To the microsecond: more digits say nothing, and readers of JSON differ about the last of them.
        duration_ms = (begun.elapsed().as_secs_f64() * 1e6).round() / 1e3,
        "{}",
        verdict.outcome(),
    );
}

/// Counts a request for as long as it lives.
struct InFlight<'a>(&'a IntGauge);

impl<'a> InFlight<'a> {
    fn enter(gauge: &'a IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A review that is being decided, and the how manieth it is at the same time.
struct Deciding<'a> {
    count: &'a AtomicUsize,
    number: usize,
}

impl<'a> Deciding<'a> {
    fn enter(count: &'a AtomicUsize) -> Self {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        Self { count, number }
    }
}

impl Drop for Deciding<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn method_not_allowed(method: Method) -> Response {
    let text = format!("{method} is not served here: POST an AdmissionReview\n");
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")], text).into_response()
}

async fn not_found(uri: Uri) -> Response {
    let paths = Webhook::ALL.map(Webhook::path).join("\n");
    let path = berth_rules::display::Quoted(uri.path());
    (
        StatusCode::NOT_FOUND,
        format!("nothing is served under {path}; the webhooks are:\n{paths}\n"),
    )
        .into_response()
}
