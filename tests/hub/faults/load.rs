//! Load as an API server makes it: HTTP/1.1 over verified TLS, on kept connections, one call at a time on each.
//!
//! A call is retried only where Go's client retries it: when nothing of it was sent before its connection was found closed.
//! Once anything was sent, the call has failed, as a POST is not repeated.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::header::CONNECTION;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::faults::calls::Call;
use crate::faults::tally::{CallFailure, CallOutcome, Tally};
use berth_testkit::in_process::Client;
use berth_testkit::{eventually, post, when};

/// The idle timeout of Go's clients.
const IDLE: Duration = Duration::from_secs(90);

/// The address to call, and the trusted authorities.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    name: ServerName<'static>,
    trust: watch::Receiver<Arc<ClientConfig>>,
}

/// The way in which calls are made.
pub struct Manner {
    pub calls: Vec<Call>,
    pub connections: usize,
    /// The timeout of a call, which the call also states.
    pub patience: Duration,
    /// The pause of a caller between calls.
    pub pause: fn() -> Duration,
    /// The maximum number of calls on a connection.
    pub each: usize,
}

/// Callers that run until [`stop`](Self::stop).
pub struct Load {
    shared: Arc<Shared>,
    callers: JoinSet<()>,
}

struct Shared {
    target: Target,
    manner: Manner,
    stopped: AtomicBool,
    tally: Mutex<Tally>,
}

/// A kept connection.
struct Kept {
    sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
    trust: Arc<ClientConfig>,
    calls: usize,
    used: Instant,
}

/// The trusted bundle of callers, which a test can change.
pub fn trusting(pem: &str) -> watch::Sender<Arc<ClientConfig>> {
    watch::Sender::new(client(pem))
}

pub fn client(pem: &str) -> Arc<ClientConfig> {
    let client = Client {
        alpn: &["http/1.1"],
        ..Client::trusting(pem)
    };
    Arc::new(client.config())
}

// === impl Target ===

impl Target {
    /// This host, called by this name.
    pub fn new(port: u16, name: &'static str, trust: &watch::Sender<Arc<ClientConfig>>) -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            name: name.try_into().unwrap(),
            trust: trust.subscribe(),
        }
    }

    /// Makes the TLS handshake on a connection.
    pub async fn tls(&self, tcp: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        let trust = self.trust.borrow().clone();
        TlsConnector::from(trust)
            .connect(self.name.clone(), tcp)
            .await
    }

    async fn connect(&self) -> Result<Kept, String> {
        let trust = self.trust.borrow().clone();
        let words = |error: std::io::Error| error.to_string();
        let tcp = TcpStream::connect(self.address).await.map_err(words)?;
        tcp.set_nodelay(true).map_err(words)?;
        let connector = TlsConnector::from(Arc::clone(&trust));
        let tls = connector.connect(self.name.clone(), tcp).await;
        let io = TokioIo::new(tls.map_err(|error| format!("handshake: {error}"))?);
        let (sender, connection) = handshake(io).await.map_err(|error| error.to_string())?;
        let driver = tokio::spawn(connection).abort_handle();
        Ok(Kept {
            sender,
            driver,
            trust,
            calls: 0,
            used: Instant::now(),
        })
    }
}

// === impl Manner ===

impl Default for Manner {
    /// Some hundred calls a second, as a registration of ours has them.
    fn default() -> Self {
        Self {
            calls: crate::faults::calls::mix(),
            connections: 6,
            patience: Duration::from_secs(5),
            pause: || Duration::from_millis(fastrand::u64(5..25)),
            each: usize::MAX,
        }
    }
}

// === impl Load ===

impl Load {
    pub fn start(target: Target, manner: Manner) -> Self {
        let shared = Arc::new(Shared {
            target,
            stopped: AtomicBool::new(false),
            tally: Mutex::default(),
            manner,
        });
        let mut callers = JoinSet::new();
        for caller in 0..shared.manner.connections {
            callers.spawn(call_on(Arc::clone(&shared), caller));
        }
        Self { shared, callers }
    }

    /// The outcomes of the calls so far.
    pub fn so_far(&self) -> Tally {
        self.shared.tally.lock().unwrap().clone()
    }

    /// Waits until this number of further calls has ended.
    pub async fn go_on(&self, calls: u64) {
        let enough = self.so_far().calls() + calls;
        eventually("more calls that came to an end", async || {
            when(self.so_far(), |it| it.calls() >= enough)
        })
        .await;
    }

    /// Waits for the calls in flight, and returns the outcomes of all.
    pub async fn stop(mut self) -> Tally {
        self.shared.stopped.store(true, Ordering::Relaxed);
        while let Some(ended) = self.callers.join_next().await {
            ended.unwrap();
        }
        self.so_far()
    }
}

async fn call_on(shared: Arc<Shared>, caller: usize) {
    let Manner {
        calls,
        patience,
        pause,
        ..
    } = &shared.manner;
    let mut kept = None;
    let mut calls = calls.iter().cycle().skip(caller);
    while !shared.stopped.load(Ordering::Relaxed) {
        let Some(call) = calls.next() else { return };
        let begun = Instant::now();
        let called = timeout(*patience, shared.call(call, &mut kept)).await;
        let outcome = called.unwrap_or_else(|_| {
            kept = None;
            CallOutcome::Failed(
                CallFailure::Late,
                format!("{} within {patience:?}", call.path),
            )
        });
        shared.tally.lock().unwrap().count(outcome, begun.elapsed());
        // A stop does not wait for the end of a pause.
        let mut pause = pause();
        while !pause.is_zero() && !shared.stopped.load(Ordering::Relaxed) {
            let part = pause.min(Duration::from_millis(100));
            sleep(part).await;
            pause -= part;
        }
    }
}

impl Shared {
    async fn call(&self, call: &Call, kept: &mut Option<Kept>) -> CallOutcome {
        let (body, uid) = call.next();
        let body = Bytes::from(body);
        loop {
            // After a change of the bundle, connections of the old bundle are not used.
            let trust = Arc::clone(&self.target.trust.borrow());
            let mut reused = true;
            let good = |it: &Kept| Arc::ptr_eq(&it.trust, &trust) && it.used.elapsed() < IDLE;
            let mut connection = match kept.take().filter(good) {
                Some(connection) => connection,
                None => {
                    reused = false;
                    self.tally.lock().unwrap().connections += 1;
                    match self.target.connect().await {
                        Ok(connection) => connection,
                        Err(why) => return CallOutcome::Failed(CallFailure::Connect, why),
                    }
                }
            };
            let renew = |why: &dyn std::fmt::Debug| {
                if reused {
                    self.tally.lock().unwrap().renewed += 1;
                    return None;
                }
                let why = format!("a new connection is closed: {why:?}");
                Some(CallOutcome::Failed(CallFailure::Transport, why))
            };
            if let Err(error) = connection.sender.ready().await {
                match renew(&error) {
                    None => continue,
                    Some(failed) => return failed,
                }
            }
            let path = format!(
                "{}?timeout={}ms",
                call.path,
                self.manner.patience.as_millis()
            );
            let request = post(&path, body.clone());
            let answer = match connection.sender.try_send_request(request).await {
                Ok(answer) => answer,
                Err(mut error) => {
                    let was_sent = error.take_message().is_none();
                    let error = error.error();
                    if !was_sent {
                        match renew(error) {
                            None => continue,
                            Some(failed) => return failed,
                        }
                    }
                    let why = format!("no answer: {error:?}");
                    return CallOutcome::Failed(CallFailure::Transport, why);
                }
            };
            let (head, body) = answer.into_parts();
            let body = match body.collect().await {
                Ok(body) => body.to_bytes(),
                Err(error) => {
                    let why = format!("half an answer: {error:?}");
                    return CallOutcome::Failed(CallFailure::Transport, why);
                }
            };
            if head.status != 200 {
                let why = format!("{}: {:?}", head.status, body);
                return CallOutcome::Failed(CallFailure::Invalid, why);
            }
            let closes = head.headers.get(CONNECTION).is_some_and(|it| it == "close");
            connection.calls += 1;
            connection.used = Instant::now();
            if !closes && connection.calls < self.manner.each {
                *kept = Some(connection);
            }
            return call.judge(&uid, &body);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
