//! Serves the paths below `/openapi`.

use std::sync::{Arc, Mutex, PoisonError};

use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode};

use super::{Made, OpenApi};
use crate::protocol::answer::{self, Body};
use crate::resources::Resource;

/// All resources at one time, as the registry gives them.
type Served = Arc<Vec<Arc<Resource>>>;

/// The documents for what was served last.
#[derive(Debug, Default)]
pub(crate) struct Documents(Mutex<Option<(Served, Arc<OpenApi>)>>);

impl Documents {
    /// The documents for what is served.
    fn of(&self, served: Served) -> Arc<OpenApi> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((of, documents)) if Arc::ptr_eq(of, &served) => Arc::clone(documents),
            other => {
                let before = other.as_ref().map(|(_, documents)| documents.as_ref());
                let documents = Arc::new(OpenApi::of(&served, before));
                *last = Some((served, Arc::clone(&documents)));
                documents
            }
        }
    }

    /// Answers a GET; none for a path with nothing behind it. `hash` is the parameter of that name.
    pub(crate) fn answer(
        &self,
        served: Served,
        path: &str,
        hash: Option<&str>,
        headers: &HeaderMap,
    ) -> Option<Response<Body>> {
        let path = path.strip_prefix("/openapi/")?.trim_end_matches('/');
        let documents = self.of(served);
        let document = match path.strip_prefix("v3/") {
            Some(path) => Some(documents.document(path)?),
            None => None,
        };
        if path == "v2" && accepts(headers, &PROTOBUF) {
            let content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
            return Some(sent(bytes::Bytes::from_static(V2), content_type));
        }
        if !accepts(headers, &JSON) {
            return Some(empty(StatusCode::NOT_ACCEPTABLE));
        }
        match (path, document) {
            ("v3", _) => Some(json(documents.index())),
            (path, Some(document)) => Some(one(path, document, hash, headers)),
            _ => None,
        }
    }
}

fn one(path: &str, document: &Made, hash: Option<&str>, headers: &HeaderMap) -> Response<Body> {
    let tag = format!("{:?}", document.hash);
    let is_same = hash.is_some_and(|hash| hash == document.hash);
    let known = headers.get(header::IF_NONE_MATCH);
    let mut response = if hash.is_some() && !is_same {
        let mut moved = empty(StatusCode::MOVED_PERMANENTLY);
        let to = format!("/openapi/{path}?hash={}", document.hash);
        set(&mut moved, header::LOCATION, &to);
        moved
    } else if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        empty(StatusCode::NOT_MODIFIED)
    } else {
        json(document.body.clone())
    };
    set(&mut response, header::ETAG, &tag);
    // What is named by its hash never changes.
    let keep = if is_same {
        "public, immutable"
    } else {
        "no-cache, private"
    };
    set(&mut response, header::CACHE_CONTROL, keep);
    response
}

const JSON: [&str; 3] = ["application/json", "application/*", "*/*"];

/// An empty document of version 2, as protobuf: `swagger: "2.0"` and an `info` with title and version.
const V2: &[u8] = b"\n\x032.0\x12\x19\n\nKubernetes\x12\x0bunversioned";
/// The names of version 2 as protobuf. Version 3, which Kubernetes has in it as well, devhub has not.
const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

/// Returns true if one of these types will do. Where none is named, JSON will.
fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
    if accepted.peek().is_none() {
        return types.contains(&"*/*");
    }
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .any(|range| types.contains(&range.trim()))
}

fn json(body: bytes::Bytes) -> Response<Body> {
    sent(body, "application/json")
}

fn sent(body: bytes::Bytes, content_type: &str) -> Response<Body> {
    let mut response = Response::new(answer::full(body));
    set(&mut response, header::CONTENT_TYPE, content_type);
    set(&mut response, header::VARY, "Accept");
    response
}

fn empty(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(answer::full(bytes::Bytes::new()));
    *response.status_mut() = code;
    response
}

fn set(response: &mut Response<Body>, name: header::HeaderName, value: &str) {
    // Hashes and paths of API groups are ASCII.
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
