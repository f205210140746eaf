//! Health and readiness, as plain HTTP: `/healthz` while the process lives, `/readyz` when the gate can decide.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use berth_certs::serving::ServingTls;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;

use super::Metrics;

/// What readiness depends on.
#[derive(Debug, Default)]
pub(super) struct Readiness {
    /// Set when the webhook port takes connections.
    listening: OnceLock<Arc<ServingTls>>,
    answered: AtomicBool,
    draining: AtomicBool,
}

impl Readiness {
    /// The webhook port takes connections, with this.
    pub(super) fn is_listening(&self, tls: Arc<ServingTls>) {
        // It is opened once.
        let _ = self.listening.set(tls);
    }

    /// Questions have been answered once.
    pub(super) fn has_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// The server was told to stop.
    pub(super) fn is_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Each check, and whether it passes.
    fn checks(&self, now: Timestamp) -> [(&'static str, bool); 4] {
        let tls = self.listening.get();
        [
            ("certificate", tls.is_some_and(|tls| tls.is_valid_at(now))),
            ("listener", tls.is_some()),
            ("authorizer", self.answered.load(Ordering::Relaxed)),
            ("shutdown", !self.draining.load(Ordering::Relaxed)),
        ]
    }
}

/// The routes of the health port, under the names of controller-runtime's checks.
pub(super) fn health(readiness: Arc<Readiness>) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/healthz/healthz-ping", get(alive))
        .route("/livez", get(alive))
        .route("/readyz", get(ready))
        .route("/readyz/readyz-ping", get(ready))
        .with_state(readiness)
}

/// The routes of the metrics port.
pub(super) fn metrics(metrics: Metrics) -> Router {
    let render = async move |State(metrics): State<Metrics>| {
        (
            [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
            metrics.render(),
        )
    };
    Router::new()
        .route("/metrics", get(render))
        .with_state(metrics)
}

async fn alive() -> &'static str {
    "ok"
}

async fn ready(State(readiness): State<Arc<Readiness>>) -> Response {
    let checks = readiness.checks(Timestamp::now());
    if checks.iter().all(|(_, passes)| *passes) {
        return "ok".into_response();
    }
    let lines =
        checks.map(|(check, passes)| format!("[{}]{check} {}\n", sign(passes), word(passes)));
    (StatusCode::SERVICE_UNAVAILABLE, lines.concat()).into_response()
}

fn sign(passes: bool) -> char {
    if passes { '+' } else { '-' }
}

fn word(passes: bool) -> &'static str {
    if passes { "ok" } else { "failed" }
}
