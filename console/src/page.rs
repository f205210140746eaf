//! The page: files that are embedded in the executable, and the headers of every response.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// What a page may load: files of this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A file of the page.
struct Asset {
    /// Its name in the URL. The page names a file with a digest of its content as the query.
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

/// The page itself.
const INDEX: Asset = Asset {
    name: "index.html",
    content_type: "text/html; charset=utf-8",
    bytes: include_bytes!("../web/dist/index.html"),
};

/// The files that the page loads.
const ASSETS: [Asset; 2] = [
    Asset {
        name: "main.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../web/dist/main.js"),
    },
    Asset {
        name: "style.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../web/dist/style.css"),
    },
];

/// The page itself, for every path: the page reads the path.
pub(crate) fn index() -> Response {
    respond(&INDEX, "no-cache")
}

/// A file that the page loads.
pub(crate) fn asset(name: &str) -> Option<Response> {
    let asset = ASSETS.iter().find(|it| it.name == name)?;
    Some(respond(asset, "public, max-age=31536000, immutable"))
}

fn respond(asset: &Asset, caching: &'static str) -> Response {
    let mut response = Response::new(Body::from(Bytes::from_static(asset.bytes)));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    response
}

/// Returns the paths of the files that the page names.
#[cfg(test)]
pub(crate) fn named() -> Vec<String> {
    let index = String::from_utf8_lossy(INDEX.bytes);
    let named = index.split('"').filter(|it| it.starts_with("/assets/"));
    named.map(str::to_owned).collect()
}

/// Adds the headers of every response.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
