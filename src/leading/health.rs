//! Health, readiness and metrics of components, under the paths of OCM's components. Every client may read health, since the
//! kubelet has no token; metrics require a permission on the hub.
//!
//! The port is served on a thread of its own, so health answers however busy the reconcilers are. Requests to the hub, and waits
//! for locks of the reconcilers, run on other threads. `/healthz` fails when one of the reconcilers' threads is held for long.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use berth_certs::folder::Folder;
use berth_certs::options::TlsOptions;
use berth_certs::self_signed::SelfSigned;
use berth_certs::serving::{DEFAULT_INTERVAL, ServingTls};
use berth_serve::endpoints::Check;
use berth_serve::metrics::render;
use berth_serve::{Limits, Turns, endpoints};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use prometheus::Registry;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::scrapers::{Scrapers, Verdict};
use super::standing::{self, Standing};

/// The folder that OpenShift, and OCM's operator, mount a serving certificate in.
const SERVING_CERT: &str = "/var/run/secrets/serving-cert";

/// Timeout of the permission check for metrics, including the wait for a busy main runtime.
const LONGEST_QUESTION: Duration = Duration::from_secs(6);

/// The interval of checks of a self-signed certificate, which is valid for weeks.
const SELF_SIGNED_INTERVAL: Duration = Duration::from_secs(3600);

/// Returns the TLS configuration, with the mounted certificate or a self-signed one, and the interval of reloads.
pub(super) fn tls(options: TlsOptions) -> anyhow::Result<(ServingTls, Duration)> {
    let now = Timestamp::now();
    let unobserved = |_, _: &_| {};
    if Path::new(SERVING_CERT).exists() {
        let folder = Folder::new(SERVING_CERT);
        let tls = ServingTls::new(folder, options, None, unobserved, now)?;
        return Ok((tls, DEFAULT_INTERVAL));
    }
    let tls = ServingTls::new(SelfSigned::default(), options, None, unobserved, now)
        .context("cannot create a certificate")?;
    Ok((tls, SELF_SIGNED_INTERVAL))
}

/// Returns the limits of the port. Headers may have 16 KiB, since tokens of scrapers are long.
pub(super) fn limits() -> Limits {
    Limits {
        http2_headers: 16 * 1024,
        ..Limits::default().few()
    }
}

/// What readiness depends on.
#[derive(Clone, Default)]
pub(super) struct Reported {
    pub(super) standings: Vec<Arc<Standing>>,
    /// A check of the process.
    pub(super) more: Option<Arc<dyn Fn() -> Check + Send + Sync>>,
}

/// The registry of the metrics, and the check of their readers.
#[derive(Clone)]
struct Metrics {
    registry: Registry,
    scrapers: Arc<Scrapers>,
    /// The runtime of the connections to the hub.
    main: Handle,
}

/// Returns the routes. Must be called on the runtime of the connections to the hub.
pub(super) fn router(
    reported: Reported,
    turns: Turns,
    registry: Registry,
    scrapers: Scrapers,
) -> Router {
    let checks = move || {
        let reported = reported.clone();
        // The reconcilers may hold the lock.
        let checks = spawn_blocking(move || reported.checks());
        async move {
            let unfinished = |error| vec![("standing", Err(format!("{error}")))];
            checks.await.unwrap_or_else(unfinished)
        }
    };
    let metrics = Metrics {
        registry,
        scrapers: Arc::new(scrapers),
        main: Handle::current(),
    };
    endpoints::health(turns, checks).merge(
        Router::new()
            .route("/metrics", get(exposed))
            .with_state(metrics),
    )
}

// === impl Reported ===

impl Reported {
    fn checks(&self) -> Vec<Check> {
        let more = self.more.as_ref().map(|check| check());
        standing::checks(&self.standings)
            .into_iter()
            .chain(more)
            .collect()
    }
}

async fn exposed(State(metrics): State<Metrics>, headers: HeaderMap) -> Response {
    let Metrics {
        registry,
        scrapers,
        main,
    } = metrics;
    let verdict = match scrapers.known_verdict(&headers) {
        Some(verdict) => verdict,
        None => {
            let asked = main.spawn(async move { scrapers.verdict(&headers).await });
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
    match spawn_blocking(move || render(&registry)).await {
        Ok(text) => endpoints::exposition(text),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
