use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use berth_hub::{LARGE_AT_ONCE, LONGEST_RESPONSE, USUAL_RESPONSE};
use bytes::Bytes;
use futures::future::join_all;
use http::Response;
use hyper::body::{Body, Frame};
use serde_json::Value;

use super::*;

const CHUNK: usize = 16 << 10;

/// What the gate has read of responses that are not read to their end.
#[derive(Default)]
struct Held {
    now: AtomicUsize,
    most: AtomicUsize,
    responses: AtomicUsize,
}

/// A response in chunks. Each comes after all other tasks had their turn.
struct Chunked {
    held: Arc<Held>,
    rest: Bytes,
    read: usize,
    is_due: bool,
}

// === impl Chunked ===

impl Body for Chunked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        self.is_due = !self.is_due;
        if self.is_due {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let length = CHUNK.min(self.rest.len());
        let chunk = self.rest.split_to(length);
        self.read += length;
        let now = self.held.now.fetch_add(length, Ordering::Relaxed) + length;
        self.held.most.fetch_max(now, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }
}

impl Drop for Chunked {
    fn drop(&mut self) {
        self.held.now.fetch_sub(self.read, Ordering::Relaxed);
    }
}

/// A hub that responds with a text of this many bytes.
fn hub(bytes: usize) -> (Calls, Arc<Held>) {
    let held = Arc::new(Held::default());
    let body = Bytes::from(format!("\"{}\"", "x".repeat(bytes - 2)));
    let of_hub = held.clone();
    let api = HubApi::new(tower::service_fn(move |_| {
        of_hub.responses.fetch_add(1, Ordering::Relaxed);
        let body = Chunked {
            held: of_hub.clone(),
            rest: body.clone(),
            read: 0,
            is_due: false,
        };
        std::future::ready(Ok::<_, Infallible>(Response::new(body)))
    }));
    (Calls::new(api), held)
}

async fn read(calls: &Calls) -> Result<usize, String> {
    let call = Call::get("/api/v1/namespaces/n");
    let read = calls.make::<Value>("get namespaces", call, |_| false).await;
    read.map(|value| value.unwrap().as_str().unwrap().len() + 2)
}

#[tokio::test]
async fn the_responses_of_all_calls_have_a_bound_in_all() {
    const MIB: usize = 1 << 20;
    for (bytes, requests) in [(1000, 100), (USUAL_RESPONSE, 100), (2 * MIB, 200)] {
        let (calls, held) = hub(bytes);
        let answers = join_all((0..100).map(|_| read(&calls))).await;
        assert!(answers.iter().all(|it| *it == Ok(bytes)), "{answers:?}");
        assert_eq!(held.responses.load(Ordering::Relaxed), requests, "{bytes}");
        let most = held.most.load(Ordering::Relaxed);
        let bound = 100 * (USUAL_RESPONSE + CHUNK) + LARGE_AT_ONCE * bytes;
        assert!(most <= bound, "{bytes}: {most}");
    }
}

#[tokio::test]
async fn a_response_over_the_bound_of_large_ones_leaves_the_call_undecided() {
    let (calls, held) = hub(LONGEST_RESPONSE + 1);
    let answers = join_all((0..10).map(|_| read(&calls))).await;
    let why = "the hub's response to get namespaces cannot be read: it is longer than 8 MiB";
    assert!(
        answers.iter().all(|it| *it == Err(why.to_owned())),
        "{answers:?}"
    );
    let most = held.most.load(Ordering::Relaxed);
    assert!(most <= 10 * (USUAL_RESPONSE + CHUNK) + LARGE_AT_ONCE * (LONGEST_RESPONSE + CHUNK));
}
