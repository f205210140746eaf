//! Sends reviews directly to a webhook.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, timeout_at};

use crate::check::{Checker, Expect, Fault};
use crate::client::{Connection, Target};
use crate::generate::fresh_uid;
use crate::script::{Script, Uid};
use crate::worker::{CallResult, Caller};

/// A webhook and its requests.
pub(crate) struct Webhook {
    target: Target,
    script: Script,
    /// Requests by the index of the review.
    requests: Vec<Request>,
}

struct Request {
    bytes: Vec<u8>,
    /// The position of the uid in the bytes, or the uid of a file.
    uid: Uid,
    expect: Expect,
}

/// One connection to a webhook.
pub(crate) struct OneConnection {
    webhook: Arc<Webhook>,
    kept: Option<Connection>,
    checker: Checker,
    /// The bytes of the current request, if its uid is generated.
    buffer: Vec<u8>,
    reconnects: u64,
}

impl Webhook {
    /// Builds the bytes of all requests. `any_uid` accepts a webhook that responds with another uid.
    pub(crate) fn new(target: Target, script: Script, limit: Duration, any_uid: bool) -> Self {
        let script = match target.path() {
            Some(path) => script.only_for(path.split('?').next().unwrap_or(path)),
            None => script,
        };
        let request = |review: &crate::script::Review| {
            let bytes = target.request(review.path, &review.body, limit);
            let head = bytes.len() - review.body.len();
            let uid = match &review.uid {
                _ if any_uid => Uid::Any,
                Uid::FreshAt(at) => Uid::FreshAt(head + at),
                other => other.clone(),
            };
            Request {
                bytes,
                uid,
                expect: review.expect,
            }
        };
        let requests = script.reviews.iter().map(request).collect();
        Self {
            target,
            script,
            requests,
        }
    }

    pub(crate) fn labels(&self) -> &[String] {
        &self.script.labels
    }

    /// # Errors
    /// No connection within this time.
    pub(crate) async fn connect(self: &Arc<Self>, within: Duration) -> Result<OneConnection> {
        let connection = match timeout_at(Instant::now() + within, self.target.connect()).await {
            Ok(connected) => connected?,
            Err(_) => anyhow::bail!("no connection within {within:?}; is the server overloaded?"),
        };
        Ok(OneConnection {
            webhook: Arc::clone(self),
            kept: Some(connection),
            checker: Checker::default(),
            buffer: Vec::new(),
            reconnects: 0,
        })
    }
}

impl Caller for OneConnection {
    fn label(&self, number: u64) -> usize {
        self.webhook.script.review(number).1.label
    }

    /// A call waits for a new connection if it needs one, so the latency includes the connection.
    async fn call(&mut self, number: u64, deadline: Instant) -> CallResult {
        let webhook = Arc::clone(&self.webhook);
        let (index, _) = webhook.script.review(number);
        let request = &webhook.requests[index];
        let mut connection = match self.kept.take() {
            Some(connection) => connection,
            None => match timeout_at(deadline, webhook.target.connect()).await {
                Ok(Ok(connection)) => {
                    self.reconnects += 1;
                    connection
                }
                Ok(Err(error)) => return Err((Fault::Connect, format!("{error:#}"))),
                Err(_) => {
                    let words = "no connection in time; is the server overloaded?";
                    return Err((Fault::Connect, words.into()));
                }
            },
        };
        let fresh;
        let (bytes, uid) = match &request.uid {
            Uid::Any => (&request.bytes, None),
            Uid::Of(uid) => (&request.bytes, Some(uid.as_bytes())),
            Uid::FreshAt(at) => {
                fresh = fresh_uid();
                self.buffer.clone_from(&request.bytes);
                self.buffer[*at..at + fresh.len()].copy_from_slice(&fresh);
                (&self.buffer, Some(&fresh[..]))
            }
        };
        let answer = match timeout_at(deadline, connection.call(&webhook.target, bytes)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err((Fault::Call, format!("{error:#}"))),
            Err(_) => return Err((Fault::Timeout, "no response in time, see --timeout".into())),
        };
        let ended = Instant::now();
        if !answer.close {
            self.kept = Some(connection);
        }
        let verdict = self.checker.check(index, uid, request.expect, &answer)?;
        Ok((verdict, ended))
    }

    fn reconnects(&self) -> u64 {
        self.reconnects
    }
}
