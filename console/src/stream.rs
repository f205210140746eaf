//! Streams of events to pages (SSE).
//!
//! | Event | Data |
//! |---|---|
//! | `hub` | [`HubAnswer`](crate::answers::HubAnswer), first and whenever it changes |
//! | `window` | [`Window`](crate::answers::Window), the first answer of `screen=clusters` |
//! | `delta` | [`Delta`](crate::answers::Delta), what has changed since |
//! | `answer` | the whole answer of the other screens, first and whenever it changes |
//! | `failure` | [`ErrorAnswer`](crate::answers::ErrorAnswer): why there is no answer, such as a bad query, or a cluster that does not exist |
//!
//! # Guarantees
//! - A slow client costs one window: the next events are made when it has read those before.
//! - A stream ends with its session, and with the server.

mod answering;
pub(crate) mod cluster;
mod clusters;
mod fleet;
mod health;
mod paced;
pub(crate) mod placements;
mod refusal;
pub(crate) mod requests;
pub(crate) mod sets;
mod table;
mod timeline;
mod works;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::unfold;
use serde::Serialize;
use tokio::sync::watch;

use answering::{Answer, answered, at_once, loading_or_first};
pub(crate) use answering::{Answering, Answers, Changes};
pub(crate) use table::begin;

use crate::answers::{ErrorAnswer, HubAnswer};
use crate::server::Server;
use crate::sessions::{NoStream, SessionId};

/// A silent stream gets a comment this often.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The shortest pause between two looks at what has changed.
const PAUSE: Duration = Duration::from_millis(200);

/// An event: its name, and its data as JSON.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Told {
    name: &'static str,
    json: String,
}

/// What a screen tells.
pub(crate) trait Screen: Send + 'static {
    /// Waits until something may have changed. Nothing is lost when it is dropped.
    fn changed(&mut self) -> BoxFuture<'_, ()>;

    /// Returns what has changed since the last time; all of it for the first time.
    fn look(&mut self) -> BoxFuture<'_, Vec<Told>>;
}

/// A screen that only says why it has no answer.
pub(crate) struct Unanswered(pub(crate) Option<ErrorAnswer>);

/// A stream that is counted for its session.
struct Counted {
    server: Arc<Server>,
    session: SessionId,
}

struct Running {
    screen: Box<dyn Screen>,
    counted: Counted,
    session_ends: watch::Receiver<u64>,
    waiting: VecDeque<Told>,
    has_looked: bool,
    next_id: u64,
}

/// Returns the stream of a screen.
///
/// # Errors
/// The session has too many streams.
pub(crate) fn stream(
    server: &Arc<Server>,
    session: SessionId,
    screen: Box<dyn Screen>,
) -> Result<Response, NoStream> {
    server.sessions().stream_begins(session)?;
    let running = Running {
        screen,
        counted: Counted {
            server: Arc::clone(server),
            session,
        },
        session_ends: server.session_ends.subscribe(),
        waiting: VecDeque::new(),
        has_looked: false,
        next_id: 0,
    };
    let sse = Sse::new(events(running)).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    Ok(sse.into_response())
}

fn events(running: Running) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(running, async |mut running| {
        let told = running.next().await?;
        let event = Event::default()
            .event(told.name)
            .id(running.next_id.to_string())
            .data(told.json);
        running.next_id += 1;
        Some((Ok(event), running))
    })
}

// === impl Running ===

impl Running {
    async fn next(&mut self) -> Option<Told> {
        let server = Arc::clone(&self.counted.server);
        loop {
            if server.tasks.end.is_cancelled()
                || !server
                    .sessions()
                    .lives(self.counted.session, Instant::now())
            {
                return None;
            }
            if let Some(told) = self.waiting.pop_front() {
                return Some(told);
            }
            // Ends of sessions are seen while the screen waits, and while it looks.
            let session_ends = &mut self.session_ends;
            let screen = &mut self.screen;
            let has_looked = std::mem::replace(&mut self.has_looked, true);
            let look = async {
                if has_looked {
                    screen.changed().await;
                    tokio::time::sleep(PAUSE).await;
                }
                screen.look().await
            };
            tokio::select! {
                told = look => self.waiting.extend(told),
                ended = session_ends.changed() => ended.ok()?,
                () = server.tasks.end.cancelled() => return None,
            }
        }
    }
}

// === impl Told ===

impl Told {
    pub(crate) fn new(name: &'static str, data: &impl Serialize) -> Self {
        Self {
            name,
            // Answers have text as keys only.
            json: serde_json::to_string(data).unwrap_or_default(),
        }
    }
}

// === impl Unanswered ===

impl Screen for Unanswered {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn look(&mut self) -> BoxFuture<'_, Vec<Told>> {
        let told = self.0.take();
        Box::pin(async move { told.iter().map(|it| Told::new("failure", it)).collect() })
    }
}

// === impl Counted ===

impl Drop for Counted {
    fn drop(&mut self) {
        self.server
            .sessions()
            .stream_ends(self.session, Instant::now());
    }
}

/// Returns the event `hub` if the connection differs from the one told before.
fn hub_event(told: &mut Option<HubAnswer>, now: &HubAnswer) -> Option<Told> {
    if told.as_ref() == Some(now) {
        return None;
    }
    *told = Some(now.clone());
    Some(Told::new("hub", now))
}
