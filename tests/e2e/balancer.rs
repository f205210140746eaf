//! One address for several gates, as a Service is: new connections go to those that say that they are ready, one after
//! another; a connection that is open stays where it is.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::guarded::RunningGate;

/// How often gates are asked whether they are ready.
const PERIOD: Duration = Duration::from_millis(200);

/// Serves until the runtime of the test ends.
pub struct Balancer {
    pub port: u16,
    backends: Arc<Mutex<Vec<Backend>>>,
}

#[derive(Clone, Copy)]
struct Backend {
    port: u16,
    health_port: u16,
    ready: bool,
}

impl Balancer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let backends = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(balance(listener, Arc::clone(&backends)));
        tokio::spawn(probe(Arc::clone(&backends)));
        Self { port, backends }
    }

    /// Adds a gate, which is ready.
    pub fn add(&self, gate: &RunningGate) {
        self.backends.lock().unwrap().push(Backend {
            port: gate.port,
            health_port: gate.health_port,
            ready: true,
        });
    }
}

async fn balance(listener: TcpListener, backends: Arc<Mutex<Vec<Backend>>>) {
    let mut turn = 0;
    while let Ok((mut client, _)) = listener.accept().await {
        turn += 1;
        let ready: Vec<_> = {
            let backends = backends.lock().unwrap();
            backends.iter().copied().filter(|it| it.ready).collect()
        };
        // Without any the connection is closed.
        if ready.is_empty() {
            continue;
        }
        let port = ready[turn % ready.len()].port;
        tokio::spawn(async move {
            if let Ok(mut gate) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                // How a connection ends is the business of its ends.
                let _ = copy_bidirectional(&mut client, &mut gate).await;
            }
        });
    }
}

async fn probe(backends: Arc<Mutex<Vec<Backend>>>) {
    loop {
        tokio::time::sleep(PERIOD).await;
        let count = backends.lock().unwrap().len();
        for i in 0..count {
            let port = backends.lock().unwrap()[i].health_port;
            let ready = is_ready(port).await.unwrap_or(false);
            backends.lock().unwrap()[i].ready = ready;
        }
    }
}

async fn is_ready(port: u16) -> std::io::Result<bool> {
    let mut tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    tcp.write_all(b"GET /readyz HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n\r\n")
        .await?;
    let mut answer = Vec::new();
    tcp.read_to_end(&mut answer).await?;
    Ok(answer.starts_with(b"HTTP/1.1 200 "))
}
