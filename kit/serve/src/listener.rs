//! A port: accepts connections, does TLS, and ends them in order.
//!
//! The API server speaks HTTP/1.1 to webhooks; HTTP/2 is served to clients that ask for it in the handshake.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use http::{Request, Response};
use rustls::ServerConnection;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{BoxError, Service};

use crate::connections::{Connections, Place};
use crate::http::{Answering, RequestBody, Tasks};
use crate::metrics::{ConnectionMetrics, Handshake};
use crate::{Limits, Tls};

/// What Go's servers answer to a client that speaks plain HTTP on a TLS port.
const PLAIN_HTTP: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Connection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// How often the connections are looked at.
const SWEEP: Duration = Duration::from_secs(1);

/// How long a client that has only just connected has for its request when the listener ends.
const LAST_REQUEST: Duration = Duration::from_secs(1);

/// A pause after the system refused to hand out a connection, which it does when files are short; and when another
/// connection has made room.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const EVICTION_PAUSE: Duration = Duration::from_millis(1);

/// How often the log says so.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// A port, and what serves its connections.
///
/// `M` makes the service of a connection from its [`Peer`]. A service that is the same for all connections is cloned:
/// `|_: &Peer| router.clone()`. The service is cloned for every request, so a clone should be cheap.
#[derive(Debug)]
pub struct Listener<M> {
    tcp: TcpListener,
    tls: Option<Tls>,
    services: M,
    limits: Limits,
    metrics: Option<ConnectionMetrics>,
}

/// The client of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Where it connects from.
    pub address: SocketAddr,
    /// The certificate that it presented in the handshake, if it did. Whether clients are asked for one, and what
    /// certificates are taken, is for the TLS configuration to say.
    pub certificate: Option<Arc<CertificateDer<'static>>>,
}

/// How a listener is ended, in two steps.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// No connection is accepted any more, and idle connections are closed. Requests under way are answered, and so is the
    /// first request of a client that has only just connected.
    pub drain: CancellationToken,
    /// Every connection is closed.
    pub now: CancellationToken,
}

impl Stop {
    /// Both steps at once, when this token is cancelled.
    pub fn at_once(token: CancellationToken) -> Self {
        Self {
            drain: token.clone(),
            now: token,
        }
    }
}

// === impl Listener ===

impl<M> Listener<M> {
    /// Serves this port, with TLS or without.
    pub fn new(tcp: TcpListener, tls: Option<Tls>, services: M, limits: Limits) -> Self {
        Self {
            tcp,
            tls,
            services,
            limits,
            metrics: None,
        }
    }

    /// Counts connections and handshakes.
    pub fn counted(self, metrics: ConnectionMetrics) -> Self {
        Self {
            metrics: Some(metrics),
            ..self
        }
    }

    /// The same, on a port of another runtime.
    pub(crate) fn on(
        self,
        move_over: impl FnOnce(TcpListener) -> std::io::Result<TcpListener>,
    ) -> std::io::Result<Self> {
        Ok(Self {
            tcp: move_over(self.tcp)?,
            ..self
        })
    }
}

impl<M, S, B> Listener<M>
where
    M: Fn(&Peer) -> S + Clone + Send + 'static,
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
    B: hyper::body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Serves until `stop.drain` is cancelled, and until the last connection has ended then.
    pub async fn serve(self, stop: Stop) {
        let Self {
            tcp,
            tls,
            services,
            limits,
            metrics,
        } = self;
        let tasks = TaskTracker::new();
        let connections = Connections::new(limits.clone(), metrics.clone());
        let door = Door {
            tls,
            services,
            limits,
            connections: Arc::clone(&connections),
            metrics,
            tasks: tasks.clone(),
            stop: stop.clone(),
        };
        let mut sweep = tokio::time::interval(SWEEP);
        // Not as often as it was left out while there was nothing to look at.
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told: Option<Instant> = None;
        loop {
            tokio::select! {
                // Nothing is lost when an arm is dropped: accepting is cancel safe, the rest does not wait for data.
                biased;
                () = stop.drain.cancelled() => break,
                _ = sweep.tick(), if !connections.is_empty() => connections.sweep(Duration::MAX),
                accepted = tcp.accept() => match accepted {
                    Ok((tcp, address)) => {
                        door.admit(tcp, address);
                        // Whose place it took gets to close its socket before there is another one.
                        tokio::task::yield_now().await;
                    }
                    Err(error) => {
                        if told.is_none_or(|told| told.elapsed() > TELL_AGAIN) {
                            told = Some(Instant::now());
                            tracing::warn!(%error, "cannot accept connections: the least useful ones make room");
                        }
                        // A probe must not cost another one its place.
                        let pause = if door.tls.is_some() && connections.evict() { EVICTION_PAUSE } else { ACCEPT_PAUSE };
                        tokio::time::sleep(pause).await;
                    }
                },
            }
        }
        // Whose connection the system has taken counts as connected.
        while let Some(Ok((tcp, address))) = tcp.accept().now_or_never() {
            door.admit(tcp, address);
        }
        drop((tcp, door));
        tasks.close();
        loop {
            tokio::select! {
                () = tasks.wait() => return,
                () = stop.now.cancelled() => break,
                _ = sweep.tick() => connections.sweep(LAST_REQUEST),
            }
        }
        connections.end();
        tasks.wait().await;
    }
}

/// What lets connections in.
struct Door<M> {
    tls: Option<Tls>,
    services: M,
    limits: Limits,
    connections: Arc<Connections>,
    metrics: Option<ConnectionMetrics>,
    tasks: TaskTracker,
    stop: Stop,
}

impl<M, S, B> Door<M>
where
    M: Fn(&Peer) -> S + Clone + Send + 'static,
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
    B: hyper::body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    fn admit(&self, tcp: TcpStream, address: SocketAddr) {
        if let Some(place) = self.connections.admit() {
            let connection = Arc::clone(&place.connection);
            let task = self.tasks.spawn(self.connection(tcp, address, place));
            connection.served_by(task.abort_handle());
        }
    }

    fn connection(
        &self,
        tcp: TcpStream,
        address: SocketAddr,
        place: Place,
    ) -> impl Future<Output = ()> + use<M, S, B> {
        let (services, tls) = (self.services.clone(), self.tls.clone());
        let limits = self.limits.clone();
        let tasks = Tasks::new(self.tasks.clone(), self.stop.now.clone());
        let drain = self.stop.drain.clone();
        let metrics = self.metrics.clone();
        let count = move |outcome| {
            if let Some(metrics) = &metrics {
                metrics.handshake(outcome);
            }
        };
        async move {
            // Free again when this ends, or is ended.
            let place = place;
            let connection = Arc::clone(&place.connection);
            // An answer is one small packet: do not wait for more to send.
            let _ = tcp.set_nodelay(true);
            let mut peer = Peer {
                address,
                certificate: None,
            };
            let Some(tls) = tls else {
                connection.is_open();
                let answering = Answering::new(services(&peer), connection, &limits, drain);
                return answering.http1(tcp).await;
            };
            if speaks_http(&tcp).await {
                count(Handshake::PlainHttp);
                return answer_plain_http(tcp).await;
            }
            match TlsAcceptor::from(tls.current()).accept(tcp).await {
                Ok(stream) => {
                    count(Handshake::Completed);
                    connection.is_open();
                    let session = stream.get_ref().1;
                    peer.certificate = certificate(session);
                    let is_http2 = session.alpn_protocol() == Some(b"h2");
                    let answering = Answering::new(services(&peer), connection, &limits, drain);
                    if is_http2 {
                        answering.http2(stream, tasks).await;
                    } else {
                        answering.http1(stream).await;
                    }
                }
                Err(error) => {
                    count(Handshake::Failed);
                    tracing::debug!(%error, "TLS handshake failed");
                }
            }
        }
    }
}

/// The leaf of the chain that the client presented.
fn certificate(session: &ServerConnection) -> Option<Arc<CertificateDer<'static>>> {
    let leaf = session.peer_certificates()?.first()?;
    Some(Arc::new(leaf.clone().into_owned()))
}

/// Whether the first byte is a letter, as of an HTTP request, and not that of a TLS handshake.
async fn speaks_http(tcp: &TcpStream) -> bool {
    let mut first = [0];
    matches!(tcp.peek(&mut first).await, Ok(1)) && first[0].is_ascii_uppercase()
}

async fn answer_plain_http(mut tcp: TcpStream) {
    // Whether it arrives or not, the connection ends.
    let _ = tcp.write_all(PLAIN_HTTP).await;
    let _ = tcp.shutdown().await;
    // Closed with a request unread in it, the connection would be reset, and the answer lost. The sweep ends a client
    // that does not take the hint.
    let mut unread = [0; 1024];
    while matches!(tcp.read(&mut unread).await, Ok(1..)) {}
}
