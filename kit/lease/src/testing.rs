//! A hub with one Lease, and a network to it that may fail in every way. Each write is checked: nobody becomes the holder
//! while another has not said that its term is over, or still has a write under way.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use berth_hub::{HubApi, RequestBody};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use crate::elector::{Claim, spawn};
use crate::{LeaseParams, Term};

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/hub/leases";

/// What happens to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// No request arrives.
    Hang,
    /// It is done, but no answer arrives.
    AnswerLost,
    /// It arrives after this time, even if it was given up meanwhile.
    Late(Duration),
    /// It is done at once, and answered after this time.
    SlowAnswer(Duration),
    /// Refused with this code.
    Refused(u16),
    /// Done, but answered as if it had failed.
    DoneButFailed,
    /// Writes conflict; looks succeed.
    Conflict,
}

#[derive(Default)]
struct State {
    lease: Option<Value>,
    revision: u64,
    requests: Vec<(Instant, String, Method)>,
    electors: Vec<Watched>,
    /// A PUT to a Lease that is gone: the real server finds that the uid is another (409), others find nothing (404).
    gone: Option<u16>,
    violations: Vec<String>,
}

struct Watched {
    identity: String,
    claims: watch::Receiver<Arc<Claim>>,
    writing: Arc<Mutex<bool>>,
}

#[derive(Clone, Default)]
pub(crate) struct FakeLeaseApi(Arc<Mutex<State>>);

/// An elector that stands.
pub(crate) struct Standing {
    pub(crate) claims: watch::Receiver<Arc<Claim>>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) task: JoinHandle<()>,
    fault: Arc<Mutex<Fault>>,
    writing: Arc<Mutex<bool>>,
}

// === impl FakeLeaseApi ===

impl FakeLeaseApi {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn stand(&self, identity: &str) -> Standing {
        self.stand_with(LeaseParams::new("hub", "lock", identity), Fault::None)
    }

    pub(crate) fn stand_with(&self, params: LeaseParams, fault: Fault) -> Standing {
        let fault = Arc::new(Mutex::new(fault));
        let shutdown = CancellationToken::new();
        let identity = params.identity.clone();
        let (claims, task) = spawn(
            &Handle::current(),
            self.client_through(identity.name(), fault.clone()),
            params,
            shutdown.clone(),
        )
        .unwrap();
        let writing = Arc::new(Mutex::new(false));
        self.state().electors.push(Watched {
            identity: identity.name().to_owned(),
            claims: claims.clone(),
            writing: writing.clone(),
        });
        Standing {
            claims,
            shutdown,
            task,
            fault,
            writing,
        }
    }

    pub(crate) fn client(&self, who: &str) -> HubApi {
        self.client_through(who, Arc::default())
    }

    fn client_through(&self, who: &str, fault: Arc<Mutex<Fault>>) -> HubApi {
        let (hub, who) = (self.clone(), who.to_owned());
        let service = service_fn(move |request: Request<RequestBody>| {
            let (hub, who) = (hub.clone(), who.clone());
            let fault = *fault.lock().unwrap();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                hub.state()
                    .requests
                    .push((Instant::now(), who, head.method.clone()));
                let write = head.method != Method::GET;
                let done =
                    move |hub: FakeLeaseApi| hub.answer(&head.method, head.uri.path(), &body);
                sleep(Duration::from_millis(fastrand::u64(1..10))).await;
                let (code, body) = match fault {
                    Fault::None => done(hub),
                    Fault::Hang => std::future::pending().await,
                    Fault::AnswerLost => {
                        done(hub);
                        std::future::pending().await
                    }
                    // A task of its own: it arrives though its sender has gone.
                    Fault::Late(by) => {
                        let late = async move {
                            sleep(by).await;
                            done(hub)
                        };
                        tokio::spawn(late).await.unwrap()
                    }
                    Fault::SlowAnswer(by) => {
                        let answer = done(hub);
                        sleep(by).await;
                        answer
                    }
                    Fault::Refused(code) => status(code, "Refused"),
                    Fault::DoneButFailed => {
                        done(hub);
                        status(500, "InternalError")
                    }
                    Fault::Conflict if write => status(409, "Conflict"),
                    Fault::Conflict => done(hub),
                };
                sleep(Duration::from_millis(fastrand::u64(1..10))).await;
                let body = Full::new(Bytes::from(serde_json::to_vec(&body).unwrap()));
                Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
            }
        });
        HubApi::new(service)
    }

    fn answer(&self, method: &Method, path: &str, body: &[u8]) -> (u16, Value) {
        let mut state = self.state();
        let sent: Value = serde_json::from_slice(body).unwrap_or_default();
        match (method.as_str(), path.strip_prefix(PATH)) {
            ("GET", Some("/lock")) => state
                .lease
                .clone()
                .map_or_else(|| status(404, "NotFound"), |lease| (200, lease)),
            ("POST", Some("")) if state.lease.is_some() => status(409, "AlreadyExists"),
            ("POST", Some("")) => {
                let mut lease = sent;
                assert_eq!(lease["metadata"]["resourceVersion"], Value::Null);
                lease["metadata"]["uid"] = json!(format!("uid-{}", state.revision));
                state.check_holder(&lease);
                (201, state.store(lease))
            }
            ("PUT", Some("/lock")) => {
                let Some(stored) = &state.lease else {
                    return match state.gone {
                        Some(404) => status(404, "NotFound"),
                        _ => status(409, "Conflict"),
                    };
                };
                assert_ne!(
                    sent["metadata"]["resourceVersion"],
                    Value::Null,
                    "a blind write"
                );
                let same = |field: &str| stored["metadata"][field] == sent["metadata"][field];
                if !same("resourceVersion") || !same("uid") {
                    return status(409, "Conflict");
                }
                state.check_holder(&sent);
                (200, state.store(sent))
            }
            other => panic!("no such request: {other:?}"),
        }
    }

    /// Changes the Lease as somebody else would.
    pub(crate) fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        if let Some(mut lease) = state.lease.clone() {
            change(&mut lease);
            state.store(lease);
        }
    }

    /// A Lease as others made it.
    pub(crate) fn put(&self, spec: Value) {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
            "metadata": {"name": "lock", "namespace": "hub", "uid": "theirs", "labels": {"kept": "yes"},
                "managedFields": [{"manager": "registration", "operation": "Update"}]}});
        self.state().store(lease);
    }

    pub(crate) fn delete(&self) {
        self.state().lease = None;
    }

    pub(crate) fn gone_is(&self, code: u16) {
        self.state().gone = Some(code);
    }

    pub(crate) fn lease(&self) -> Value {
        self.state().lease.clone().unwrap_or_default()
    }

    pub(crate) fn holder(&self) -> String {
        self.lease()["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// The requests of one since then.
    pub(crate) fn requests(&self, who: &str, since: Instant) -> Vec<Method> {
        let state = self.state();
        let of = state
            .requests
            .iter()
            .filter(|(at, sender, _)| sender == who && *at >= since);
        of.map(|(_, _, method)| method.clone()).collect()
    }

    /// Looks at who leads, ten times a second, for so long.
    pub(crate) async fn watch_for(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            sleep(Duration::from_millis(100)).await;
            self.check();
        }
    }

    /// # Panics
    /// Somebody led, or wrote, while another led.
    pub(crate) fn check(&self) {
        let leaders = self.leaders();
        assert!(leaders.len() <= 1, "{leaders:?} lead");
        let state = self.state();
        assert!(state.violations.is_empty(), "{:?}", state.violations);
    }

    pub(crate) fn leaders(&self) -> Vec<String> {
        let state = self.state();
        state
            .electors
            .iter()
            .filter(|elector| elector.leads())
            .map(|elector| elector.identity.clone())
            .collect()
    }

    /// A hub where this one leads within this time, and nobody else until then.
    pub(crate) async fn leads_within(&self, who: &str, time: Duration) {
        let end = Instant::now() + time;
        while self.leaders() != [who] {
            assert!(
                Instant::now() < end,
                "{who} does not lead: {:?}, {}",
                self.leaders(),
                self.lease()
            );
            self.watch_for(Duration::from_millis(100)).await;
        }
    }
}

// === impl State ===

impl State {
    fn store(&mut self, mut lease: Value) -> Value {
        self.revision += 1;
        lease["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.lease = Some(lease.clone());
        lease
    }

    fn check_holder(&mut self, lease: &Value) {
        let holder = lease["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        // A released Lease may be another's a moment later.
        for other in self
            .electors
            .iter()
            .filter(|other| other.identity != holder)
        {
            let said = other.claims.borrow().term.is_none();
            let writing = *other.writing.lock().unwrap();
            if !said || writing {
                let who = &other.identity;
                self.violations.push(format!(
                    "{holder:?} holds it; {who} said its loss: {said}, is writing: {writing}"
                ));
            }
        }
    }
}

// === impl Watched ===

impl Watched {
    fn leads(&self) -> bool {
        let claim = self.claims.borrow().clone();
        claim
            .term
            .as_ref()
            .is_some_and(|term| term.remaining(Instant::now().into_std()).is_some())
    }
}

// === impl Standing ===

impl Standing {
    pub(crate) fn network(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    pub(crate) fn term(&self) -> Option<Term> {
        self.claims.borrow().term.clone()
    }

    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.unwrap();
    }

    /// Writes for the leader as reconcilers do: each write with its bound, one after the other, each taking up to 8 s.
    pub(crate) fn work(&self) -> JoinHandle<()> {
        let (mut claims, writing) = (self.claims.clone(), self.writing.clone());
        tokio::spawn(async move {
            loop {
                let term = claims.borrow_and_update().term.clone();
                if let Some(term) = term {
                    while let Some(bound) = term.bound(Duration::from_secs(5)) {
                        *writing.lock().unwrap() = true;
                        let _ = tokio::time::timeout(
                            bound,
                            sleep(Duration::from_millis(fastrand::u64(0..8_000))),
                        )
                        .await;
                        *writing.lock().unwrap() = false;
                    }
                }
                if claims.changed().await.is_err() {
                    return;
                }
            }
        })
    }
}

fn status(code: u16, reason: &str) -> (u16, Value) {
    let body = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason,
        "message": format!("the hub says {reason}"), "details": {"name": "lock", "group": "coordination.k8s.io", "kind": "leases"}});
    (code, body)
}
