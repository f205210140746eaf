//! A writer: sends writes when they are due, and reads the webhooks' verdict from the API server's response.

use std::sync::Arc;

use anyhow::Result;
use http::{HeaderName, HeaderValue};
use hyper_util::client::legacy;
use kube::Error;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::objects::clusters;
use super::{Call, TestedHub, impersonation};
use crate::check::{Expect, Fault, Verdict};
use crate::generate::User;
use crate::mix::WriteKind;
use crate::worker::{CallResult, Caller, expected};

/// Settings of the writers of a run.
pub(crate) struct Plan {
    pub(crate) kinds: Vec<WriteKind>,
    pub(crate) round: Vec<WriteKind>,
    pub(crate) expect: Box<dyn Fn(WriteKind) -> Expect + Send + Sync>,
    /// Send dry runs.
    pub(crate) dry_run: bool,
}

/// Writes to its own objects, one write at a time.
pub(crate) struct Writer {
    hub: TestedHub,
    plan: Arc<Plan>,
    number: usize,
    headers: Vec<(HeaderName, HeaderValue)>,
    state: State,
}

/// The state that was stored last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct State {
    accepted: bool,
    /// The index of the cluster's set.
    set: usize,
}

impl Writer {
    /// Returns the writer with this number. Without a user it writes as the kubeconfig's user.
    ///
    /// # Errors
    /// The name of the user cannot be sent in a header.
    pub(crate) fn new(
        hub: &TestedHub,
        plan: &Arc<Plan>,
        number: usize,
        user: Option<&User>,
    ) -> Result<Self> {
        Ok(Self {
            hub: hub.clone(),
            plan: Arc::clone(plan),
            number,
            headers: user.map_or(Ok(Vec::new()), impersonation)?,
            state: State::default(),
        })
    }

    fn kind(&self, number: u64) -> WriteKind {
        let round = &self.plan.round;
        round[(number % round.len() as u64) as usize]
    }

    /// Returns a write, the request that reverts it, and the state after it.
    fn write(&self, kind: WriteKind, number: u64) -> (Call, Option<Call>, State) {
        let names = &self.hub.names;
        let own = format!("{}/{}", clusters(), names.own_cluster(self.number));
        let patch = |body: Value| Call {
            method: "PATCH",
            path: own.clone(),
            body,
        };
        let mut state = self.state;
        let (mut call, undo) = match kind {
            WriteKind::Update => {
                let note = json!({"loadtest": number.to_string()});
                (patch(json!({"metadata": {"annotations": note}})), None)
            }
            WriteKind::Accept => {
                state.accepted = !state.accepted;
                let accepted = json!({"hubAcceptsClient": state.accepted});
                (patch(json!({"spec": accepted})), None)
            }
            WriteKind::Move => {
                state.set = 1 - state.set;
                let label = json!({berth_api::labels::CLUSTER_SET: names.sets[state.set]});
                (patch(json!({"metadata": {"labels": label}})), None)
            }
            WriteKind::Create | WriteKind::Bind => {
                let object = match kind {
                    WriteKind::Bind => names.binding(self.number),
                    _ => names.cluster(&names.another_cluster(self.number, number)),
                };
                let undo = Call {
                    method: "DELETE",
                    path: object.path(),
                    body: Value::Null,
                };
                let create = Call {
                    method: "POST",
                    path: object.collection,
                    body: object.body,
                };
                (create, Some(undo))
            }
        };
        if self.plan.dry_run {
            call.path.push_str("?dryRun=All");
            return (call, None, self.state);
        }
        (call, undo, state)
    }
}

impl Caller for Writer {
    fn label(&self, number: u64) -> usize {
        let kind = self.kind(number);
        let kinds = &self.plan.kinds;
        kinds.iter().position(|each| *each == kind).unwrap_or(0)
    }

    /// A created object is deleted afterwards; the latency does not include that.
    async fn call(&mut self, number: u64, deadline: Instant) -> CallResult {
        let kind = self.kind(number);
        let (call, undo, state) = self.write(kind, number);
        let answer = timeout_at(deadline, self.hub.send(&call, &self.headers)).await;
        let ended = Instant::now();
        let Ok(answer) = answer else {
            let words = "no response in time, see --timeout";
            return Err((Fault::Timeout, words.into()));
        };
        let (verdict, words) = verdict(answer.err())?;
        if verdict == Verdict::Allowed {
            self.state = state;
            if let Some(undo) = undo {
                // With the tool's own permissions, because the user may not be allowed to delete.
                if let Err(error) = self.hub.ask(&undo).await
                    && !super::is_not_found(&error)
                {
                    let words = format!("cannot delete {}: {error:#}", undo.path);
                    return Err((Fault::Status, words));
                }
            }
        }
        expected((self.plan.expect)(kind), verdict, &words).map(|verdict| (verdict, ended))
    }
}

/// Returns the webhooks' verdict from a response (allowed unless it is an error), and a message.
fn verdict(error: Option<Error>) -> Result<(Verdict, String), (Fault, String)> {
    let status = match error {
        None => return Ok((Verdict::Allowed, String::new())),
        Some(Error::Api(status)) => status,
        Some(error) => {
            let fault = if is_connect(&error) {
                Fault::Connect
            } else {
                Fault::Call
            };
            return Err((fault, format!("{:#}", anyhow::Error::from(error))));
        }
    };
    let words = format!("status {}: {}", status.code, status.message);
    let says = |part: &str| status.message.contains(part);
    if says("failed calling webhook") || says("failed to call webhook") {
        return Err((Fault::Webhook, words));
    }
    if !(says("admission webhook ") && says(" denied the request")) {
        return Err((Fault::Status, words));
    }
    let verdict = match status.code {
        429 | 500.. => Verdict::Undecided,
        _ => Verdict::Denied,
    };
    Ok((verdict, words))
}

/// Returns whether the connection failed.
fn is_connect(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<legacy::Error>() {
            return error.is_connect();
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn an_api_servers_answer_is_a_verdict_or_a_failure() {
        let said = |code: u16, message: &str| {
            let status = Status {
                code,
                message: message.into(),
                ..Status::default()
            };
            verdict(Some(Error::Api(Box::new(status))))
                .map(|(verdict, _)| verdict)
                .map_err(|(fault, words)| (fault, words.contains(message)))
        };
        let denied = r#"admission webhook "managedclustervalidators.x" denied the request: no"#;
        let rows = [
            (403, denied, Ok(Verdict::Denied)),
            (400, denied, Ok(Verdict::Denied)),
            (500, denied, Ok(Verdict::Undecided)),
            (429, denied, Ok(Verdict::Undecided)),
            (403, "user \"x\" cannot patch", Err((Fault::Status, true))),
            (
                409,
                "the object has been modified",
                Err((Fault::Status, true)),
            ),
            (
                500,
                "Internal error occurred: failed calling webhook \"x\": connection refused",
                Err((Fault::Webhook, true)),
            ),
        ];
        for (code, message, expected) in rows {
            assert_eq!(said(code, message), expected, "{code} {message}");
        }
        assert_eq!(verdict(None).unwrap().0, Verdict::Allowed);
    }
}
