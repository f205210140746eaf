//! The endpoints of every server: health, readiness and metrics, with the paths and names of controller-runtime.

use std::time::Instant;

use axum::Router;
use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;

use crate::Turns;
use crate::metrics;

/// A check of health or readiness: its name, and why it passes or fails. The text may be empty.
pub type Check = (&'static str, Result<String, String>);

/// `/healthz` and `/livez`, which respond with 200 while the threads turn, and `/readyz`, which responds with 200 if all checks pass.
///
/// The checks run for every request. With `?verbose` they are shown also if they pass, as in Kubernetes' components.
pub fn health<C, F>(turns: Turns, checks: impl Fn() -> F + Clone + Send + Sync + 'static) -> Router
where
    C: IntoIterator<Item = Check>,
    F: Future<Output = C> + Send + 'static,
{
    let alive = |name: &'static str| {
        let turns = turns.clone();
        get(async move |RawQuery(query): RawQuery| shown(name, turns.checks(Instant::now()), query))
    };
    let ready = move |RawQuery(query): RawQuery| {
        let checks = checks();
        async move { shown("readyz", checks.await, query) }
    };
    Router::new()
        .route("/healthz", alive("healthz"))
        .route("/healthz/healthz-ping", get(async || "ok"))
        .route("/livez", alive("livez"))
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

fn is_verbose(parameter: &str) -> bool {
    matches!(parameter, "verbose" | "verbose=" | "verbose=true")
}

fn shown(name: &str, checks: impl IntoIterator<Item = Check>, query: Option<String>) -> Response {
    let is_verbose = query.is_some_and(|it| it.split('&').any(is_verbose));
    let (mut lines, mut passes) = (String::new(), true);
    for (check, outcome) in checks {
        passes &= outcome.is_ok();
        let (sign, word, why) = match outcome {
            Ok(why) => ('+', "ok", why),
            Err(why) => ('-', "failed", why),
        };
        lines.push_str(&format!("[{sign}]{check} {word}"));
        if !why.is_empty() {
            lines.push_str(&format!(": {why}"));
        }
        lines.push('\n');
    }
    match passes {
        true if is_verbose => (lines + &format!("{name} check passed\n")).into_response(),
        true => "ok".into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, lines).into_response(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use axum::body::to_bytes;
    use http::Request;
    use tower::ServiceExt;

    use super::*;

    async fn asked(router: Router, path: &str) -> (u16, String) {
        let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1000).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn readiness_says_why_when_it_fails_or_is_asked() {
        let good = || async {
            [
                ("a", Ok(String::new())),
                ("b", Ok("waiting for c".to_owned())),
            ]
        };
        let bad = || async { [("a", Ok(String::new())), ("b", Err("no d".to_owned()))] };
        let lines = "[+]a ok\n[+]b ok: waiting for c\nreadyz check passed\n";
        for (path, status, body) in [
            ("/readyz", 200, "ok"),
            ("/readyz?verbose", 200, lines),
            ("/readyz?x=1&verbose=true", 200, lines),
            ("/readyz?verbosely", 200, "ok"),
            ("/livez", 200, "ok"),
            ("/livez?verbose", 200, "livez check passed\n"),
        ] {
            let answer = asked(health(Turns::default(), good), path).await;
            assert_eq!(answer, (status, body.to_owned()), "{path}");
        }
        for path in ["/readyz", "/readyz?verbose"] {
            let answer = asked(health(Turns::default(), bad), path).await;
            let lines = "[+]a ok\n[-]b failed: no d\n";
            assert_eq!(answer, (503, lines.to_owned()), "{path}");
        }
        let router = health(Turns::default(), bad);
        assert_eq!(asked(router, "/healthz").await.0, 200);
    }
}
