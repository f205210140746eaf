//! Responses: an object, a list, a table or an error, in the negotiated form.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use serde::Serialize;
use serde_json::{Value, json};

use crate::object::Object;
use crate::protocol::negotiate::{Accepted, Format, MetaVersion, Transforms};
use crate::protocol::query::Query;
use crate::status::ApiError;

/// The body of any answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The most bytes of small pieces that are sent together.
const CHUNK: usize = 64 * 1024;

/// The most characters of all Warning headers of a response; the rest is cut.
const WARNINGS_MAX: usize = 4 * 1024;

/// A body of these bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// An answer in plain text.
pub(crate) fn text(code: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut response = Response::new(full(text.into()));
    *response.status_mut() = code;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// An answer with any value.
pub(crate) fn value(code: StatusCode, format: Format, value: &impl Serialize) -> Response<Body> {
    bytes(code, format, full(encode(format, value)))
}

/// An answer whose bytes are in this format already.
pub(crate) fn bytes(code: StatusCode, format: Format, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(format.content_type()),
    );
    response
}

/// A value in a format.
pub(crate) fn encode(format: Format, value: &impl Serialize) -> Vec<u8> {
    // Values come from JSON, and can become it again.
    match format {
        Format::Json { pretty: false } => {
            let mut bytes = serde_json::to_vec(value).unwrap_or_default();
            bytes.push(b'\n');
            bytes
        }
        Format::Json { pretty: true } => serde_json::to_vec_pretty(value).unwrap_or_default(),
        Format::Yaml => serde_saphyr::to_string(value)
            .unwrap_or_default()
            .into_bytes(),
    }
}

/// An error, in the form that suits the client, or else in JSON.
pub(crate) fn error(error: &ApiError, headers: &HeaderMap, query: &Query) -> Response<Body> {
    let accepted = Accepted::negotiate(headers, query, Transforms::None);
    let format = accepted.map_or(Format::Json { pretty: true }, |accepted| accepted.format);
    let mut response = value(error.code, format, &error.status());
    let seconds = error.details.as_ref();
    let seconds = seconds.map_or(0, |details| details.retry_after_seconds);
    if seconds > 0 {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Adds Warning headers: each text once, escaped, and cut if there are too many.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    let mut told: Vec<&str> = Vec::new();
    for warning in warnings {
        if !warning.is_empty() && !told.contains(&warning.as_str()) {
            told.push(warning);
        }
    }
    let mut left = WARNINGS_MAX;
    for text in told {
        let text: String = text.chars().take(left).collect();
        left -= text.chars().count();
        // What has control characters is no header, and is left out.
        if !text.is_empty()
            && !text.chars().any(char::is_control)
            && let Ok(value) = HeaderValue::from_bytes(warning_header(&text).as_bytes())
        {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

fn warning_header(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("299 - \"{escaped}\"")
}

/// An object's metadata alone.
pub(crate) fn metadata(version: MetaVersion, object: &Object) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version.api_version(),
        "metadata": object.at(&["metadata"]).cloned().unwrap_or_else(|| json!({})),
    })
}

/// A body of known length, of pieces that are shared and not copied before they are sent.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: VecDeque<Bytes>,
    length: u64,
}

impl Pieces {
    /// Adds a piece at the end.
    pub(crate) fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.length += piece.len() as u64;
            self.pieces.push_back(piece);
        }
    }

    /// As a body.
    pub(crate) fn into_body(self) -> Body {
        self.boxed_unsync()
    }

    fn next(&mut self) -> Option<Bytes> {
        let first = self.pieces.pop_front()?;
        let mut chunk = first;
        if chunk.len() < CHUNK && !self.pieces.is_empty() {
            let mut joined = BytesMut::with_capacity(CHUNK);
            joined.extend_from_slice(&chunk);
            while let Some(piece) = self
                .pieces
                .pop_front_if(|piece| joined.len() + piece.len() <= CHUNK)
            {
                joined.extend_from_slice(&piece);
            }
            chunk = joined.freeze();
        }
        self.length -= chunk.len() as u64;
        Some(chunk)
    }
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = self.get_mut().next();
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::status::Details;

    #[test]
    fn warnings_are_escaped_and_told_once() {
        let mut response = text(StatusCode::OK, "");
        let warnings = ["say \"a\\b\"", "say \"a\\b\"", "", "line\nbreak", "é"].map(str::to_owned);
        warn(&mut response, &warnings);
        let told = response.headers().get_all(header::WARNING);
        let told: Vec<_> = told
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        assert_eq!(told, ["299 - \"say \\\"a\\\\b\\\"\"", "299 - \"é\""]);
    }

    #[test]
    fn too_many_warnings_are_cut() {
        let mut response = text(StatusCode::OK, "");
        let warnings: Vec<_> = (0..30)
            .map(|i| format!("{i:02}{}", "x".repeat(998)))
            .collect();
        warn(&mut response, &warnings);
        let told: Vec<_> = response.headers().get_all(header::WARNING).iter().collect();
        assert_eq!(told.len(), 5);
        assert_eq!(told[0].len(), "299 - \"\"".len() + 1000);
    }

    #[tokio::test]
    async fn pieces_come_in_order_and_have_a_length() {
        let mut pieces = Pieces::default();
        let mut whole = Vec::new();
        for i in 0..300_usize {
            let piece = vec![
                u8::try_from(i % 251).unwrap();
                (i * 37) % 1000 + usize::from(i == 100) * CHUNK
            ];
            whole.extend_from_slice(&piece);
            pieces.push(piece);
        }
        assert_eq!(pieces.size_hint().exact(), Some(whole.len() as u64));
        let collected = pieces.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(collected, whole);
    }

    #[tokio::test]
    async fn an_error_says_when_to_come_again() {
        let mut busy = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "busy");
        busy.details = Some(Details {
            retry_after_seconds: 1,
            ..Details::default()
        });
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, "text/html".parse().unwrap());
        let response = error(&busy, &headers, &Query::default());
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let status: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(status["details"]["retryAfterSeconds"], 1);
    }
}
