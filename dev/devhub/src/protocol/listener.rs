//! Accepts connections and serves HTTP on them, over TLS.
//!
//! The handshake asks for a client certificate and takes none for an answer. HTTP/2 is served to those who ask for it.
//! Everything that runs for a connection ends with it, and with the listener.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::protocol::app::App;

/// So many connections at a time; more wait to be accepted.
const CONNECTIONS: usize = 4_096;

/// From a connection's beginning to the end of its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Without a whole header. Longer than clients keep a connection they do not use, so that it is they who close it.
const IDLE: Duration = Duration::from_secs(180);

/// How many requests one HTTP/2 connection carries at a time: as kube-apiserver.
const STREAMS: u32 = 1_000;

/// How often a silent HTTP/2 client is asked whether it is there.
const PING: Duration = Duration::from_secs(30);

/// A pause after the system refused to hand out a connection, which it does when files are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long requests under way have at the end.
const GRACE: Duration = Duration::from_secs(5);

/// What Go's servers answer to a client that speaks plain HTTP on a TLS port.
const PLAIN_HTTP: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// A port, and what is served on it.
pub(crate) struct Listener {
    pub(crate) tcp: TcpListener,
    pub(crate) tls: Arc<ServerConfig>,
    pub(crate) app: Arc<App>,
    /// Stops it: requests under way are answered, for a while; watches end.
    pub(crate) stop: CancellationToken,
    /// Ends everything at once.
    pub(crate) end: CancellationToken,
}

/// Everything that runs for connections. HTTP/2 has a task for each request.
#[derive(Clone)]
struct Tasks {
    tracker: TaskTracker,
    end: CancellationToken,
}

impl Tasks {
    fn spawn<F: Future<Output: Send> + Send + 'static>(&self, task: F) {
        let end = self.end.clone();
        self.tracker.spawn(async move {
            // Whatever it comes to, nobody waits for the result.
            let _ = end.run_until_cancelled_owned(task).await;
        });
    }
}

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        self.spawn(task);
    }
}

impl Listener {
    /// Serves until told to stop, and until the last connection has ended.
    pub(crate) async fn serve(self) {
        let tasks = Tasks {
            tracker: TaskTracker::new(),
            end: self.end.clone(),
        };
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                break;
            };
            let accepted = tokio::select! {
                // Accepting is cancel safe.
                biased;
                () = self.stop.cancelled() => break,
                accepted = self.tcp.accept() => accepted,
            };
            match accepted {
                Ok((tcp, peer)) => {
                    let connection = Connection {
                        tls: Arc::clone(&self.tls),
                        app: Arc::clone(&self.app),
                        stop: self.stop.clone(),
                        tasks: tasks.clone(),
                    };
                    tasks.spawn(async move {
                        let _place = place;
                        connection.serve(tcp, peer).await;
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(self.tcp);
        tasks.tracker.close();
        let ended = tokio::time::timeout(GRACE, tasks.tracker.wait()).await;
        if ended.is_err() {
            self.end.cancel();
            tasks.tracker.wait().await;
        }
    }
}

/// One connection.
struct Connection {
    tls: Arc<ServerConfig>,
    app: Arc<App>,
    stop: CancellationToken,
    tasks: Tasks,
}

impl Connection {
    async fn serve(self, tcp: TcpStream, peer: SocketAddr) {
        // Events are small packets: do not wait for more to send.
        let _ = tcp.set_nodelay(true);
        let shaken = tokio::time::timeout(HANDSHAKE, self.shake_hands(tcp)).await;
        let stream = match shaken {
            Ok(Some(Ok(stream))) => stream,
            Ok(Some(Err(error))) => {
                tracing::debug!(%peer, %error, "TLS handshake failed");
                return;
            }
            Ok(None) => return,
            Err(_) => {
                tracing::debug!(%peer, "TLS handshake took too long");
                return;
            }
        };
        let session = stream.get_ref().1;
        let certificate = session
            .peer_certificates()
            .and_then(|chain| chain.first())
            .map(|leaf| Arc::new(leaf.clone().into_owned()));
        if session.alpn_protocol() == Some(b"h2") {
            self.serve_http2(stream, certificate).await;
        } else {
            self.serve_http1(stream, certificate).await;
        }
    }

    /// None for a client that does not speak TLS; it has been told.
    async fn shake_hands(
        &self,
        mut tcp: TcpStream,
    ) -> Option<std::io::Result<TlsStream<TcpStream>>> {
        let mut first = [0];
        if matches!(tcp.peek(&mut first).await, Ok(1)) && first[0].is_ascii_uppercase() {
            // Whether it arrives or not, the connection ends.
            let _ = tcp.write_all(PLAIN_HTTP).await;
            let _ = tcp.shutdown().await;
            // Closed with a request unread in it, the connection would be reset, and the answer lost.
            let mut unread = [0; 1024];
            while matches!(tcp.read(&mut unread).await, Ok(1..)) {}
            return None;
        }
        Some(TlsAcceptor::from(Arc::clone(&self.tls)).accept(tcp).await)
    }

    async fn serve_http1(
        self,
        stream: TlsStream<TcpStream>,
        certificate: Option<Arc<CertificateDer<'static>>>,
    ) {
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(IDLE);
        let service = service_fn(|request| answer(&self.app, certificate.as_deref(), request));
        let serving = http.serve_connection(TokioIo::new(stream), service);
        let mut serving = std::pin::pin!(serving);
        let ended = tokio::select! {
            ended = serving.as_mut() => ended,
            () = self.stop.cancelled() => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        };
        trace_end(ended);
    }

    async fn serve_http2(
        self,
        stream: TlsStream<TcpStream>,
        certificate: Option<Arc<CertificateDer<'static>>>,
    ) {
        let mut http = hyper::server::conn::http2::Builder::new(self.tasks.clone());
        http.timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .max_concurrent_streams(STREAMS);
        let app = Arc::clone(&self.app);
        let service = service_fn(move |request| {
            let (app, certificate) = (Arc::clone(&app), certificate.clone());
            async move { answer(&app, certificate.as_deref(), request).await }
        });
        let serving = http.serve_connection(TokioIo::new(stream), service);
        let mut serving = std::pin::pin!(serving);
        let ended = tokio::select! {
            ended = serving.as_mut() => ended,
            () = self.stop.cancelled() => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        };
        trace_end(ended);
    }
}

async fn answer(
    app: &App,
    certificate: Option<&CertificateDer<'_>>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<super::answer::Body>, Infallible> {
    Ok(app.answer(request, certificate).await)
}

fn trace_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}
