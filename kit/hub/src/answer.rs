//! Responses: read whole, or in chunks as they come.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use serde::de::DeserializeOwned;
use tower::BoxError;

use crate::asked::{Asked, Line};
use crate::error::{CallError, Cause, causes, warnings};

/// A successful response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// 200 to 299.
    pub status: StatusCode,
    /// The head.
    pub headers: HeaderMap,
    /// The body, within the call's byte bound.
    pub body: Bytes,
    /// From sending the request to the last byte of the response.
    pub took: Duration,
    pub(crate) line: Line,
}

/// The body of a successful response, in chunks. It has no deadline: the caller decides how long to wait for a chunk.
#[derive(Debug)]
pub struct Chunks {
    /// The head.
    pub headers: HeaderMap,
    pub(crate) body: ResponseBody,
    pub(crate) line: Line,
    /// Bytes after the last line.
    pub(crate) rest: BytesMut,
    pub(crate) longest_line: usize,
}

/// A body from a connection, or from a test's service.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    Incoming(Incoming),
    Boxed(UnsyncBoxBody<Bytes, BoxError>),
}

// === impl Answer ===

impl Answer {
    /// The body, read as JSON.
    ///
    /// # Errors
    /// The body is not such a value.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, CallError> {
        // The whole text at once: to check each string when it is read takes longer.
        let text =
            str::from_utf8(&self.body).map_err(|error| self.unreadable(error.to_string()))?;
        serde_json::from_str(text).map_err(|error| self.unreadable(error.to_string()))
    }

    /// The texts of the API server's warnings, safe to show.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        warnings(&self.headers)
    }

    /// The error of a body that the caller cannot use.
    pub fn unreadable(&self, why: impl Into<String>) -> CallError {
        CallError::new(self.line.asked(), Cause::Unreadable(why.into()))
    }
}

// === impl Chunks ===

impl Chunks {
    /// The next line, without its end. `None`: the body is complete. Empty lines are skipped. A watch sends one event per line.
    ///
    /// Cancel safe: bytes that were read are kept.
    ///
    /// # Errors
    /// The connection broke, or the line is longer than the call's byte bound. The rest cannot be used.
    pub async fn line(&mut self) -> Result<Option<Bytes>, CallError> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.rest[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(searched + at + 1).freeze();
                searched = 0;
                let line = line.slice(..line.len() - 1);
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            searched = self.rest.len();
            if searched > self.longest_line {
                return Err(self.failed(Cause::TooLarge(self.longest_line)));
            }
            match self.next().await {
                Some(chunk) => self.rest.extend_from_slice(&chunk?),
                None if self.rest.trim_ascii().is_empty() => return Ok(None),
                None => return Ok(Some(self.rest.split().freeze())),
            }
        }
    }

    /// What the call asked for, for messages.
    pub fn asked(&self) -> Asked {
        self.line.asked()
    }

    /// The error of a body that the caller cannot use.
    pub fn unreadable(&self, why: impl Into<String>) -> CallError {
        self.failed(Cause::Unreadable(why.into()))
    }

    fn failed(&self, cause: Cause) -> CallError {
        CallError::new(self.line.asked(), cause)
    }
}

/// The chunks that [`Chunks::line`] has not read.
impl Stream for Chunks {
    type Item = Result<Bytes, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(frame) = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx)) else {
                return Poll::Ready(None);
            };
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => return Poll::Ready(Some(Ok(data))),
                // Trailers.
                Ok(Err(_)) => {}
                Err(error) => {
                    let why = format!("the response broke off: {}", causes(&*error));
                    return Poll::Ready(Some(Err(self.failed(Cause::NoConnection(why)))));
                }
            }
        }
    }
}

// === impl ResponseBody ===

impl ResponseBody {
    pub(crate) fn boxed<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::Boxed(body.map_err(Into::into).boxed_unsync())
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Incoming(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(BoxError::from))),
            Self::Boxed(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Incoming(body) => body.is_end_stream(),
            Self::Boxed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Incoming(body) => body.size_hint(),
            Self::Boxed(body) => body.size_hint(),
        }
    }
}
