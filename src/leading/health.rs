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
use berth_certs::folder::Folder;
use berth_certs::options::TlsOptions;
use berth_certs::self_signed::SelfSigned;
use berth_certs::serving::{DEFAULT_INTERVAL, ServingTls};
use berth_hub::HubApi;
use berth_serve::door::scrapers;
use berth_serve::endpoints::Check;
use berth_serve::{Limits, Turns, endpoints};
use jiff::Timestamp;
use prometheus::Registry;
use tokio::task::spawn_blocking;

use super::reviews::Reviews;
use super::standing::{self, Standing};

/// The folder that OpenShift, and OCM's operator, mount a serving certificate in.
const SERVING_CERT: &str = "/var/run/secrets/serving-cert";

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

/// Returns the routes. Must be called on the runtime of the connections to the hub.
pub(super) fn router(reported: Reported, turns: Turns, registry: Registry, api: HubApi) -> Router {
    let checks = move || {
        let reported = reported.clone();
        // The reconcilers may hold the lock.
        let checks = spawn_blocking(move || reported.checks());
        async move {
            let unfinished = |error| vec![("standing", Err(format!("{error}")))];
            checks.await.unwrap_or_else(unfinished)
        }
    };
    endpoints::health(turns, checks).merge(scrapers::metrics(registry, Reviews(api)))
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
