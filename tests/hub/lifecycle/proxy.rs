//! A proxy between the reconcilers and their hub: it forwards requests with the reconcilers' credentials, records them, and
//! makes the faults that a test selects.

use std::convert::Infallible;
use std::io::Error;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures::{Stream, StreamExt, stream};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::lifecycle::hub::account;
use berth_testkit::cluster::Cluster;

type Answer = Response<UnsyncBoxBody<Bytes, Error>>;
type Rule = Box<dyn FnMut(&Asked) -> Fault + Send>;

/// The fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Pass,
    /// The proxy responds with this code, without the hub; 429 has a Retry-After of one second.
    Answer(u16),
    /// No response ever comes.
    Hang,
    /// The connection ends before the hub gets the request.
    CutBefore,
    /// The hub handles the request, and the connection ends before the response.
    CutAfter,
    /// A watch ends in the middle of its first event.
    CutInEvent,
    /// A watch begins with an ERROR event: it cannot be resumed.
    Gone,
    /// A watch begins and sends no events.
    Silent,
    /// A watch sends a bookmark in place of each event.
    Bookmarks,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Asked {
    pub at: Instant,
    pub method: Method,
    pub path: String,
    pub query: String,
    pub body: Value,
    pub fault: Fault,
    /// When the hub's response came.
    pub answered: Option<Instant>,
}

/// The state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Up,
    /// All connections end, new ones too.
    Cut,
    /// No bytes are forwarded; connections stay open.
    Hangs,
}

/// Serves until the runtime of the test ends.
pub struct Proxy {
    pub url: String,
    state: Arc<State>,
}

struct State {
    client: Mutex<Client>,
    rule: Mutex<Rule>,
    asked: Mutex<Vec<Asked>>,
    line: watch::Sender<Line>,
    /// How often all watches have been cut.
    cuts: watch::Sender<u64>,
    connections: watch::Sender<Connections>,
}

/// Counts of connections from the reconcilers.
#[derive(Clone, Copy, Default)]
struct Connections {
    begun: usize,
    ended: usize,
}

// === impl Proxy ===

impl Proxy {
    /// Starts a proxy that forwards everything.
    pub async fn start(cluster: &Cluster) -> Self {
        Self::of(account(cluster).await.client).await
    }

    /// The same, with the credentials of another client.
    pub async fn of(client: Client) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            client: Mutex::new(client),
            rule: Mutex::new(Box::new(|_| Fault::Pass)),
            asked: Mutex::default(),
            line: watch::Sender::new(Line::Up),
            cuts: watch::Sender::new(0),
            connections: watch::Sender::default(),
        });
        tokio::spawn(serve(listener, Arc::clone(&state)));
        Self { url, state }
    }

    /// From now on, this rule selects the fault of each request.
    pub fn rule(&self, rule: impl FnMut(&Asked) -> Fault + Send + 'static) {
        *self.state.rule.lock().unwrap() = Box::new(rule);
    }

    pub fn line(&self, line: Line) {
        self.state.line.send_replace(line);
    }

    /// Forwards to another hub from now on, with this client.
    pub async fn moves_to(&self, client: Client) {
        *self.state.client.lock().unwrap() = client;
        self.end_connections().await;
    }

    /// Ends all connections, and returns when they have ended. New ones are accepted again.
    pub async fn end_connections(&self) {
        let begun = self.state.connections.borrow().begun;
        self.line(Line::Cut);
        let mut connections = self.state.connections.subscribe();
        let ended = connections.wait_for(|it| it.ended >= begun).await;
        drop(ended.unwrap());
        self.line(Line::Up);
    }

    /// Ends all watches, each in the middle of an event.
    pub fn cut_watches(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// All requests so far that write.
    pub fn writes(&self) -> Vec<Asked> {
        self.asked(Asked::writes)
    }

    /// All requests so far that satisfy the condition.
    pub fn asked(&self, is: impl Fn(&Asked) -> bool) -> Vec<Asked> {
        let asked = self.state.asked.lock().unwrap();
        asked.iter().filter(|it| is(it)).cloned().collect()
    }

    /// Returns true if a request so far satisfies the condition.
    pub fn any(&self, is: impl Fn(&Asked) -> bool) -> bool {
        self.state.asked.lock().unwrap().iter().any(is)
    }

    /// The number of requests so far that satisfy the condition.
    pub fn count(&self, is: impl Fn(&Asked) -> bool) -> usize {
        let asked = self.state.asked.lock().unwrap();
        asked.iter().filter(|it| is(it)).count()
    }
}

impl Asked {
    pub fn watches(&self) -> bool {
        self.query.contains("watch=true")
    }

    pub fn writes(&self) -> bool {
        self.method != Method::GET
    }

    pub fn tells_event(&self) -> bool {
        self.path.ends_with("/events")
    }

    /// A key that is equal for equal writes to one object.
    pub fn key(&self) -> String {
        let name = match self.method {
            Method::POST => self.body["metadata"]["name"].as_str().unwrap_or_default(),
            _ => "",
        };
        format!("{} {}?{} {name}", self.method, self.path, self.query)
    }

    /// Returns true if the request is about an object of this cluster.
    pub fn concerns(&self, cluster: &str) -> bool {
        self.path
            .split(['/', ':'])
            .chain(
                self.body["metadata"]["name"]
                    .as_str()
                    .into_iter()
                    .flat_map(|name| name.split(':')),
            )
            .any(|part| part == cluster)
    }
}

// === impl State ===

impl State {
    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, Error> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(Error::other)?.to_bytes();
        let mut asked = Asked {
            at: Instant::now(),
            method: head.method.clone(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            fault: Fault::Pass,
            answered: None,
        };
        asked.fault = (self.rule.lock().unwrap())(&asked);
        let place = {
            let mut all = self.asked.lock().unwrap();
            all.push(asked.clone());
            all.len() - 1
        };
        let mut line = self.line.subscribe();
        let moves = async |line: &mut watch::Receiver<Line>| {
            let _ = line.wait_for(|line| *line != Line::Hangs).await;
        };
        moves(&mut line).await;
        match asked.fault {
            Fault::Answer(code) => return Ok(refusal(code)),
            Fault::Hang => std::future::pending().await,
            Fault::CutBefore => return Err(Error::other("cut before")),
            Fault::Gone => {
                let event = json!({"type": "ERROR", "object": status(410)});
                return Ok(of_json(200, format!("{event}\n")));
            }
            Fault::Pass
            | Fault::CutAfter
            | Fault::CutInEvent
            | Fault::Silent
            | Fault::Bookmarks => {}
        }
        let mut request = Request::builder()
            .method(head.method)
            .uri(head.uri.path_and_query().unwrap().as_str());
        for name in [ACCEPT, CONTENT_TYPE] {
            if let Some(value) = head.headers.get(&name) {
                request = request.header(name, value);
            }
        }
        let request = request
            .body(kube::client::Body::from(body.to_vec()))
            .unwrap();
        let client = self.client.lock().unwrap().clone();
        let answer = client.send(request).await.map_err(Error::other)?;
        self.asked.lock().unwrap()[place].answered = Some(Instant::now());
        moves(&mut line).await;
        let (head, body) = answer.into_parts();
        let body = if asked.watches() {
            self.watched(body, asked.fault)
        } else {
            let body = body.collect().await.map_err(Error::other)?.to_bytes();
            moves(&mut line).await;
            if asked.fault == Fault::CutAfter {
                return Err(Error::other("cut after"));
            }
            Full::new(body)
                .map_err(|never| match never {})
                .boxed_unsync()
        };
        let mut response = Response::new(body);
        *response.status_mut() = head.status;
        for name in [CONTENT_TYPE, RETRY_AFTER] {
            if let Some(value) = head.headers.get(&name) {
                response.headers_mut().insert(name, value.clone());
            }
        }
        Ok(response)
    }

    /// The events of a watch, until it is cut.
    fn watched(&self, body: kube::client::Body, fault: Fault) -> UnsyncBoxBody<Bytes, Error> {
        let mut line = self.line.subscribe();
        let mut cuts = self.cuts.subscribe();
        cuts.mark_unchanged();
        let frames = async_stream(move |to| async move {
            let mut told = BodyStream::new(body);
            let mut rest = Vec::new();
            loop {
                let frame = tokio::select! {
                    _ = cuts.changed() => None,
                    frame = told.next() => match frame {
                        Some(frame) => Some(frame),
                        None => return,
                    },
                };
                let _ = line.wait_for(|line| *line != Line::Hangs).await;
                let (data, cut) = match frame {
                    None => (
                        Bytes::from_static(br#"{"type":"MODIFIED","object":{"kind":"#),
                        true,
                    ),
                    Some(Err(error)) => {
                        let _ = to.send(Err(Error::other(error))).await;
                        return;
                    }
                    Some(Ok(_)) if fault == Fault::Silent => continue,
                    Some(Ok(frame)) => {
                        let data = frame.into_data().unwrap_or_default();
                        match fault {
                            Fault::CutInEvent => (data.slice(..data.len() / 2), true),
                            Fault::Bookmarks => (bookmarks(&mut rest, &data), false),
                            _ => (data, false),
                        }
                    }
                };
                if to.send(Ok(Frame::data(data))).await.is_err() {
                    return;
                }
                if cut {
                    let _ = to.send(Err(Error::other("cut in an event"))).await;
                    return;
                }
            }
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

/// A bookmark with the version of each event in `data`, one per line. `rest` holds the incomplete last line.
fn bookmarks(rest: &mut Vec<u8>, data: &[u8]) -> Bytes {
    rest.extend_from_slice(data);
    let whole = rest
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let lines: Vec<u8> = rest.drain(..whole).collect();
    let mut bookmarks = String::new();
    for line in lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let event: Value = serde_json::from_slice(line).unwrap();
        let object = &event["object"];
        let bookmark = json!({"type": "BOOKMARK", "object": {
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
        }});
        bookmarks.push_str(&format!("{bookmark}\n"));
    }
    bookmarks.into()
}

type Frames = mpsc::Sender<Result<Frame<Bytes>, Error>>;

/// A stream of what `tell` sends.
fn async_stream<F: Future<Output = ()> + Send + 'static>(
    tell: impl FnOnce(Frames) -> F,
) -> impl Stream<Item = Result<Frame<Bytes>, Error>> + Send {
    let (to, from) = mpsc::channel(1);
    tokio::spawn(tell(to));
    stream::unfold(from, async |mut from| {
        let frame = from.recv().await?;
        Some((frame, from))
    })
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    while let Ok((tcp, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        let mut line = state.line.subscribe();
        let connections = state.connections.clone();
        connections.send_modify(|it| it.begun += 1);
        let service = service_fn(move |request| {
            let state = Arc::clone(&state);
            async move { state.answer(request).await }
        });
        tokio::spawn(async move {
            tokio::select! {
                _ = http1::Builder::new().serve_connection(TokioIo::new(tcp), service) => {}
                _ = line.wait_for(|line| *line == Line::Cut) => {}
            }
            connections.send_modify(|it| it.ended += 1);
        });
    }
}

fn refusal(code: u16) -> Answer {
    let mut answer = of_json(code, status(code).to_string());
    if code == 429 {
        answer
            .headers_mut()
            .insert(RETRY_AFTER, "1".parse().unwrap());
    }
    answer
}

fn of_json(code: u16, body: String) -> Answer {
    let body = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = code.try_into().unwrap();
    let json = "application/json".parse().unwrap();
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

fn status(code: u16) -> Value {
    let reason = match code {
        403 => "Forbidden",
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("the line says {code}"), "reason": reason, "code": code,
    })
}
