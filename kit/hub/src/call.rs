//! One request, and the words for it.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;

use crate::asked::{Asked, Line};
use crate::error::{CallError, Cause};

/// The body of a request.
pub type RequestBody = Full<Bytes>;

/// `Content-Type` of a server-side apply.
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// `Content-Type` of a JSON merge patch (RFC 7386).
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// `Content-Type` of a JSON patch (RFC 6902).
pub const JSON_PATCH: &str = "application/json-patch+json";
/// `Accept` and `Content-Type` of plain JSON.
pub const JSON: &str = "application/json";
/// `Accept` for the metadata of an object.
pub const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// `Accept` for the metadata of the objects of a list.
pub const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// `Content-Type` of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// The deadline of a call that sets no other.
const WITHIN: Duration = Duration::from_secs(15);

/// The byte bound of a call that sets no other. An object is smaller: etcd takes 1.5 MiB.
const AT_MOST: usize = 8 << 20;

/// A request to an API server: a method, a path with its query, a body, a deadline, and a byte bound of the response.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) line: Line,
    accept: HeaderValue,
    content_type: Option<HeaderValue>,
    body: Bytes,
    headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) within: Duration,
    pub(crate) at_most: usize,
}

// === impl Call ===

impl Call {
    /// A call of this method. The path begins with a slash and includes the query.
    pub fn new(method: Method, path: impl Into<Cow<'static, str>>) -> Self {
        Self {
            line: Line {
                method,
                path: path.into(),
            },
            accept: HeaderValue::from_static(JSON),
            content_type: None,
            body: Bytes::new(),
            headers: Vec::new(),
            within: WITHIN,
            at_most: AT_MOST,
        }
    }

    /// Reads an object, a list, a watch, or any other path.
    pub fn get(path: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Creates an object from JSON.
    pub fn post(path: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, path).with_body(JSON, body)
    }

    /// Replaces an object by JSON.
    pub fn put(path: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Self::new(Method::PUT, path).with_body(JSON, body)
    }

    /// Patches an object. `content_type` is one of [`APPLY_PATCH`], [`MERGE_PATCH`] and [`JSON_PATCH`].
    pub fn patch(
        path: impl Into<Cow<'static, str>>,
        content_type: &'static str,
        body: impl Into<Bytes>,
    ) -> Self {
        Self::new(Method::PATCH, path).with_body(content_type, body)
    }

    /// Deletes an object. `options`: a DeleteOptions in JSON, or nothing.
    pub fn delete(path: impl Into<Cow<'static, str>>, options: impl Into<Bytes>) -> Self {
        let options = options.into();
        let call = Self::new(Method::DELETE, path);
        if options.is_empty() {
            return call;
        }
        call.with_body(JSON, options)
    }

    /// Posts a form, to a server that is no API server.
    pub fn post_form(path: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, path).with_body(FORM, body)
    }

    fn with_body(self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            content_type: Some(HeaderValue::from_static(content_type)),
            body: body.into(),
            ..self
        }
    }

    /// Sets the deadline: from the call to the last byte of its response, or of a stream to the head. The default is 15 s.
    pub fn within(self, within: Duration) -> Self {
        Self { within, ..self }
    }

    /// Sets the byte bound of the response's body, or of a stream that of a line ([`Chunks::line`](crate::Chunks::line)). The
    /// default is 8 MiB.
    pub fn at_most(self, bytes: usize) -> Self {
        Self {
            at_most: bytes,
            ..self
        }
    }

    /// Sets `Accept`, such as [`METADATA`]. The default is plain JSON.
    pub fn accept(self, accept: &'static str) -> Self {
        Self {
            accept: HeaderValue::from_static(accept),
            ..self
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The path and its query.
    pub fn path(&self) -> &str {
        &self.line.path
    }

    /// What the call asks for, for messages.
    pub fn asked(&self) -> Asked {
        self.line.asked()
    }

    /// The error of a call that is not sent, for example because the term of a Lease is over.
    pub fn not_sent(&self, why: impl Into<String>) -> CallError {
        CallError::new(self.asked(), Cause::NotSent(why.into()))
    }

    pub(crate) fn request(&self) -> Result<Request<RequestBody>, http::Error> {
        let mut request = Request::builder()
            .method(self.line.method.clone())
            .uri(&*self.line.path)
            .header(ACCEPT, &self.accept);
        if let Some(content_type) = &self.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(self.body.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_as_a_role_would_grant_it() {
        const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
        let rows = [
            (
                Call::get(format!("{CLUSTERS}/c1")),
                "get managedclusters.cluster.open-cluster-management.io c1",
            ),
            (
                Call::get(format!("{CLUSTERS}?limit=500")),
                "list managedclusters.cluster.open-cluster-management.io",
            ),
            (
                Call::get(format!("{CLUSTERS}?watch=true&resourceVersion=1")),
                "watch managedclusters.cluster.open-cluster-management.io",
            ),
            (
                Call::patch(format!("{CLUSTERS}/c1/status?force=true"), MERGE_PATCH, ""),
                "patch managedclusters/status.cluster.open-cluster-management.io c1",
            ),
            (Call::post("/api/v1/namespaces", "{}"), "create namespaces"),
            (Call::get("/api/v1/namespaces/c1"), "get namespaces c1"),
            (
                Call::put("/api/v1/namespaces/c1/finalize", "{}"),
                "update namespaces/finalize c1",
            ),
            (
                Call::delete("/api/v1/namespaces/c1/secrets/s", ""),
                "delete secrets c1/s",
            ),
            (
                Call::delete("/api/v1/namespaces/c1/secrets", ""),
                "deletecollection secrets in c1",
            ),
            (Call::get("/version"), "get /version"),
        ];
        for (call, words) in rows {
            assert_eq!(call.asked().to_string(), words);
        }
    }
}
