//! One address for several gates, as a Service is: new connections go to the ready gates in turn; an open connection stays with
//! its gate. As in Kubernetes, it may learn late of a change of readiness, and it does not try another gate when the first one
//! refuses.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::{Gate, eventually, when};

/// The period of the probes.
const PERIOD: Duration = Duration::from_millis(100);

/// The timeout of a probe.
const PROBE: Duration = Duration::from_secs(1);

/// Serves until it is dropped.
pub struct Balancer {
    /// The port for clients.
    pub port: u16,
    late: Duration,
    backends: Arc<Mutex<Vec<Backend>>>,
    _tasks: JoinSet<()>,
}

#[derive(Clone)]
struct Backend {
    port: u16,
    health_port: u16,
    /// The gate gets new connections.
    ready: bool,
    /// Since when probes have seen the opposite of `ready`.
    otherwise: Option<Instant>,
}

impl Balancer {
    /// Starts a balancer that learns of readiness at once.
    pub async fn start() -> Self {
        Self::start_late(Duration::ZERO).await
    }

    /// Starts a balancer that learns of readiness with this delay.
    pub async fn start_late(late: Duration) -> Self {
        Self::start_at(0, late).await
    }

    /// As [`start_late`](Self::start_late), at this port; 0: any that is free.
    pub(crate) async fn start_at(port: u16, late: Duration) -> Self {
        // The one before, at this port, may have been dropped just now.
        let listener = eventually("a free port", async || {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
        });
        let listener = listener.await;
        let port = listener.local_addr().unwrap().port();
        let backends = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(balance(listener, Arc::clone(&backends)));
        tasks.spawn(probe(Arc::clone(&backends), late));
        Self {
            port,
            late,
            backends,
            _tasks: tasks,
        }
    }

    /// Adds a gate that is ready: it gets connections once the balancer has learnt that.
    pub fn add(&self, gate: &Gate) {
        self.backends.lock().unwrap().push(Backend {
            port: gate.port,
            health_port: gate.health_port,
            ready: self.late.is_zero(),
            otherwise: None,
        });
    }

    /// Waits until this number of gates gets connections.
    pub async fn knows(&self, gates: usize) {
        let ready = || {
            let backends = self.backends.lock().unwrap();
            backends.iter().filter(|it| it.ready).count()
        };
        eventually("that many ready gates", async || {
            when(ready(), |count| *count == gates)
        })
        .await;
    }
}

async fn balance(listener: TcpListener, backends: Arc<Mutex<Vec<Backend>>>) {
    let mut turn = 0;
    while let Ok((mut client, _)) = listener.accept().await {
        turn += 1;
        let ready: Vec<_> = {
            let backends = backends.lock().unwrap();
            let ready = backends.iter().filter(|it| it.ready);
            ready.map(|it| it.port).collect()
        };
        // Without a ready gate, the connection is closed.
        if ready.is_empty() {
            continue;
        }
        let port = ready[turn % ready.len()];
        tokio::spawn(async move {
            if let Ok(mut gate) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                for end in [&client, &gate] {
                    let _ = end.set_nodelay(true);
                }
                // Client and gate check how the connection ends.
                let _ = copy_bidirectional(&mut client, &mut gate).await;
            }
        });
    }
}

async fn probe(backends: Arc<Mutex<Vec<Backend>>>, late: Duration) {
    loop {
        tokio::time::sleep(PERIOD).await;
        let count = backends.lock().unwrap().len();
        for i in 0..count {
            let port = backends.lock().unwrap()[i].health_port;
            let answer = tokio::time::timeout(PROBE, is_ready(port)).await;
            let ready = matches!(answer, Ok(Ok(true)));
            let mut backends = backends.lock().unwrap();
            let backend = &mut backends[i];
            if ready == backend.ready {
                backend.otherwise = None;
                continue;
            }
            let since = *backend.otherwise.get_or_insert_with(Instant::now);
            if since.elapsed() >= late {
                backend.ready = ready;
                backend.otherwise = None;
            }
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
