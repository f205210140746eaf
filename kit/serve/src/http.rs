//! HTTP/1.1 and HTTP/2 on one connection.
//!
//! The connection's state (`connections`) is updated when bytes arrive, a request begins, its body has arrived, and its
//! response has been sent. So no request needs a timer.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::rt::{Executor, Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::Limits;
use crate::connections::{Connection, Payer, UnderWay};

/// Interval of pings to silent HTTP/2 clients.
const PING: Duration = Duration::from_secs(30);

/// Answers the requests of one connection.
pub(crate) struct Answering<'l> {
    routes: Router,
    connection: Arc<Connection>,
    limits: &'l Limits,
    drain: CancellationToken,
}

/// The tasks of a listener's HTTP/2 requests: they end with the listener.
#[derive(Clone)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    now: CancellationToken,
}

// === impl Answering ===

impl<'l> Answering<'l> {
    pub(crate) fn new(
        routes: Router,
        connection: Arc<Connection>,
        limits: &'l Limits,
        drain: CancellationToken,
    ) -> Self {
        Self {
            routes,
            connection,
            limits,
            drain,
        }
    }

    pub(crate) async fn http1<T>(self, stream: T)
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = Watched {
            io: TokioIo::new(stream),
            connection: Arc::clone(&self.connection),
        };
        let service = service_fn(|request| {
            answer(self.routes.clone(), Arc::clone(&self.connection), request)
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        // The sweep bounds the time for headers.
        http.header_read_timeout(None)
            .max_buf_size(self.limits.http1_buffer);
        let serving = http.serve_connection(io, service);
        let mut serving = std::pin::pin!(serving);
        let ended = tokio::select! {
            ended = serving.as_mut() => ended,
            () = self.drain.cancelled() => {
                // A new client is about to send its first request. The response closes the connection, or else the sweep does.
                if self.connection.has_asked() {
                    serving.as_mut().graceful_shutdown();
                }
                serving.await
            }
        };
        trace_end(ended);
    }

    pub(crate) async fn http2<T>(self, stream: T, tasks: Tasks)
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (routes, connection) = (self.routes, self.connection);
        let service =
            service_fn(move |request| answer(routes.clone(), Arc::clone(&connection), request));
        let mut http = hyper::server::conn::http2::Builder::new(tasks);
        http.timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .max_concurrent_streams(self.limits.http2_streams)
            .max_header_list_size(self.limits.http2_headers)
            .initial_stream_window_size(self.limits.http2_stream_window)
            .initial_connection_window_size(self.limits.http2_connection_window);
        let serving = http.serve_connection(TokioIo::new(stream), service);
        let mut serving = std::pin::pin!(serving);
        let ended = tokio::select! {
            ended = serving.as_mut() => ended,
            () = self.drain.cancelled() => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        };
        trace_end(ended);
    }
}

async fn answer(
    routes: Router,
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    let under_way = Connection::request_begins(&connection);
    let payer = Payer::of(&connection);
    let mut request = request.map(|body| RequestBody::new(body, connection));
    request.extensions_mut().insert(payer);
    let response = routes.oneshot(request).await?;
    Ok(response.map(|body| ResponseBody {
        body,
        _under_way: under_way,
    }))
}

fn trace_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}

// === impl Tasks ===

impl Tasks {
    /// Tasks that this tracker waits for, and that end when `now` is cancelled.
    pub(crate) fn new(tracker: TaskTracker, now: CancellationToken) -> Self {
        Self { tracker, now }
    }
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, task: F) {
        let now = self.now.clone();
        self.tracker.spawn(async move {
            // No caller uses the result.
            let _ = now.run_until_cancelled_owned(task).await;
        });
    }
}

/// The body of a request. It records when all of it has arrived.
#[derive(Debug)]
pub(crate) struct RequestBody {
    body: Incoming,
    connection: Arc<Connection>,
    has_come: bool,
}

impl RequestBody {
    fn new(body: Incoming, connection: Arc<Connection>) -> Self {
        connection.body_begins();
        let mut this = Self {
            body,
            connection,
            has_come: false,
        };
        this.look(false);
        this
    }

    /// Updates the connection, once, when the body has arrived.
    fn look(&mut self, ended: bool) {
        if !self.has_come && (ended || self.body.is_end_stream()) {
            self.has_come = true;
            self.connection.body_ends();
            self.connection.request_has_come();
        }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if !self.has_come {
            self.connection.body_ends();
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        // A chunked body is known to be complete only at its end.
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

/// The body of a response. Its request is under way until the whole body has been sent: a stream of events keeps its
/// connection in use.
#[derive(Debug)]
struct ResponseBody {
    body: axum::body::Body,
    _under_way: UnderWay,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Updates the connection when bytes arrive.
struct Watched<S> {
    io: TokioIo<S>,
    connection: Arc<Connection>,
}

impl<S: AsyncRead + Unpin> Read for Watched<S> {
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

impl<S: AsyncWrite + Unpin> Write for Watched<S> {
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
