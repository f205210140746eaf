//! Accepts connections on a port, does TLS, and drains.
//!
//! The API server speaks HTTP/1.1 to webhooks; HTTP/2 is served to clients that ask for it in the handshake.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use futures::FutureExt;
use rustls::ServerConnection;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connections::{Connections, Place};
use crate::http::{Answering, Tasks};
use crate::metrics::{ConnectionMetrics, Handshake};
use crate::{Limits, Tls};

/// The response of Go's servers to a client that speaks plain HTTP on a TLS port.
const PLAIN_HTTP: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Connection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Interval of the sweep over all connections.
const SWEEP: Duration = Duration::from_secs(1);

/// Time for the first request of a newly connected client while the listener drains.
const LAST_REQUEST: Duration = Duration::from_secs(1);

/// Pauses after `accept` failed, which it does when the process runs out of file descriptors: without and with another
/// connection that was closed for it.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const EVICTION_PAUSE: Duration = Duration::from_millis(1);

/// The shortest time between two warnings about `accept`.
const WARN_AGAIN: Duration = Duration::from_secs(10);

/// Makes the routes of a connection.
type Routes = Arc<dyn Fn(&Peer) -> Router + Send + Sync>;

/// A port, and the routes of its connections.
pub struct Listener {
    tcp: TcpListener,
    tls: Option<Tls>,
    routes: Routes,
    limits: Limits,
    metrics: Option<ConnectionMetrics>,
}

/// The client of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The certificate that the client presented in the handshake, if any. The TLS configuration says whether clients are
    /// asked for a certificate, and which certificates are accepted.
    pub certificate: Option<Arc<CertificateDer<'static>>>,
}

/// Ends a listener, in two steps.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// The listener accepts no more connections, and closes idle ones. Requests under way are answered, and so is the first
    /// request of a newly connected client.
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

impl Listener {
    /// A listener on this port, with or without TLS. The routes are those of all connections.
    pub fn new(tcp: TcpListener, tls: Option<Tls>, routes: Router, limits: Limits) -> Self {
        Self::of_clients(tcp, tls, move |_| routes.clone(), limits)
    }

    /// A listener whose routes depend on the client: on its certificate, for example. They are cloned for every request.
    pub fn of_clients(
        tcp: TcpListener,
        tls: Option<Tls>,
        routes: impl Fn(&Peer) -> Router + Send + Sync + 'static,
        limits: Limits,
    ) -> Self {
        Self {
            tcp,
            tls,
            routes: Arc::new(routes),
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

    /// The same listener, with its port moved to another runtime.
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

impl Listener {
    /// Serves until `stop.drain` is cancelled, and until the last connection has ended then.
    pub async fn serve(self, stop: Stop) {
        let Self {
            tcp,
            tls,
            routes,
            limits,
            metrics,
        } = self;
        let tasks = TaskTracker::new();
        let connections = Connections::new(limits.clone(), metrics.clone());
        let door = Door {
            tls,
            routes,
            limits,
            connections: Arc::clone(&connections),
            metrics,
            tasks: tasks.clone(),
            stop: stop.clone(),
        };
        let mut sweep = tokio::time::interval(SWEEP);
        // Sweeps that were skipped while no client was connected are not made up for.
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut warned: Option<Instant> = None;
        loop {
            tokio::select! {
                // Nothing is lost when an arm is dropped: accepting is cancel safe, the rest does not wait for data.
                biased;
                () = stop.drain.cancelled() => break,
                _ = sweep.tick(), if !connections.is_empty() => connections.sweep(Duration::MAX),
                accepted = tcp.accept() => match accepted {
                    Ok((tcp, address)) => {
                        door.admit(tcp, address);
                        // A connection that was closed for this one gets to close its socket before the next accept.
                        tokio::task::yield_now().await;
                    }
                    Err(error) => {
                        if warned.is_none_or(|warned| warned.elapsed() > WARN_AGAIN) {
                            warned = Some(Instant::now());
                            tracing::warn!(%error, "cannot accept connections, closing the least useful ones");
                        }
                        // On a port without TLS, for probes, no connection is closed for another.
                        let pause = if door.tls.is_some() && connections.evict() { EVICTION_PAUSE } else { ACCEPT_PAUSE };
                        tokio::time::sleep(pause).await;
                    }
                },
            }
        }
        // Connections that the system has accepted count as connected.
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

/// Admits connections, and serves each in a task.
struct Door {
    tls: Option<Tls>,
    routes: Routes,
    limits: Limits,
    connections: Arc<Connections>,
    metrics: Option<ConnectionMetrics>,
    tasks: TaskTracker,
    stop: Stop,
}

impl Door {
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
    ) -> impl Future<Output = ()> + use<> {
        let (routes, tls) = (Arc::clone(&self.routes), self.tls.clone());
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
            // Released when this task ends or is aborted.
            let place = place;
            let connection = Arc::clone(&place.connection);
            // A response is often one small packet: do not wait for more to send.
            let _ = tcp.set_nodelay(true);
            let mut peer = Peer {
                address,
                certificate: None,
            };
            let Some(tls) = tls else {
                connection.is_open();
                let answering = Answering::new(routes(&peer), connection, &limits, drain);
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
                    let answering = Answering::new(routes(&peer), connection, &limits, drain);
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

/// Returns true if the first byte is a letter, as of an HTTP request, and not that of a TLS handshake.
async fn speaks_http(tcp: &TcpStream) -> bool {
    let mut first = [0];
    matches!(tcp.peek(&mut first).await, Ok(1)) && first[0].is_ascii_uppercase()
}

async fn answer_plain_http(mut tcp: TcpStream) {
    // The connection ends, even if the response does not arrive.
    let _ = tcp.write_all(PLAIN_HTTP).await;
    let _ = tcp.shutdown().await;
    // Closing a socket with unread bytes resets the connection, and the response would be lost. The sweep closes the
    // connection of a client that keeps sending.
    let mut unread = [0; 1024];
    while matches!(tcp.read(&mut unread).await, Ok(1..)) {}
}
