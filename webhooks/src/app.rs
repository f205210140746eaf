//! The routes, and the path from a request to its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use berth_addons_core::conversion::{self, Conversion, Kind};
use berth_api::crds::CONVERSION_PATH;
use berth_review::{Gate, Refusal, RefusalKind, Verdict, Webhook, decoding_costs};
use berth_rules::display::{Logged, Plain, Quoted, cut_bytes};
use berth_rules::{DecisionOutcome, NO_DENIAL};
use berth_serve::{
    Answered, BodyMemory, LARGEST_BODY, NotReceived, Payer, Received, Trouble, deadline,
};
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use jiff::Timestamp;
use prometheus::IntGauge;
use tokio::time::{Instant, timeout_at};

use crate::lane::Lane;
use crate::metrics::{ConversionOutcome, RequestMetrics};
use crate::table::shipped;
use crate::{Limits, Metrics};

/// The extra time for a large review that has begun, which keeps to the deadline by itself.
const BEGUN: Duration = Duration::from_millis(20);

/// The maximum number of bytes of a message in the log.
const LONGEST_MESSAGE: usize = 2 * 1024;

/// The maximum number of bytes of a header's value or of a method in a message.
const LONGEST_VALUE: usize = 253;

/// Responds to reviews.
#[derive(Debug)]
pub struct App {
    gate: Gate,
    metrics: Metrics,
    largest_number: usize,
    being_decided: AtomicUsize,
    memory: BodyMemory,
    lane: Lane,
    draining: AtomicBool,
}

/// The routes of the gate: `POST` of an AdmissionReview to the path of each of these webhooks, and of a ConversionReview of add-ons if it
/// converts them.
pub fn router(app: &Arc<App>, webhooks: &'static [Webhook], converts: bool) -> Router {
    let mut router = Router::new();
    for webhook in webhooks.iter().copied() {
        let app = Arc::clone(app);
        let respond = move |request: Request| async move { app.respond(webhook, request).await };
        router = router.route(shipped(webhook).path, post(respond));
    }
    if converts {
        let app = Arc::clone(app);
        let convert = move |request: Request| async move { app.convert(request).await };
        router = router.route(CONVERSION_PATH, post(convert));
    }
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(async move |uri: Uri| not_found(&uri, webhooks, converts))
}

impl App {
    /// Makes an app with this gate and these limits.
    pub fn new(gate: Gate, metrics: Metrics, limits: &Limits) -> Self {
        Self {
            gate,
            metrics,
            largest_number: limits.reviews,
            being_decided: AtomicUsize::new(0),
            memory: limits.of_bodies(),
            lane: Lane::default(),
            draining: AtomicBool::new(false),
        }
    }

    /// From now on, every response asks its client to close the connection.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.metrics.draining.set(1);
    }

    async fn respond(&self, webhook: Webhook, request: Request) -> Response {
        let begun = Instant::now();
        let metrics = &self.metrics.webhook(webhook).requests;
        let version = request.version();
        let body = self.review(webhook, request, begun);
        self.counted(metrics, version, begun, body).await
    }

    async fn convert(&self, request: Request) -> Response {
        let begun = Instant::now();
        let metrics = &self.metrics.conversion.requests;
        let version = request.version();
        let body = async {
            let (conversion, outcome) = self.conversion(request, begun).await;
            self.metrics.conversion.decided(conversion.kind, outcome);
            if let Err(message) = &conversion.result {
                tracing::warn!(
                    kind = conversion.kind.map_or("", Kind::as_str),
                    outcome = outcome.as_str(),
                    error = cut_bytes(message, LONGEST_MESSAGE),
                    "add-ons are not converted: clients cannot read or write them in another version"
                );
            }
            conversion.json
        };
        self.counted(metrics, version, begun, body).await
    }

    async fn conversion(
        &self,
        request: Request,
        begun: Instant,
    ) -> (Conversion, ConversionOutcome) {
        let admitted = match self.admit(request, begun, conversion::costs).await {
            Ok(admitted) => admitted,
            Err(NotAdmitted { beginning, refusal }) => {
                let outcome = match refusal.kind.outcome() {
                    "malformed" => ConversionOutcome::Failed,
                    _ => ConversionOutcome::Undecided,
                };
                return (conversion::refuse(&beginning, refusal.message), outcome);
            }
        };
        let Admitted {
            received, deadline, ..
        } = admitted;
        let conversion = if received.is_large() {
            let beginning = received.beginning().to_vec();
            let converted = self.lane.run(async move {
                // The share of the memory is held until the response is made.
                conversion::respond(&received.bytes)
            });
            match timeout_at(deadline, converted).await {
                Ok(Some(conversion)) => conversion,
                Ok(None) | Err(_) => {
                    let message = "other large reviews took too long: try again".to_owned();
                    return (
                        conversion::refuse(&beginning, message),
                        ConversionOutcome::Undecided,
                    );
                }
            }
        } else {
            conversion::respond(&received.bytes)
        };
        let outcome = match conversion.result {
            Ok(_) => ConversionOutcome::Converted,
            Err(_) => ConversionOutcome::Failed,
        };
        (conversion, outcome)
    }

    /// Returns a response of HTTP status 200, and counts the request.
    async fn counted(
        &self,
        metrics: &RequestMetrics,
        version: Version,
        begun: Instant,
        body: impl Future<Output = Vec<u8>>,
    ) -> Response {
        let _in_flight = InFlight::enter(&metrics.in_flight);
        let body = body.await;
        metrics.requests.inc();
        metrics.seconds.observe(begun.elapsed().as_secs_f64());

        let mut response = Response::new(Body::from(body));
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
        let admitted = match self.admit(request, begun, decoding_costs).await {
            Ok(admitted) => admitted,
            Err(NotAdmitted { beginning, refusal }) => {
                return self.finish(webhook, &Verdict::unread(&beginning, refusal), begun);
            }
        };
        let Admitted {
            received, deadline, ..
        } = admitted;
        if received.is_large() {
            let verdict = self.examine_large(webhook, received, deadline).await;
            return self.finish(webhook, &verdict, begun);
        }
        let now = Timestamp::now();
        let verdict = self.gate.examine(webhook, &received.bytes, now, deadline);
        self.finish(webhook, &verdict.await, begun)
    }

    /// Receives the body of a request, within the deadline, the memory and the number of requests. `costs` is the memory that it takes to
    /// decide it.
    async fn admit(
        &self,
        request: Request,
        begun: Instant,
        costs: fn(&[u8]) -> usize,
    ) -> Result<Admitted<'_>, NotAdmitted> {
        let deadline = begun + deadline::budget(request.uri().query());
        let (head, body) = request.into_parts();
        let payer = head.extensions.get::<Payer>().copied().unwrap_or_default();
        let content_type = other_content_type(&head.headers);
        let answered = match head.version {
            Version::HTTP_2 => Answered::Beside,
            _ => Answered::Behind,
        };
        // Free the memory of the headers: the body may arrive slowly.
        drop(head);
        let received = self.memory.receive(body, payer, answered, deadline);
        let mut received =
            received
                .await
                .map_err(|NotReceived { why, beginning }| NotAdmitted {
                    beginning: beginning.into(),
                    refusal: not_received(why),
                })?;
        // Reviews that are still arriving do not count: slow clients must not keep others out.
        let place = Deciding::enter(&self.being_decided);
        let refusal = if let Some(content_type) = content_type
            && !received.bytes.is_empty()
        {
            Refusal {
                kind: RefusalKind::Undecodable,
                message: format!("contentType={content_type}, expected application/json"),
            }
        } else if place.number > self.largest_number {
            let number = self.largest_number;
            too_busy(format!("more than {number} reviews are being decided"))
        } else if !received.charge(costs(&received.bytes)) {
            too_busy("too many large reviews at once")
        } else {
            return Ok(Admitted {
                received,
                deadline,
                _place: place,
            });
        };
        Err(NotAdmitted {
            beginning: received.bytes.clone(),
            refusal,
        })
    }

    /// Decides a large review on a thread of its own, so that other reviews do not wait for it.
    async fn examine_large(
        &self,
        webhook: Webhook,
        received: Received,
        deadline: Instant,
    ) -> Verdict<'static> {
        let beginning = received.beginning().to_vec();
        let gate = self.gate.clone();
        let examined = self.lane.run(async move {
            let now = Timestamp::now();
            let verdict = gate.examine(webhook, &received.bytes, now, deadline).await;
            verdict.into_owned()
        });
        // A review that has begun keeps to the deadline by itself.
        match timeout_at(deadline + BEGUN, examined).await {
            Ok(Some(verdict)) => verdict,
            Ok(None) | Err(_) => {
                let refusal = Refusal {
                    kind: RefusalKind::TooSlow,
                    message: format!("other large reviews took too long: {NO_DENIAL}"),
                };
                Verdict::unread(&beginning, refusal).into_owned()
            }
        }
    }

    fn finish(&self, webhook: Webhook, verdict: &Verdict<'_>, begun: Instant) -> Vec<u8> {
        self.metrics.decided(webhook, verdict);
        if !verdict.is_allowed() {
            log(webhook, verdict, begun);
        }
        verdict.to_json()
    }
}

/// A request that is decided.
struct Admitted<'a> {
    received: Received,
    deadline: Instant,
    _place: Deciding<'a>,
}

/// A request that is refused unread.
struct NotAdmitted {
    /// The body, or its beginning.
    beginning: Bytes,
    refusal: Refusal,
}

/// Returns the content type, for a message, if it is not that of a review.
fn other_content_type(headers: &HeaderMap) -> Option<String> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .map_or(&b""[..], HeaderValue::as_bytes);
    let shown = &content_type[..content_type.len().min(LONGEST_VALUE)];
    (content_type != b"application/json")
        .then(|| Plain(&String::from_utf8_lossy(shown)).to_string())
}

fn not_received(why: Trouble) -> Refusal {
    let (kind, message) = match why {
        Trouble::BrokeOff(error) => (
            RefusalKind::Undecodable,
            format!("request body broke off: {error}"),
        ),
        Trouble::TooLarge => (
            RefusalKind::TooLarge,
            format!("request entity is too large; limit is {LARGEST_BODY} bytes"),
        ),
        Trouble::NoRoom => {
            return too_busy("too many reviews arrive at once, and others arrive faster");
        }
        Trouble::TooSlow => (
            RefusalKind::TooSlow,
            format!("the review did not arrive in time: {NO_DENIAL}"),
        ),
    };
    Refusal { kind, message }
}

fn too_busy(why: impl std::fmt::Display) -> Refusal {
    Refusal {
        kind: RefusalKind::TooBusy,
        message: format!("{why}: {NO_DENIAL}"),
    }
}

/// Logs one line for each review that was not admitted: requester and object, but no content of objects. Text of the
/// requester is cut.
fn log(webhook: Webhook, verdict: &Verdict<'_>, begun: Instant) {
    let subject = verdict.subject.as_ref();
    let field = |read: for<'s> fn(&'s berth_review::Subject<'_>) -> &'s str| {
        Logged(subject.map_or("", read)).to_string()
    };
    let message = verdict.message();
    let requirements = match &verdict.result {
        Ok(decision) => match &decision.outcome {
            DecisionOutcome::Denied(denials) => denials
                .iter()
                .map(|denial| denial.reason.as_str())
                .collect::<Vec<_>>()
                .join(","),
            _ => verdict.reason().to_owned(),
        },
        Err(_) => verdict.reason().to_owned(),
    };
    tracing::info!(
        uid = Logged(verdict.uid()).to_string(),
        user = field(|subject| subject.user.as_str()),
        kind = webhook.kind(),
        namespace = field(|subject| subject.namespace.as_str()),
        name = field(|subject| subject.name.as_str()),
        operation = field(|subject| subject.operation.as_str()),
        dry_run = subject.is_some_and(|subject| subject.dry_run),
        code = verdict.code(),
        reason = requirements,
        answer = cut_bytes(&message, LONGEST_MESSAGE),
        // Rounded to microseconds: JSON readers differ about further digits.
        duration_ms = (begun.elapsed().as_secs_f64() * 1e6).round() / 1e3,
        "{}",
        verdict.outcome(),
    );
}

/// Counts a request while this value exists.
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

/// A review that is being decided, and the number of concurrent reviews at its start.
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

async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    let method = cut_bytes(method.as_str(), LONGEST_VALUE);
    let review = match uri.path() {
        CONVERSION_PATH => "a ConversionReview",
        _ => "an AdmissionReview",
    };
    let text = format!("{method} is not served here: POST {review}\n");
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")], text).into_response()
}

fn not_found(uri: &Uri, webhooks: &[Webhook], converts: bool) -> Response {
    let mut paths: Vec<_> = webhooks.iter().map(|it| shipped(*it).path).collect();
    paths.extend(converts.then_some(CONVERSION_PATH));
    let paths = paths.join("\n");
    let path = Quoted(uri.path());
    (
        StatusCode::NOT_FOUND,
        format!("nothing is served under {path}; the webhooks are:\n{paths}\n"),
    )
        .into_response()
}
