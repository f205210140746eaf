//! Receiving request bodies, with a bound on each body and on all bodies together.
//!
//! Small bodies have a separate budget of memory, so that they never wait for large ones.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::FutureExt;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::{Instant, timeout_at};

use crate::Payer;
use crate::room::{Full, Room, Share};

/// Bodies of this size or more (bytes) are refused: no API server sends such a request.
pub const LARGEST_BODY: usize = 7 * 1024 * 1024;

/// Bodies of this size or more (bytes) are large.
const LARGE_BODY: usize = 64 * 1024;

/// Bytes of a refused body that are read and discarded, so that its sender gets to read the response.
const DISCARDED: usize = 64 * 1024 * 1024;

/// The longest pause of a sender whose body is discarded. After it the response is sent at once.
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes of a refused body that are kept: the beginning of a review says which object it is about.
const BEGINNING: usize = 4 * 1024;

/// The memory for all bodies that are being received or answered.
#[derive(Clone, Debug)]
pub struct BodyMemory {
    small: Room,
    large: Room,
}

/// A received body. Its share of the memory is released when it is dropped.
#[derive(Debug)]
pub struct Received {
    /// Its bytes.
    pub bytes: Bytes,
    share: Share,
}

/// Why a body was not received, with the part of its beginning that arrived.
#[derive(Debug)]
pub struct NotReceived {
    /// The reason.
    pub why: Trouble,
    /// At most the first 4 KiB.
    pub beginning: Vec<u8>,
}

/// When the response to a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// After all of the request has been read: most clients of HTTP/1.1 lose a response that comes earlier.
    Behind,
    /// While the request is still arriving, as over HTTP/2.
    Beside,
}

/// The reason why a body was not received.
#[derive(Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The client broke off. Holds the error message.
    BrokeOff(String),
    /// It has [`LARGEST_BODY`] or more bytes.
    TooLarge,
    /// The memory is used up, and no slower request holds any; or this request was the slowest.
    NoRoom,
    /// It did not arrive by the deadline.
    TooSlow,
}

impl BodyMemory {
    /// Memory of `small` bytes for bodies of less than 64 KiB, and of `large` bytes for larger ones. At most `requests` of
    /// either kind arrive at the same time.
    pub fn new(small: usize, large: usize, requests: usize) -> Self {
        Self {
            small: Room::new(small, requests),
            large: Room::new(large, requests),
        }
    }

    fn of(&self, length: usize) -> &Room {
        if length < LARGE_BODY {
            &self.small
        } else {
            &self.large
        }
    }

    /// Receives a body until the deadline. Its memory is charged to a connection.
    ///
    /// # Errors
    /// The body is too large or too late, the client broke off, or the memory is used up.
    pub async fn receive(
        &self,
        mut body: Body,
        payer: Payer,
        answered: Answered,
        deadline: Instant,
    ) -> Result<Received, NotReceived> {
        let received = self.receive_from(&mut body, payer, deadline).await;
        if let Err(NotReceived { why, .. }) = &received
            && matches!(why, Trouble::TooLarge | Trouble::NoRoom)
            && answered == Answered::Behind
        {
            discard(&mut body, deadline).await;
        }
        received
    }

    async fn receive_from(
        &self,
        body: &mut Body,
        payer: Payer,
        deadline: Instant,
    ) -> Result<Received, NotReceived> {
        let mut beginning = Vec::new();
        // Nearly every body arrives in one frame, and is not copied.
        let first = body.frame().now_or_never();
        if let Some(Some(Ok(frame))) = &first
            && let Some(data) = frame.data_ref()
            && body.is_end_stream()
            && data.len() < LARGEST_BODY
        {
            let bytes = data.clone();
            return match self
                .of(bytes.len())
                .share(bytes.len(), std::time::Instant::now())
            {
                Ok(share) => Ok(Received { bytes, share }),
                Err(Full) => Err(refused(Trouble::NoRoom, &mut beginning, &bytes)),
            };
        }
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        let Ok(mut arrival) = self.of(announced).begin(payer, std::time::Instant::now()) else {
            if let Some(Some(Ok(frame))) = &first
                && let Some(data) = frame.data_ref()
            {
                keep(&mut beginning, data);
            }
            return Err(refused(Trouble::NoRoom, &mut beginning, &[]));
        };
        let mut is_large = announced >= LARGE_BODY;
        let mut next = first;
        loop {
            let frame = match next.take() {
                Some(frame) => Ok(frame),
                None => tokio::select! {
                    biased;
                    () = arrival.let_go() => return Err(refused(Trouble::NoRoom, &mut beginning, &[])),
                    frame = timeout_at(deadline, body.frame()) => frame,
                },
            };
            let data = match frame {
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => data,
                    Err(_) => continue,
                },
                Ok(None) => {
                    return match arrival.end() {
                        Some((bytes, share)) => Ok(Received {
                            bytes: bytes.into(),
                            share,
                        }),
                        None => Err(refused(Trouble::NoRoom, &mut beginning, &[])),
                    };
                }
                Ok(Some(Err(error))) => {
                    let why = Trouble::BrokeOff(error.to_string());
                    return Err(refused(why, &mut beginning, &[]));
                }
                Err(_) => return Err(refused(Trouble::TooSlow, &mut beginning, &[])),
            };
            keep(&mut beginning, &data);
            let length = arrival.length() + data.len();
            if length >= LARGEST_BODY {
                return Err(refused(Trouble::TooLarge, &mut beginning, &[]));
            }
            let taken = if length >= LARGE_BODY && !is_large {
                is_large = true;
                match arrival.moved(&self.large, std::time::Instant::now()) {
                    Ok(moved) => {
                        arrival = moved;
                        arrival.piece(&data, std::time::Instant::now())
                    }
                    Err(Full) => return Err(refused(Trouble::NoRoom, &mut beginning, &[])),
                }
            } else {
                arrival.piece(&data, std::time::Instant::now())
            };
            if taken.is_err() {
                return Err(refused(Trouble::NoRoom, &mut beginning, &[]));
            }
        }
    }

    #[cfg(test)]
    fn taken(&self) -> usize {
        self.small.taken() + self.large.taken()
    }
}

impl Received {
    /// Returns true for 64 KiB or more: such a body should be decoded where no other request waits for it.
    pub fn is_large(&self) -> bool {
        self.bytes.len() >= LARGE_BODY
    }

    /// Charges the memory that decoding takes besides the body. Returns false if the memory does not suffice.
    pub fn charge(&mut self, bytes: usize) -> bool {
        self.share.grow(bytes, std::time::Instant::now()).is_ok()
    }

    /// At most its first 4 KiB.
    pub fn beginning(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().min(BEGINNING)]
    }
}

/// Adds a piece to the beginning, up to its limit.
fn keep(beginning: &mut Vec<u8>, piece: &[u8]) {
    let missing = BEGINNING.saturating_sub(beginning.len());
    beginning.extend_from_slice(&piece[..missing.min(piece.len())]);
}

fn refused(why: Trouble, beginning: &mut Vec<u8>, piece: &[u8]) -> NotReceived {
    keep(beginning, piece);
    NotReceived {
        why,
        beginning: std::mem::take(beginning),
    }
}

/// Reads the rest of a body and discards it, until the sender pauses or the limit is reached.
async fn discard(body: &mut Body, deadline: Instant) {
    let mut left = DISCARDED;
    let until = || deadline.min(Instant::now() + PAUSE);
    while let Ok(Some(Ok(frame))) = timeout_at(until(), body.frame()).await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        if length > left {
            return;
        }
        left -= length;
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    #[tokio::test]
    async fn whatever_is_refused_keeps_its_beginning_and_no_memory() {
        const PIECE: usize = 1024 * 1024;
        // (what it is, memory, pieces, why it is refused)
        for (sentence, memory, pieces, why) in [
            ("no memory for the first piece", 1024, 2, Trouble::NoRoom),
            ("no memory for the last", PIECE, 2, Trouble::NoRoom),
            ("too large", 2 * LARGEST_BODY, 7, Trouble::TooLarge),
        ] {
            let memory = BodyMemory::new(1024, memory, 10);
            let piece = |_| Ok::<_, std::io::Error>(Frame::data(Bytes::from(vec![b'x'; PIECE])));
            let body = StreamBody::new(futures::stream::iter((0..pieces).map(piece)));
            let deadline = Instant::now() + Duration::from_secs(10);
            let refused = memory
                .receive(
                    Body::new(body),
                    Payer::default(),
                    Answered::Behind,
                    deadline,
                )
                .await
                .unwrap_err();
            assert_eq!(refused.why, why, "{sentence}");
            assert!(
                refused.beginning.starts_with(&[b'x'; BEGINNING]),
                "{sentence}"
            );
            assert_eq!(memory.taken(), 0, "{sentence}");
        }
    }

    #[tokio::test]
    async fn small_bodies_have_memory_of_their_own() {
        let memory = BodyMemory::new(64 * 1024, 64 * 1024, 10);
        let deadline = Instant::now() + Duration::from_secs(10);
        let receive = async |length: usize| {
            let body = Body::from(vec![b'x'; length]);
            memory
                .receive(body, Payer::default(), Answered::Beside, deadline)
                .await
        };
        let large = receive(64 * 1024).await.unwrap();
        assert!(large.is_large());
        assert_eq!(receive(65 * 1024).await.unwrap_err().why, Trouble::NoRoom);
        let small = receive(60 * 1024).await.unwrap();
        assert!(!small.is_large());
    }
}
