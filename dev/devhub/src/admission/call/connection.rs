//! One connection to a webhook: TCP, TLS, HTTP/1.1.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::failure;

/// A connection that can take a request.
#[derive(Debug)]
pub(super) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
}

/// What moves a connection's bytes; it ends with the connection.
pub(super) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Connection {
    /// Connects to the first address that answers.
    pub(super) async fn open(
        addresses: &[SocketAddr],
        name: ServerName<'static>,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<(Self, Driver), String> {
        let tcp = dial(addresses).await?;
        // Small requests are to leave at once; without it they only are slower.
        let _ = tcp.set_nodelay(true);
        let Some(tls) = tls else {
            return Err(failure::UNKNOWN_AUTHORITY.to_owned());
        };
        let stream = TlsConnector::from(Arc::clone(tls))
            .connect(name, tcp)
            .await
            .map_err(|error| failure::of_handshake(&error))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        // What goes wrong on it, the request in flight is told.
        let driver = Box::pin(async move {
            let _ = connection.await;
        });
        Ok((Self { sender }, driver))
    }

    /// Returns true if it can take the next request; waits until the last one is over.
    pub(super) async fn is_usable(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Sends a request. The connection can take the next one when the response's body has been read to its end.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        self.sender.send_request(request).await
    }
}

async fn dial(addresses: &[SocketAddr]) -> Result<TcpStream, String> {
    let mut why = "no such host".to_owned();
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(tcp) => return Ok(tcp),
            Err(error) => why = format!("dial tcp {address}: {}", failure::of_connect(&error)),
        }
    }
    Err(why)
}
