//! Accepts connections and serves HTTP on them, with TLS or without.
//!
//! The API server speaks HTTP/1.1 to webhooks; HTTP/2 is served to those who ask for it in the handshake.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use berth_certs::serving::ServingTls;
use futures::FutureExt;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::Metrics;
use super::connections::{Connection, Connections, Place};
use super::metrics::Handshake;
use super::room::Payer;

/// What Go's servers answer to a client that speaks plain HTTP on a TLS port.
const PLAIN_HTTP: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Connection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// How often the connections are looked at.
const SWEEP: Duration = Duration::from_secs(1);

/// How long a client that has only just connected has for its request when the listener ends.
const LAST_REQUEST: Duration = Duration::from_secs(1);

/// What is kept of a connection's bytes until they make a header, or a piece of a body. hyper's own bound is 400 KiB, which
/// as many clients as there are places would make into more memory than the gate has.
const HTTP1_BUFFER: usize = 32 * 1024;

/// The longest list of headers over HTTP/2, decoded: a few short names index many long values. API servers send about 300
/// bytes.
const HTTP2_HEADERS: u32 = 4 * 1024;

/// Requests at the same time on one HTTP/2 connection.
const HTTP2_STREAMS: u32 = 16;

/// What may be sent on a request, and on a connection with all its requests, before it is read.
const HTTP2_STREAM_WINDOW: u32 = 64 * 1024;
const HTTP2_CONNECTION_WINDOW: u32 = 256 * 1024;

/// A pause after the system refused to hand out a connection, which it does when files are short; and when another
/// connection has made room.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const EVICTION_PAUSE: Duration = Duration::from_millis(1);

/// How often the log says so.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// A port and what is served on it.
pub(super) struct Listener {
    pub(super) tcp: TcpListener,
    pub(super) tls: Option<Arc<ServingTls>>,
    pub(super) router: Router,
    pub(super) connections: Arc<Connections>,
    /// Counts handshakes, if there is somebody to tell.
    pub(super) metrics: Option<Metrics>,
}

/// How a listener is ended, in two steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop {
    /// No connection is accepted any more, and those that are idle end; requests under way are answered, and the first
    /// request of who has only just connected.
    pub(super) drain: CancellationToken,
    /// Whatever is still there ends.
    pub(super) now: CancellationToken,
}

impl Listener {
    /// Serves until told to stop, and until the last connection has ended.
    pub(super) async fn serve(self, stop: Stop) {
        let tasks = TaskTracker::new();
        let mut sweep = tokio::time::interval(SWEEP);
        // Not as often as it was left out while there was nothing to look at.
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told: Option<Instant> = None;
        loop {
            tokio::select! {
                // Nothing is lost when an arm is dropped: accepting is cancel safe, the rest does not wait for data.
                biased;
                () = stop.drain.cancelled() => break,
                _ = sweep.tick(), if !self.connections.is_empty() => self.connections.sweep(Duration::MAX),
                accepted = self.tcp.accept() => match accepted {
                    Ok((tcp, _)) => {
                        self.admit(tcp, &tasks, &stop);
                        // Whose place it took gets to close its socket before there is another one.
                        tokio::task::yield_now().await;
                    }
                    Err(error) => {
                        if told.is_none_or(|told| told.elapsed() > TELL_AGAIN) {
                            told = Some(Instant::now());
                            tracing::warn!(%error, "cannot accept connections: the least useful ones make room");
                        }
                        // A probe must not cost another one its place.
                        let pause = if self.tls.is_some() && self.connections.evict() { EVICTION_PAUSE } else { ACCEPT_PAUSE };
                        tokio::time::sleep(pause).await;
                    }
                },
            }
        }
        // Whose connection the system has taken counts as connected.
        while let Some(Ok((tcp, _))) = self.tcp.accept().now_or_never() {
            self.admit(tcp, &tasks, &stop);
        }
        drop(self.tcp);
        tasks.close();
        loop {
            tokio::select! {
                () = tasks.wait() => return,
                () = stop.now.cancelled() => break,
                _ = sweep.tick() => self.connections.sweep(LAST_REQUEST),
            }
        }
        self.connections.end();
        tasks.wait().await;
    }

    fn admit(&self, tcp: TcpStream, tasks: &TaskTracker, stop: &Stop) {
        if let Some(place) = self.connections.admit() {
            let connection = Arc::clone(&place.connection);
            let task = tasks.spawn(self.connection(tcp, place, stop.drain.clone()));
            connection.served_by(task.abort_handle());
        }
    }

    fn connection(
        &self,
        tcp: TcpStream,
        place: Place,
        drain: CancellationToken,
    ) -> impl Future<Output = ()> + use<> {
        let router = self.router.clone();
        let tls = self.tls.clone();
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
            let Some(tls) = tls else {
                connection.is_open();
                return serve_http1(tcp, router, &connection, &drain).await;
            };
            if speaks_http(&tcp).await {
                count(Handshake::PlainHttp);
                return answer_plain_http(tcp).await;
            }
            match TlsAcceptor::from(tls.current()).accept(tcp).await {
                Ok(stream) => {
                    count(Handshake::Completed);
                    connection.is_open();
                    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                        serve_http2(stream, router, &connection, &drain).await;
                    } else {
                        serve_http1(stream, router, &connection, &drain).await;
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

async fn serve_http1<S>(
    stream: S,
    router: Router,
    connection: &Arc<Connection>,
    drain: &CancellationToken,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let io = Watched {
        io: TokioIo::new(stream),
        connection: Arc::clone(connection),
    };
    let service = service_fn(|request: hyper::Request<Incoming>| {
        answer(router.clone(), Arc::clone(connection), request)
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    // Headers have their time by the sweep.
    http.header_read_timeout(None).max_buf_size(HTTP1_BUFFER);
    let serving = http.serve_connection(io, service);
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = drain.cancelled() => {
            // Others are about to ask. The answer will close their connection, or else the sweep.
            if connection.has_asked() {
                serving.as_mut().graceful_shutdown();
            }
            serving.await
        }
    };
    trace_end(ended);
}

async fn serve_http2<S>(
    stream: S,
    router: Router,
    connection: &Arc<Connection>,
    drain: &CancellationToken,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: hyper::Request<Incoming>| {
        answer(router.clone(), Arc::clone(connection), request)
    });
    let mut http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_concurrent_streams(HTTP2_STREAMS)
        .max_header_list_size(HTTP2_HEADERS)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW);
    let serving = http.serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = drain.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    trace_end(ended);
}

async fn answer(
    router: Router,
    connection: Arc<Connection>,
    request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    let _under_way = connection.request_begins();
    let mut request = request.map(|body| Body::new(Arriving::new(body, &connection)));
    request.extensions_mut().insert(Payer(connection.id()));
    router.oneshot(request).await
}

fn trace_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
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

/// A request's body; it tells the connection when all of it has come.
struct Arriving {
    body: Incoming,
    connection: Arc<Connection>,
    has_come: bool,
}

impl Arriving {
    fn new(body: Incoming, connection: &Arc<Connection>) -> Self {
        let mut this = Self {
            body,
            connection: Arc::clone(connection),
            has_come: false,
        };
        this.connection.body_begins();
        this.look(false);
        this
    }

    /// Tells the connection once.
    fn look(&mut self, ended: bool) {
        if !self.has_come && (ended || self.body.is_end_stream()) {
            self.has_come = true;
            self.connection.body_ends();
            self.connection.request_has_come();
        }
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if !self.has_come {
            self.connection.body_ends();
        }
    }
}

impl hyper::body::Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        // Of a chunked body nothing but its end says that it has come.
        this.look(frame.is_none());
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Tells the connection when bytes come.
struct Watched<S> {
    io: TokioIo<S>,
    connection: Arc<Connection>,
}

impl<S: tokio::io::AsyncRead + Unpin> Read for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = Pin::new(&mut this.io).poll_read(cx, buf);
        if read.is_ready() {
            this.connection.received();
        }
        read
    }
}

impl<S: tokio::io::AsyncWrite + Unpin> Write for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(cx, bufs)
    }
}
