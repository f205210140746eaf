//! Carries out decisions: sends the writes of a plan, applies the responses, and decides again, until nothing is due.

use std::sync::Arc;

use berth_api::plan::{Action, Write, WriteFailure};
use futures::future::join_all;
use serde::Deserialize;
use serde_json::Value;

use super::{Handle, Moment, Row, now};
use crate::object::RawObject;
use crate::queue::{self, Next};
use crate::refusal::Refusal;
use crate::seen::Source;
use crate::world::World;
use crate::writer::Written;

/// Upper bound on the plans for a key in a row. A decider that needs more makes writes that do not last.
pub const ROUNDS: usize = 16;

/// The outcome of writes.
#[derive(Debug)]
pub enum WriteOutcome {
    /// No write was due.
    Nothing,
    /// All were carried out.
    Written,
    /// Some failed.
    Failed(Vec<(WriteFailure, Refusal)>),
}

/// The row of what is written, and what was known of its kind before the call.
struct Before<W: World> {
    since: Moment<W::Kind>,
    row: Arc<Row<W>>,
}

impl<W: World> Handle<W> {
    /// Decides for a key and writes, until nothing is due.
    pub async fn settle(&self, key: &W::Key) -> Next {
        let done = self.attempt(key).await;
        done.unwrap_or_else(|failures| failed(&failures))
    }

    /// As [`Handle::settle`], but returns the failures.
    ///
    /// # Errors
    /// The writes that failed.
    pub async fn attempt(&self, key: &W::Key) -> Result<Next, Vec<(WriteFailure, Refusal)>> {
        let mut wrote = false;
        for _ in 0..ROUNDS {
            let plan = self.world().decide(key, now());
            match self.carry_out(plan.writes).await {
                WriteOutcome::Nothing => {
                    return Ok(Next::Settled {
                        again: plan.again,
                        pause: wrote.then(|| queue::now() + W::pause(key)),
                    });
                }
                WriteOutcome::Written => wrote = true,
                WriteOutcome::Failed(failures) => return Err(failures),
            }
        }
        Ok(never_settled(key))
    }

    /// Sends writes at the same time, and applies the responses to the world.
    pub async fn carry_out(&self, writes: Vec<Write>) -> WriteOutcome {
        if writes.is_empty() {
            return WriteOutcome::Nothing;
        }
        let outcomes = writes.iter().map(|write| self.write(write));
        let failures: Vec<_> = join_all(outcomes).await.into_iter().flatten().collect();
        if failures.is_empty() {
            WriteOutcome::Written
        } else {
            WriteOutcome::Failed(failures)
        }
    }

    async fn write(&self, write: &Write) -> Option<(WriteFailure, Refusal)> {
        let server = W::server(write);
        let Some(writer) = self.writers.get(server) else {
            tracing::error!(
                reconciler = write.reconciler,
                server,
                "a write names an API server that does not exist"
            );
            return None;
        };
        let row = match W::kind(write) {
            Some(kind) => self.row_in(kind).map(|row| (kind, row)),
            None => self.row_of(server, &write.target),
        };
        let before = row.map(|(kind, row)| Before {
            since: self.moment(kind),
            row,
        });
        let written = writer.write(write).await;
        // A deleted object may be of a kind that is not watched.
        let resource = before.as_ref().map_or("other", |it| it.row.watched.name);
        let outcome = written.as_ref().map(|_| ());
        let outcome = outcome.map_err(|(_, refusal)| refusal.code);
        self.metrics.wrote(write, resource, outcome);
        match written {
            Ok(written) => {
                self.written(server, before, write, &written);
                None
            }
            Err((failure, refusal)) => {
                log_failure::<W>(&failure, &refusal);
                Some((failure, refusal))
            }
        }
    }

    fn written(&self, server: usize, before: Option<Before<W>>, write: &Write, written: &Written) {
        let target = &write.target;
        let namespace = target.namespace.as_deref().unwrap_or_default();
        match (before, written) {
            (Some(Before { since, .. }), Written::Object(object))
                if takes_last_finalizer(write, object) =>
            {
                self.gone(since, namespace, &target.name);
            }
            (Some(Before { since, row }), Written::Object(object)) => {
                self.see(since.kind, &row.watched, &object.item(), Source::Write);
            }
            (Some(Before { since, .. }), Written::Gone) => {
                self.gone(since, namespace, &target.name)
            }
            (None, _) => {}
        }
        let Written::Object(object) = written else {
            return;
        };
        for event in &write.events {
            tracing::info!(
                reason = event.reason,
                note = event.note,
                namespace,
                name = target.name,
                "event"
            );
            // As OCM: only warnings are sent. Other Events are in the log, and cost the API server no write.
            if event.warning {
                self.tell(server, event, &object.parse().unwrap_or_default());
            }
        }
    }
}

/// The result of work on a key of which some writes failed. The key is decided again after a wait.
pub fn failed(failures: &[(WriteFailure, Refusal)]) -> Next {
    let waits = failures
        .iter()
        .filter_map(|(_, refusal)| refusal.retry_after);
    Next::Failed { wait: waits.max() }
}

/// The result of work on a key for which more is due after [`ROUNDS`] plans. It is logged; the key is decided again later.
pub fn never_settled(key: &impl std::fmt::Debug) -> Next {
    tracing::error!(
        ?key,
        "a reconcile does not settle: its writes do not last; another client may be writing the same"
    );
    Next::Failed { wait: None }
}

/// Returns true if the write removed the last finalizer of a deleted object: the object is gone, though the response has it.
fn takes_last_finalizer(write: &Write, answer: &RawObject) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        deletion_timestamp: Option<String>,
    }
    #[derive(Deserialize)]
    struct Deleted {
        metadata: Metadata,
    }
    let Action::Patch {
        subresource: None,
        body,
    } = &write.action
    else {
        return false;
    };
    let none_left = match body["metadata"].get("finalizers") {
        Some(Value::Null) => true,
        Some(Value::Array(left)) => left.is_empty(),
        _ => false,
    };
    let is_deleted = |it: Deleted| it.metadata.deletion_timestamp.is_some();
    none_left && answer.parse().is_ok_and(is_deleted)
}

/// Expected refusals (conflict, throttling) are logged at debug.
fn is_expected<W: World>(failure: &WriteFailure) -> bool {
    W::is_transient(failure) && !matches!(failure.code, 0 | 500..)
}

fn log_failure<W: World>(failure: &WriteFailure, refusal: &Refusal) {
    let target = &failure.target;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let warnings = (!refusal.warnings.is_empty()).then(|| refusal.warnings.join("; "));
    let words = "not written, tried again";
    if is_expected::<W>(failure) {
        tracing::debug!(
            reconciler = failure.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            code = failure.code,
            error = failure.message,
            warnings,
            "{words}"
        );
    } else {
        tracing::warn!(
            reconciler = failure.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            code = failure.code,
            error = failure.message,
            warnings,
            "{words}"
        );
    }
}

#[cfg(test)]
mod tests;
