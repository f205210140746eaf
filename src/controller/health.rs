//! Health, readiness and metrics of the lifecycle, under the paths of OCM's controller. Every client may read health, as the
//! kubelet has no token; metrics are for users that the hub lets read them.
//!
//! The port is served on a thread of its own: health answers however busy the reconcilers are. What the hub is asked, and what
//! waits for the reconcilers' locks, runs elsewhere.

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
use berth_serve::metrics::render;
use berth_serve::{Limits, endpoints};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use prometheus::Registry;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::scrapers::{Scrapers, Verdict};
use super::standing::Standing;

/// Where OpenShift, and whoever follows it, mounts a certificate for the Service.
const SERVING_CERT: &str = "/var/run/secrets/serving-cert";

/// How long the question who may read metrics may take, when the main runtime is busy, too.
const LONGEST_QUESTION: Duration = Duration::from_secs(6);

/// How often a certificate of our own is looked at: it lasts for weeks.
const SELF_SIGNED_INTERVAL: Duration = Duration::from_secs(3600);

/// The TLS side, and how often to look for another certificate: that which is mounted, or one of our own.
pub(super) fn tls(options: TlsOptions) -> anyhow::Result<(ServingTls, Duration)> {
    let now = Timestamp::now();
    let unobserved = |_, _: &_| {};
    if Path::new(SERVING_CERT).exists() {
        let folder = Folder::new(SERVING_CERT);
        let tls = ServingTls::new(folder, options, None, unobserved, now)?;
        return Ok((tls, DEFAULT_INTERVAL));
    }
    let tls = ServingTls::new(SelfSigned::default(), options, None, unobserved, now)
        .context("no certificate could be made")?;
    Ok((tls, SELF_SIGNED_INTERVAL))
}

/// Tokens of scrapers are long: with the other headers they may have 16 KiB.
pub(super) fn limits() -> Limits {
    Limits {
        http2_headers: 16 * 1024,
        ..Limits::default().few()
    }
}

/// What the metrics are made of, and who may read them.
#[derive(Clone)]
struct Metrics {
    registry: Registry,
    scrapers: Arc<Scrapers>,
    /// Where the hub is asked: the runtime that its connections belong to.
    main: Handle,
}

/// The routes. To be called on the runtime on which the hub is called.
pub(super) fn router(standing: Arc<Standing>, registry: Registry, scrapers: Scrapers) -> Router {
    let checks = move || {
        let standing = Arc::clone(&standing);
        // The reconcilers may hold the lock.
        let checks = spawn_blocking(move || standing.checks());
        async move {
            let unfinished = |error| [("standing", Err(format!("{error}")))].to_vec();
            checks
                .await
                .map_or_else(unfinished, |checks| checks.to_vec())
        }
    };
    let metrics = Metrics {
        registry,
        scrapers: Arc::new(scrapers),
        main: Handle::current(),
    };
    endpoints::health(checks).merge(
        Router::new()
            .route("/metrics", get(exposed))
            .with_state(metrics),
    )
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
