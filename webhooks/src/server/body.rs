//! Request bodies: bounded each, and all together.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::review::RefusalKind;

/// Bodies of this many bytes and more are refused: no API server sends such a review.
pub const LARGEST_BODY: usize = 7 * 1024 * 1024;

/// How much of a body that is refused is read and thrown away, so that its sender gets to read the answer.
const DISCARDED: usize = 64 * 1024 * 1024;

/// How much of a body that is refused is kept in any case: the uid is near its beginning.
const BEGINNING: usize = 4 * 1024;

/// Memory for all bodies that are being received.
#[derive(Clone, Debug)]
pub(super) struct BodyMemory(Arc<Semaphore>);

/// A received body; its share of the memory is given back when it is dropped.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) bytes: Bytes,
    _share: Option<OwnedSemaphorePermit>,
}

/// Why a body was not received; with what there was of it, in which the uid may be.
#[derive(Debug)]
pub(super) struct NotReceived {
    pub(super) kind: RefusalKind,
    pub(super) message: String,
    pub(super) beginning: Vec<u8>,
}

impl BodyMemory {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// Receives a body until the deadline.
    pub(super) async fn receive(
        &self,
        mut body: Body,
        deadline: Instant,
    ) -> Result<Received, NotReceived> {
        let mut parts = Parts {
            bytes: Vec::new(),
            share: None,
        };
        loop {
            let frame = match timeout_at(deadline, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => {
                    return Ok(Received {
                        bytes: parts.bytes.into(),
                        _share: parts.share,
                    });
                }
                Ok(Some(Err(error))) => {
                    return Err(parts.refused(
                        RefusalKind::Undecodable,
                        format!("request body broke off: {error}"),
                    ));
                }
                Err(_) => {
                    let message = "the review did not arrive in time: this is no denial, try again";
                    return Err(parts.refused(RefusalKind::TooSlow, message));
                }
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            // Nearly every review comes in one piece, and is taken as it is.
            if parts.bytes.is_empty() && body.is_end_stream() && data.len() < LARGEST_BODY {
                return Ok(Received {
                    bytes: data,
                    _share: None,
                });
            }
            if parts.bytes.len() + data.len() >= LARGEST_BODY {
                let message = format!("request entity is too large; limit is {LARGEST_BODY} bytes");
                let refused = parts.refused_with(RefusalKind::TooLarge, message, &data);
                discard(body, deadline).await;
                return Err(refused);
            }
            if !parts.take_share(&self.0, data.len()) {
                let message = "too many large reviews at once: this is no denial, try again";
                let refused = parts.refused_with(RefusalKind::TooBusy, message, &data);
                discard(body, deadline).await;
                return Err(refused);
            }
            parts.bytes.extend_from_slice(&data);
        }
    }
}

/// A body that comes in several pieces.
struct Parts {
    bytes: Vec<u8>,
    share: Option<OwnedSemaphorePermit>,
}

impl Parts {
    fn take_share(&mut self, memory: &Arc<Semaphore>, bytes: usize) -> bool {
        let share = u32::try_from(bytes)
            .ok()
            .and_then(|bytes| Arc::clone(memory).try_acquire_many_owned(bytes).ok());
        match (&mut self.share, share) {
            (_, None) => return false,
            (Some(own), Some(share)) => own.merge(share),
            (own, share) => *own = share,
        }
        true
    }

    /// Refused because of a piece that is too much, even if it is the first.
    fn refused_with(
        mut self,
        kind: RefusalKind,
        message: impl Into<String>,
        piece: &[u8],
    ) -> NotReceived {
        let missing = BEGINNING.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&piece[..missing.min(piece.len())]);
        self.refused(kind, message)
    }

    fn refused(self, kind: RefusalKind, message: impl Into<String>) -> NotReceived {
        NotReceived {
            kind,
            message: message.into(),
            beginning: self.bytes,
        }
    }
}

/// Reads what is left of a body and throws it away: an answer that overtakes the request is lost to most clients.
async fn discard(mut body: Body, deadline: Instant) {
    let mut left = DISCARDED;
    while let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        if length > left {
            return;
        }
        left -= length;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    #[tokio::test]
    async fn whatever_is_refused_keeps_its_beginning_and_no_memory() {
        const PIECE: usize = 1024 * 1024;
        // (what it is, memory, pieces, why it is refused)
        for (sentence, memory, pieces, kind) in [
            (
                "no memory for the first piece",
                1024,
                2,
                RefusalKind::TooBusy,
            ),
            ("no memory for the last", PIECE, 2, RefusalKind::TooBusy),
            ("too large", 2 * LARGEST_BODY, 7, RefusalKind::TooLarge),
        ] {
            let memory = BodyMemory::new(memory);
            let all = memory.0.available_permits();
            let piece = |_| Ok::<_, std::io::Error>(Frame::data(Bytes::from(vec![b'x'; PIECE])));
            let body = StreamBody::new(futures::stream::iter((0..pieces).map(piece)));
            let deadline = Instant::now() + Duration::from_secs(10);
            let refused = memory.receive(Body::new(body), deadline).await.unwrap_err();
            assert_eq!(refused.kind, kind, "{sentence}");
            assert!(
                refused.beginning.starts_with(&[b'x'; BEGINNING]),
                "{sentence}"
            );
            assert_eq!(memory.0.available_permits(), all, "{sentence}");
        }
    }
}
