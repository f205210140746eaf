//! An HTTP proxy between agents and their hub, which can be cut off.
//!
//! While it is cut off, no byte passes, and no connection ends: neither side gets an error. Afterwards, the connections that
//! were open are closed, and new ones pass.

use std::io;
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The longest head of a request to connect.
const LONGEST_HEAD: usize = 4096;

/// A running proxy. Ends when it is dropped.
pub(crate) struct Relay {
    /// The URL for `proxy-url` of a kubeconfig.
    pub(crate) url: String,
    is_cut: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

// === impl Relay ===

impl Relay {
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let is_cut = watch::Sender::new(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, is_cut.subscribe()));
        Ok(Self {
            url,
            is_cut,
            _tasks: tasks,
        })
    }

    /// Cuts the agents off, or lets them pass again.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}

async fn accept(listener: TcpListener, is_cut: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((client, _)) = accepted {
                let is_cut = is_cut.clone();
                // An agent that loses a connection opens another one.
                connections.spawn(async move { drop(pass(client, is_cut).await) });
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn pass(mut client: TcpStream, mut is_cut: watch::Receiver<bool>) -> Result<()> {
    if *is_cut.borrow_and_update() {
        is_cut.wait_for(|is_cut| !is_cut).await?;
        return Ok(());
    }
    let target = target(&mut client).await?;
    let mut hub = TcpStream::connect(&target).await?;
    for side in [&client, &hub] {
        side.set_nodelay(true)?;
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    let mut passing = std::pin::pin!(copy_bidirectional(&mut client, &mut hub));
    tokio::select! {
        biased;
        cut = is_cut.wait_for(|is_cut| *is_cut) => { cut?; }
        ended = &mut passing => { ended?; }
    }
    is_cut.wait_for(|is_cut| !is_cut).await?;
    Ok(())
}

/// Reads the head of a request to connect, and returns its `host:port`.
async fn target(client: &mut TcpStream) -> Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == LONGEST_HEAD {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        }
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let target = head.strip_prefix("CONNECT ").context("no CONNECT")?;
    let target = target.split_whitespace().next();
    Ok(target.context("no target")?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// A server that returns what it gets, and a connection to it through the relay.
    async fn connected(relay: &Relay, server: &TcpListener) -> TcpStream {
        let address = relay.url.strip_prefix("http://").unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let head = format!("CONNECT {} HTTP/1.1\r\n\r\n", server.local_addr().unwrap());
        client.write_all(head.as_bytes()).await.unwrap();
        let (mut echo, _) = server.accept().await.unwrap();
        tokio::spawn(async move {
            let (mut read, mut write) = echo.split();
            let _ = tokio::io::copy(&mut read, &mut write).await;
        });
        let mut answer = [0; 19];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK\r\n\r\n");
        client
    }

    #[tokio::test]
    async fn nothing_passes_while_it_is_cut_off() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let relay = Relay::start().await.unwrap();
        let mut client = connected(&relay, &server).await;
        client.write_all(b"a").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'a');

        relay.cut(true);
        client.write_all(b"b").await.unwrap();
        let silence = timeout(Duration::from_millis(100), client.read_u8()).await;
        assert!(silence.is_err(), "{silence:?}");

        relay.cut(false);
        assert!(client.read_u8().await.is_err(), "it is closed");
        let mut client = connected(&relay, &server).await;
        client.write_all(b"c").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'c');
    }
}
