//! The page: files that are embedded in the executable, and the headers of every response.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use miniz_oxide::inflate::decompress_to_vec;

/// What a page may load: files of this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Sizes of the header without a name and of the trailer of gzip (RFC 1952, 2.3).
const GZIP_HEADER: usize = 10;
const GZIP_TRAILER: usize = 8;

/// The page itself.
const INDEX: &[u8] = include_bytes!("../web/dist/index.html");

/// A file that the page loads.
struct Asset {
    /// Its name in the URL. The page names a file with a digest of its content as the query.
    name: &'static str,
    content_type: &'static str,
    gzip: &'static [u8],
}

/// The files that the page loads.
const ASSETS: [Asset; 2] = [
    Asset {
        name: "main.js",
        content_type: "text/javascript; charset=utf-8",
        gzip: include_bytes!(concat!(env!("OUT_DIR"), "/main.js.gz")),
    },
    Asset {
        name: "style.css",
        content_type: "text/css; charset=utf-8",
        gzip: include_bytes!(concat!(env!("OUT_DIR"), "/style.css.gz")),
    },
];

/// The page itself, for every path: the page reads the path.
pub(crate) fn index() -> Response {
    respond(
        Bytes::from_static(INDEX),
        "text/html; charset=utf-8",
        "no-cache",
    )
}

/// A file that the page loads, for a request with these headers.
pub(crate) fn asset(name: &str, request: &HeaderMap) -> Option<Response> {
    let asset = ASSETS.iter().find(|it| it.name == name)?;
    let is_compressed = accepts_gzip(request);
    let bytes = match is_compressed {
        true => Bytes::from_static(asset.gzip),
        false => asset.plain(),
    };
    let caching = "public, max-age=31536000, immutable";
    let mut response = respond(bytes, asset.content_type, caching);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from(ACCEPT_ENCODING));
    if is_compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Some(response)
}

/// Whether the client takes gzip, by `Accept-Encoding` (RFC 9110, 12.5.3).
fn accepts_gzip(request: &HeaderMap) -> bool {
    let values = request.get_all(ACCEPT_ENCODING).into_iter();
    let mut codings = values
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").map(str::parse);
        name.trim().eq_ignore_ascii_case("gzip") && weight != Some(Ok(0.0))
    })
}

fn respond(bytes: Bytes, content_type: &'static str, caching: &'static str) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    response
}

// === impl Asset ===

impl Asset {
    /// The file as it is, for the few clients that do not take gzip.
    fn plain(&self) -> Bytes {
        let deflated = &self.gzip[GZIP_HEADER..self.gzip.len() - GZIP_TRAILER];
        // Our build has compressed it.
        decompress_to_vec(deflated).unwrap_or_default().into()
    }
}

/// Returns the paths of the files that the page names.
#[cfg(test)]
pub(crate) fn named() -> Vec<String> {
    let index = String::from_utf8_lossy(INDEX);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_for_those_who_take_it() {
        for (header, accepts) in [
            ("", false),
            ("identity", false),
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip, deflate, br, zstd", true),
            ("gzip;q=0, br", false),
            ("gzip; q=0.0", false),
            ("gzip;q=x", true),
            ("xgzip", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(header));
            assert_eq!(accepts_gzip(&headers), accepts, "{header}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn a_file_without_compression_is_the_one_of_the_build() {
        for asset in &ASSETS {
            let built = format!("{}/web/dist/{}", env!("CARGO_MANIFEST_DIR"), asset.name);
            assert_eq!(asset.plain(), std::fs::read(built).unwrap());
        }
    }
}
