//! Serves the API on a port, over TLS, with the listener of `berth_serve`.
//!
//! The TLS configuration asks clients for a certificate, and accepts clients without one.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use berth_serve::{Limits, Listener, Peer, Stop, Tls};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpSocket};

use crate::protocol::app::App;

/// Time for requests under way after the drain began.
const GRACE: Duration = Duration::from_secs(5);

/// Bytes that a client may send before the server reads them, for an HTTP/2 request and for a connection.
const WINDOW: u32 = 1024 * 1024;

/// Connections that wait until the server accepts them: a fleet of agents comes back at once.
const BACKLOG: u32 = 4_096;

/// Opens the port.
pub(crate) fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `stop.drain` is cancelled. Requests under way are answered then, for [`GRACE`] at most.
pub(crate) async fn serve(tcp: TcpListener, tls: ServerConfig, app: App, stop: Stop) {
    let app = Arc::new(app);
    let routes = move |peer: &Peer| {
        let (app, certificate) = (Arc::clone(&app), peer.certificate.clone());
        Router::new().fallback(async move |request: Request| {
            app.answer(request, certificate.as_deref()).await
        })
    };
    let listener = Listener::of_clients(tcp, Some(Tls::from(Arc::new(tls))), routes, limits());
    let mut serving = std::pin::pin!(listener.serve(stop.clone()));
    tokio::select! {
        () = &mut serving => return,
        () = async {
            stop.drain.cancelled().await;
            tokio::time::sleep(GRACE).await;
        } => stop.now.cancel(),
    }
    serving.await;
}

/// The limits of a kube-apiserver, where it has any; it bounds no connections. A fleet of agents has one each.
fn limits() -> Limits {
    Limits {
        connections: 20_000,
        // Go's servers accept headers of up to 1 MiB.
        http1_buffer: 1024 * 1024,
        http2_headers: 1024 * 1024,
        http2_streams: 1_000,
        http2_stream_window: WINDOW,
        http2_connection_window: WINDOW,
        ..Limits::default()
    }
}
