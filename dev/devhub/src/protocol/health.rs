//! Paths that are not resources: health, version, discovery, OpenAPI.

use std::sync::Arc;

use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::protocol::answer::{self, Body};
use crate::protocol::call::Call;
use crate::protocol::discovery;
use crate::protocol::negotiate::{Accepted, Format, Transform, Transforms};
use crate::protocol::routes::{method_not_allowed, not_found};
use crate::resources::Resource;
use crate::status::ApiError;

/// Answers a request for something that is no resource.
pub(crate) fn other(call: &Call<'_>) -> Result<Response<Body>, ApiError> {
    let path = call.info.path.trim_end_matches('/');
    let reads = matches!(*call.method, Method::GET | Method::HEAD);
    let is_discovery = matches!(path.split('/').nth(1), Some("api" | "apis"));
    match path {
        "/healthz" | "/livez" | "/readyz" => Ok(health(call, path)),
        "/healthz/ping" | "/livez/ping" | "/readyz/ping" => Ok(answer::text(StatusCode::OK, "ok")),
        "" if reads => value(call, &json!({"paths": PATHS})),
        // For users, with or without credentials.
        "/version" if reads => Ok(answer::value(
            StatusCode::OK,
            Format::Json { pretty: true },
            &discovery::version(),
        )),
        _ if is_discovery && reads => discover(call, path),
        _ if path.starts_with("/openapi/") && reads => {
            let hash = call.query.first("hash");
            let served = call.world.registry.all();
            let answered = call.openapi.answer(served, path, hash, call.headers);
            Ok(answered.unwrap_or_else(not_found))
        }
        _ if path == "/version" || is_discovery => Err(method_not_allowed()),
        _ => Ok(not_found()),
    }
}

/// The paths that `/` lists.
const PATHS: [&str; 9] = [
    "/api",
    "/api/v1",
    "/apis",
    "/healthz",
    "/livez",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
];

fn value(call: &Call<'_>, value: &Value) -> Result<Response<Body>, ApiError> {
    let accepted = Accepted::negotiate(call.headers, call.query, Transforms::None)?;
    Ok(answer::value(StatusCode::OK, accepted.format, value))
}

/// What is served, in the form that the client wants.
fn discover(call: &Call<'_>, path: &str) -> Result<Response<Body>, ApiError> {
    let all = call.world.registry.all();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let whole = matches!(parts[..], ["api" | "apis"]);
    let transforms = if whole {
        Transforms::Discovery
    } else {
        Transforms::None
    };
    let accepted = Accepted::negotiate(call.headers, call.query, transforms)?;
    if let Transform::Discovery(version) = accepted.transform {
        let value = discovery::aggregated(&all, parts == ["api"], version);
        let mut response = answer::value(StatusCode::OK, accepted.format, &value);
        let content_type = format!(
            "{};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList",
            accepted.format.content_type()
        );
        if let Ok(content_type) = content_type.parse() {
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, content_type);
        }
        return Ok(vary(response));
    }
    let host = call.headers.get(header::HOST);
    let host = host.map_or("", |host| host.to_str().unwrap_or_default());
    let value = match parts[..] {
        ["api"] => Some(discovery::core_versions(host)),
        ["apis"] => Some(discovery::groups(&all)),
        ["api", version] => discovery::resources(&all, "", version),
        ["apis", group] => discovery::group(&all, group),
        ["apis", group, version] => discovery::resources(&all, group, version),
        _ => None,
    };
    match value {
        Some(value) => {
            let response = answer::value(StatusCode::OK, accepted.format, &value);
            Ok(if whole { vary(response) } else { response })
        }
        None if is_built_in(&all, &parts) => Err(ApiError::no_such_path()),
        None => Ok(not_found()),
    }
}

/// Returns true if a path of discovery leads to Kubernetes' own groups.
fn is_built_in(all: &[Arc<Resource>], parts: &[&str]) -> bool {
    match *parts {
        ["apis", group, ..] => all
            .iter()
            .any(|resource| !resource.custom && resource.group == group),
        _ => true,
    }
}

fn vary(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// A hub that answers is well.
fn health(call: &Call<'_>, path: &str) -> Response<Body> {
    if call.query.first("verbose").is_none() {
        return answer::text(StatusCode::OK, "ok");
    }
    let name = path.trim_start_matches('/');
    answer::text(StatusCode::OK, format!("[+]ping ok\n{name} check passed\n"))
}
