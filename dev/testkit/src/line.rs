//! The network between a process and its API server. It forwards bytes; or it closes and refuses connections, as while a hub
//! restarts; or it forwards nothing and keeps connections open.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::cluster::Cluster;

/// The state of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Bytes are forwarded.
    Up,
    /// Connections are closed and refused.
    Down,
    /// Connections are accepted and stay open, and nothing is forwarded: not later either, as when a middlebox has lost their state.
    Silent,
}

/// Serves until the runtime of the test ends.
pub struct Line {
    /// The URL of the API server at the other end.
    pub url: String,
    state: watch::Sender<State>,
}

impl Line {
    /// A line to this API server, which is up.
    pub async fn to(hub: &Cluster) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let here = listener.local_addr().unwrap();
        let state = watch::Sender::new(State::Up);
        let port = hub.url().rsplit_once(':').unwrap().1.parse().unwrap();
        let hub_address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        tokio::spawn(accept(listener, hub_address, state.subscribe()));
        Self {
            url: format!("https://{here}"),
            state,
        }
    }

    /// A copy of a kubeconfig, whose server is at the other end. It is beside the original one.
    pub fn kubeconfig(&self, direct: &Path) -> PathBuf {
        let text = std::fs::read(direct).unwrap();
        let mut config: Value = serde_json::from_slice(&text).unwrap();
        config["clusters"][0]["cluster"]["server"] = self.url.as_str().into();
        let kubeconfig = direct.with_extension("line");
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        kubeconfig
    }

    /// From now on, the line is so.
    pub fn is(&self, state: State) {
        self.state.send_replace(state);
    }
}

async fn accept(listener: TcpListener, hub: SocketAddr, mut state: watch::Receiver<State>) {
    let here = listener.local_addr().unwrap();
    let mut listener = Some(listener);
    loop {
        let now = *state.borrow_and_update();
        if now == State::Down {
            listener = None;
        } else if listener.is_none() {
            // Remains of connections do not keep the port.
            match TcpListener::bind(here).await {
                Ok(again) => listener = Some(again),
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
            continue;
        }
        tokio::select! {
            changed = state.changed() => if changed.is_err() { return },
            Some(Ok((client, _))) = async {
                match &listener {
                    Some(listener) => Some(listener.accept().await),
                    None => std::future::pending().await,
                }
            } => {
                tokio::spawn(pass_on(client, hub, state.clone()));
            }
        }
    }
}

async fn pass_on(mut client: TcpStream, hub: SocketAddr, mut state: watch::Receiver<State>) {
    let _ = client.set_nodelay(true);
    if *state.borrow_and_update() == State::Up {
        let Ok(mut server) = TcpStream::connect(hub).await else {
            return;
        };
        let _ = server.set_nodelay(true);
        tokio::select! {
            // Client and server check how the connection ends.
            _ = copy_bidirectional(&mut client, &mut server) => return,
            _ = state.wait_for(|it| *it != State::Up) => {}
        }
    }
    if *state.borrow() == State::Silent {
        // Until the other end closes it.
        let _ = state.wait_for(|it| *it == State::Down).await;
    }
}
