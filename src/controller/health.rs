//! Health, readiness and metrics of the lifecycle, under the paths of OCM's controller. Health is for everybody, as the kubelet
//! has no token; metrics are for whom the hub lets read them.

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
use berth_serve::endpoints;
use berth_serve::metrics::render;
use futures::future::ready;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use prometheus::Registry;

use super::scrapers::Scrapers;
use super::standing::Standing;

/// Where OpenShift, and whoever follows it, mounts a certificate for the Service.
const SERVING_CERT: &str = "/var/run/secrets/serving-cert";

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

/// The routes.
pub(super) fn router(standing: Arc<Standing>, registry: Registry, scrapers: Scrapers) -> Router {
    let health = endpoints::health(move || ready(standing.checks()));
    health.merge(
        Router::new()
            .route("/metrics", get(metrics))
            .with_state((registry, Arc::new(scrapers))),
    )
}

async fn metrics(
    State((registry, scrapers)): State<(Registry, Arc<Scrapers>)>,
    headers: HeaderMap,
) -> Response {
    let verdict = scrapers.verdict(&headers).await;
    if let Some((status, text)) = verdict.refusal() {
        let challenge =
            (status == StatusCode::UNAUTHORIZED).then_some([(WWW_AUTHENTICATE, "Bearer")]);
        return (status, challenge, text).into_response();
    }
    endpoints::exposition(render(&registry))
}
