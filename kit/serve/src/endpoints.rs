//! The endpoints of every server: health, readiness and metrics, with the paths and names of controller-runtime.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;

use crate::metrics;

/// A readiness check: its name, and the reason why it fails. The reason may be empty.
pub type Check = (&'static str, Result<(), String>);

/// `/healthz` and `/livez`, which always respond with 200, and `/readyz`, which responds with 200 if all checks pass.
///
/// The checks run for every request.
pub fn health<C, F>(checks: impl Fn() -> F + Clone + Send + Sync + 'static) -> Router
where
    C: IntoIterator<Item = Check>,
    F: Future<Output = C> + Send + 'static,
{
    let ready = move || {
        let checks = checks();
        async { readiness(checks.await) }
    };
    Router::new()
        .route("/healthz", get(alive))
        .route("/healthz/healthz-ping", get(alive))
        .route("/livez", get(alive))
        .route("/readyz", get(ready.clone()))
        .route("/readyz/readyz-ping", get(ready))
}

/// `/metrics`, without authentication.
pub fn metrics(render: impl Fn() -> Vec<u8> + Clone + Send + Sync + 'static) -> Router {
    let rendered = move || {
        let text = render();
        async { exposition(text) }
    };
    Router::new().route("/metrics", get(rendered))
}

/// The response with these metrics, as [`metrics::render`] renders them.
pub fn exposition(text: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response()
}

async fn alive() -> &'static str {
    "ok"
}

fn readiness(checks: impl IntoIterator<Item = Check>) -> Response {
    let (mut lines, mut passes) = (String::new(), true);
    for (check, outcome) in checks {
        passes &= outcome.is_ok();
        match outcome {
            Ok(()) => lines.push_str(&format!("[+]{check} ok\n")),
            Err(why) if why.is_empty() => lines.push_str(&format!("[-]{check} failed\n")),
            Err(why) => lines.push_str(&format!("[-]{check} failed: {why}\n")),
        }
    }
    if passes {
        "ok".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, lines).into_response()
    }
}
