//! The open connections of a listener, and which of them are closed.
//!
//! One sweep a second checks all connections, so that a request needs no timer. The sweep closes connections whose handshake
//! or request stalls, and connections that are idle for too long. When the limit of connections is reached, the least useful
//! connection is closed: first those that never sent a whole request, and of these the one that has been inactive for the
//! longest time. So idle connections and slow requests, even in large numbers, do not keep an API server out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use crate::Limits;
use crate::metrics::{Closed, ConnectionMetrics};

/// All connections of a listener.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: Limits,
    metrics: Option<ConnectionMetrics>,
    began: Instant,
    all: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
}

/// What is known about one connection.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u64,
    began: Instant,
    phase: AtomicU8,
    /// Milliseconds from `began` to the beginning of the phase.
    since: AtomicU64,
    /// Requests under way: with HTTP/2 there may be several.
    requests: AtomicUsize,
    /// Requests under way whose body has not arrived completely.
    arriving: AtomicUsize,
    /// True once it has sent a whole request.
    proved: AtomicBool,
    /// True once the server has closed it.
    gone: AtomicBool,
    /// The task that serves it.
    task: OnceLock<AbortHandle>,
}

const HANDSHAKE: u8 = 0;
/// Between requests.
const IDLE: u8 = 1;
/// A part of a request's header has arrived.
const HEADER: u8 = 2;
/// A request's body is arriving. The deadline of the request bounds this phase.
const BODY: u8 = 3;
/// A request is being answered. The deadline of the request bounds this phase.
const ANSWER: u8 = 4;

// === impl Connections ===

impl Connections {
    pub(crate) fn new(limits: Limits, metrics: Option<ConnectionMetrics>) -> Arc<Self> {
        let all = Mutex::default();
        Arc::new(Self {
            limits,
            metrics,
            began: Instant::now(),
            all,
            next: AtomicU64::new(0),
        })
    }

    /// A place for a new connection. At the limit another connection is closed for it; `None` if all others are at work.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Place> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= self.limits.connections && !self.evict_from(&mut all) {
            self.count(Closed::Refused);
            return None;
        }
        let connection = Arc::new(Connection {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            began: self.began,
            phase: AtomicU8::new(HANDSHAKE),
            since: AtomicU64::new(milliseconds(self.began.elapsed())),
            requests: AtomicUsize::new(0),
            arriving: AtomicUsize::new(0),
            proved: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            task: OnceLock::new(),
        });
        all.insert(connection.id, Arc::clone(&connection));
        self.gauge(all.len());
        Some(Place {
            connection,
            connections: Arc::clone(self),
        })
    }

    /// Returns true if no client is connected.
    pub(crate) fn is_empty(&self) -> bool {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.is_empty()
    }

    /// Closes the least useful connection. Returns false if all connections are at work.
    pub(crate) fn evict(&self) -> bool {
        self.evict_from(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn evict_from(&self, all: &mut HashMap<u64, Arc<Connection>>) -> bool {
        let least = all
            .values()
            .filter(|connection| !connection.is_at_work())
            .min_by_key(|connection| connection.merit());
        let Some(id) = least.map(|connection| connection.id) else {
            return false;
        };
        if let Some(least) = all.remove(&id) {
            least.go();
            self.count(Closed::Evicted);
        }
        true
    }

    /// Closes connections that have exceeded the limit of their phase, or `longest`, if that is shorter.
    pub(crate) fn sweep(&self, longest: Duration) {
        let now = milliseconds(self.began.elapsed());
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in all.values() {
            let (limit, reason) = match connection.phase() {
                HANDSHAKE => (self.limits.handshake, Closed::HandshakeTimeout),
                IDLE => (self.limits.idle, Closed::Idle),
                HEADER => (self.limits.header, Closed::RequestTimeout),
                _ => continue,
            };
            let age = now.saturating_sub(connection.since.load(Ordering::Relaxed));
            if age > milliseconds(limit.min(longest)) && connection.go() {
                self.count(reason);
            }
        }
    }

    /// Closes all connections.
    pub(crate) fn end(&self) {
        for connection in self
            .all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
        {
            connection.go();
        }
    }

    fn count(&self, reason: Closed) {
        if let Some(metrics) = &self.metrics {
            metrics.closed(reason);
        }
    }

    fn gauge(&self, number: usize) {
        if let Some(metrics) = &self.metrics {
            metrics.open(number);
        }
    }
}

// === impl Connection ===

impl Connection {
    fn phase(&self) -> u8 {
        self.phase.load(Ordering::Relaxed)
    }

    fn enter(&self, phase: u8) {
        self.since
            .store(milliseconds(self.began.elapsed()), Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
    }

    /// The order in which connections are closed at the limit: the lowest value first.
    fn merit(&self) -> (bool, u64) {
        (self.has_asked(), self.since.load(Ordering::Relaxed))
    }

    /// The handshake is complete, or the listener has no TLS.
    pub(crate) fn is_open(&self) {
        self.enter(IDLE);
    }

    /// Bytes have arrived. Between requests they begin the next one.
    pub(crate) fn received(&self) {
        if self.phase() == IDLE {
            self.enter(HEADER);
        }
    }

    /// The header of a request has arrived. The request is under way until its response has been sent, or the client gave it
    /// up.
    pub(crate) fn request_begins(this: &Arc<Self>) -> UnderWay {
        if this.requests.fetch_add(1, Ordering::Relaxed) == 0 {
            if this.phase() == IDLE {
                this.enter(BODY);
            } else {
                // The phase began with the header.
                this.phase.store(BODY, Ordering::Relaxed);
            }
        }
        UnderWay(Arc::clone(this))
    }

    /// The body of a request under way is still arriving.
    pub(crate) fn body_begins(&self) {
        self.arriving.fetch_add(1, Ordering::Relaxed);
    }

    /// The body has arrived, or is given up.
    pub(crate) fn body_ends(&self) {
        self.arriving.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns true while a request is being answered. A request whose body is still arriving does not count.
    fn is_at_work(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > self.arriving.load(Ordering::Relaxed)
    }

    /// A request has arrived completely.
    pub(crate) fn request_has_come(&self) {
        self.proved.store(true, Ordering::Relaxed);
        self.phase.store(ANSWER, Ordering::Relaxed);
    }

    /// Returns true once it has sent a whole request.
    pub(crate) fn has_asked(&self) -> bool {
        self.proved.load(Ordering::Relaxed)
    }

    /// Sets the task that serves it.
    pub(crate) fn served_by(&self, task: AbortHandle) {
        // Each connection is served by one task, which is set once.
        let _ = self.task.set(task);
    }

    /// Closes it. Returns false if it was closed before.
    fn go(&self) -> bool {
        if let Some(task) = self.task.get() {
            task.abort();
        }
        !self.gone.swap(true, Ordering::Relaxed)
    }
}

/// A request that is being received or answered.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Connection>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.0.requests.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.enter(IDLE);
        }
    }
}

/// The connection of a request, which is charged for the memory of the request. Every request has it as an extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Payer(pub(crate) u64);

// === impl Payer ===

impl Payer {
    pub(crate) fn of(connection: &Connection) -> Self {
        Self(connection.id)
    }
}

/// A connection's place. Free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) connection: Arc<Connection>,
    connections: Arc<Connections>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self
            .connections
            .all
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.connection.id);
        self.connections.gauge(all.len());
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_places() -> Arc<Connections> {
        Connections::new(
            Limits {
                connections: 2,
                ..Limits::default()
            },
            None,
        )
    }

    #[test]
    fn a_place_is_free_again_when_its_connection_ends() {
        let connections = two_places();
        let first = connections.admit().unwrap();
        let second = connections.admit().unwrap();
        drop(first);
        let third = connections.admit().unwrap();
        assert!(!second.connection.gone.load(Ordering::Relaxed));
        assert!(!third.connection.gone.load(Ordering::Relaxed));
    }

    #[test]
    fn a_connection_that_never_asked_makes_room_first() {
        let connections = two_places();
        let useful = connections.admit().unwrap();
        useful.connection.is_open();
        {
            let _under_way = Connection::request_begins(&useful.connection);
            useful.connection.request_has_come();
        }
        let silent = connections.admit().unwrap();
        silent.connection.is_open();
        let _third = connections.admit().unwrap();
        assert!(silent.connection.gone.load(Ordering::Relaxed));
        assert!(!useful.connection.gone.load(Ordering::Relaxed));
    }

    #[test]
    fn a_connection_at_work_is_never_evicted() {
        let connections = two_places();
        let places = [connections.admit().unwrap(), connections.admit().unwrap()];
        let _under_way = places.each_ref().map(|place| {
            let under_way = Connection::request_begins(&place.connection);
            place.connection.request_has_come();
            under_way
        });
        assert!(connections.admit().is_none());
        assert!(
            places
                .iter()
                .all(|place| !place.connection.gone.load(Ordering::Relaxed))
        );
    }

    #[test]
    fn a_request_that_never_comes_whole_makes_room() {
        let connections = two_places();
        let idle = connections.admit().unwrap();
        idle.connection.is_open();
        Connection::request_begins(&idle.connection);
        std::thread::sleep(Duration::from_millis(5));
        let trickling = connections.admit().unwrap();
        trickling.connection.is_open();
        trickling.connection.received();
        let _under_way = Connection::request_begins(&trickling.connection);
        trickling.connection.body_begins();
        std::thread::sleep(Duration::from_millis(5));
        let _third = connections.admit().unwrap();
        assert!(
            idle.connection.gone.load(Ordering::Relaxed),
            "idle for longer"
        );
        let _fourth = connections.admit().unwrap();
        assert!(trickling.connection.gone.load(Ordering::Relaxed));
    }

    #[test]
    fn a_connection_is_at_work_until_its_last_request_is_done() {
        let connections = Connections::new(Limits::default(), None);
        let place = connections.admit().unwrap();
        let connection = &place.connection;
        connection.is_open();
        let first = Connection::request_begins(connection);
        let second = Connection::request_begins(connection);
        connection.request_has_come();
        drop(first);
        assert!(connection.is_at_work());
        connection.body_begins();
        assert!(!connection.is_at_work(), "what is left only trickles");
        connection.body_ends();
        // A client that gives a request up takes its future away.
        drop(second);
        assert_eq!(connection.phase(), IDLE);
    }

    #[test]
    fn each_phase_has_its_own_time() {
        let limits = Limits {
            handshake: Duration::ZERO,
            header: Duration::ZERO,
            ..Limits::default()
        };
        let connections = Connections::new(limits, None);
        let places: Vec<_> = (0..4).map(|_| connections.admit().unwrap()).collect();
        let [handshake, idle, header, request] = [0, 1, 2, 3].map(|i| &places[i].connection);
        idle.is_open();
        header.is_open();
        header.received();
        let _under_way = Connection::request_begins(request);
        request.received();
        std::thread::sleep(Duration::from_millis(5));
        connections.sweep(Duration::MAX);
        let gone = [handshake, idle, header, request]
            .map(|connection| connection.gone.load(Ordering::Relaxed));
        assert_eq!(gone, [true, false, true, false]);
        connections.sweep(Duration::ZERO);
        assert!(
            idle.gone.load(Ordering::Relaxed),
            "while draining, nobody is waited for"
        );
        assert!(!request.gone.load(Ordering::Relaxed));
    }
}
