//! Handles a request in the API server's order: authentication, limits, authorization, routing, execution.

use std::sync::Arc;
use std::time::Instant;

use berth_rbac::Request as Question;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::World;
use crate::authorization::{SUPERUSERS, forbidden};
use crate::protocol::answer::{self, Body};
use crate::protocol::body::RequestBody;
use crate::protocol::call::Call;
use crate::protocol::openapi::Documents;
use crate::protocol::path::{RequestInfo, decode};
use crate::protocol::query::Query;
use crate::protocol::write::Warnings;
use crate::protocol::{health, routes};
use crate::status::{ApiError, Details};
use crate::user::User;

/// The most requests at a time, for writes and for reads.
const WRITES: usize = 200;
const READS: usize = 400;

/// Answers requests.
#[derive(Debug)]
pub(crate) struct App {
    world: Arc<World>,
    openapi: Documents,
    reads: Semaphore,
    writes: Semaphore,
    /// Ends watches.
    stop: CancellationToken,
}

impl App {
    /// Answers for this hub, until told to stop.
    pub(crate) fn new(world: Arc<World>, stop: CancellationToken) -> Self {
        Self {
            world,
            openapi: Documents::default(),
            reads: Semaphore::new(READS),
            writes: Semaphore::new(WRITES),
            stop,
        }
    }

    /// Answers a request of a client that showed this certificate.
    pub(crate) async fn answer(
        &self,
        request: Request<impl RequestBody>,
        certificate: Option<&CertificateDer<'_>>,
    ) -> Response<Body> {
        let begun = Instant::now();
        let (mut parts, body) = request.into_parts();
        // HTTP/2 names the host beside the path.
        let host = parts.uri.authority();
        if let Some(host) = host.and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
            parts.headers.entry(header::HOST).or_insert(host);
        }
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let Some(path) = decode(parts.uri.path(), false) else {
            return answer::text(StatusCode::BAD_REQUEST, "400 Bad Request");
        };
        let info = RequestInfo::new(&parts.method, &path, &query);
        let mut warnings = Warnings::new();
        let mut user = User::default();
        let asked = Asked {
            method: &parts.method,
            info: &info,
            query: &query,
            headers: &parts.headers,
            certificate,
        };
        let answered = self.process(&asked, body, &mut user, &mut warnings).await;
        let mut response = answered.unwrap_or_else(|error| {
            tracing::debug!(
                code = error.code.as_u16(),
                reason = error.reason,
                message = error.message,
                "refused"
            );
            answer::error(&error, &parts.headers, &query)
        });
        answer::warn(&mut response, &warnings);
        tracing::debug!(
            verb = info.verb,
            uri = %parts.uri,
            user = user.name,
            code = response.status().as_u16(),
        duration_ms = (begun.elapsed().as_secs_f64() * 1e6).round() / 1e3,
            "answered",
        );
        response
    }

    async fn process(
        &self,
        asked: &Asked<'_>,
        body: impl RequestBody,
        user: &mut User,
        warnings: &mut Warnings,
    ) -> Result<Response<Body>, ApiError> {
        let (world, info) = (&self.world, asked.info);
        let question = question(info);
        *user = world.authenticator.authenticate(
            world,
            asked.certificate,
            asked.headers,
            Timestamp::now(),
        )?;
        let timeout = asked.query.timeout()?;
        let _room = self.room(info, user)?;
        let verdict = world.authorizer.evaluate(&world.store, user, &question);
        if !verdict.is_allowed() {
            return Err(forbidden(user, &question, &verdict));
        }
        let call = Call {
            world,
            method: asked.method,
            info,
            query: asked.query,
            headers: asked.headers,
            user,
            openapi: &self.openapi,
            deadline: tokio::time::Instant::now() + timeout,
            stop: &self.stop,
        };
        let answer = async {
            if info.is_resource {
                routes::resource(&call, body, warnings).await
            } else {
                health::other(&call)
            }
        };
        match tokio::time::timeout(timeout, answer).await {
            Ok(answered) => answered,
            Err(_) => Err(too_late()),
        }
    }

    /// A place among the requests that are being answered. Watches take none, and superusers need none.
    fn room(
        &self,
        info: &RequestInfo,
        user: &User,
    ) -> Result<Option<tokio::sync::SemaphorePermit<'_>>, ApiError> {
        if info.is_long_running() {
            return Ok(None);
        }
        let reads = matches!(info.verb.as_str(), "get" | "list" | "watch");
        let places = if reads { &self.reads } else { &self.writes };
        match places.try_acquire() {
            Ok(place) => Ok(Some(place)),
            Err(_) if user.groups.iter().any(|group| group == SUPERUSERS) => Ok(None),
            Err(_) => Err(too_many()),
        }
    }
}

/// A request without its body.
struct Asked<'a> {
    method: &'a Method,
    info: &'a RequestInfo,
    query: &'a Query,
    headers: &'a HeaderMap,
    certificate: Option<&'a CertificateDer<'a>>,
}

/// What authorization is asked.
fn question(info: &RequestInfo) -> Question<'_> {
    if info.is_resource {
        Question::Resource {
            verb: &info.verb,
            api_group: &info.group,
            resource: &info.resource,
            subresource: &info.subresource,
            name: &info.name,
            namespace: &info.namespace,
        }
    } else {
        Question::NonResource {
            verb: &info.verb,
            path: &info.path,
        }
    }
}

fn too_many() -> ApiError {
    let message = "Too many requests, please try again later.";
    ApiError {
        details: Some(Details {
            retry_after_seconds: 1,
            ..Details::default()
        }),
        ..ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
    }
}

fn too_late() -> ApiError {
    let message = "Timeout: request did not complete within the allotted timeout";
    ApiError {
        details: Some(Details::default()),
        ..ApiError::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
    }
}
