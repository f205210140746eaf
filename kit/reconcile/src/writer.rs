//! Calls to an API server: a bounded number at a time, each with a deadline.
//!
//! # Guarantees
//! - No write is under way once another process may lead: its deadline ends with the term. (The exception is a process that
//!   is suspended just after it gave a request to a connection: the request is sent when the process continues.)
//! - A write that failed is not repeated here: the facts may have changed, so the key is decided again.

mod reads;
mod request;

use std::time::Duration;

use berth_api::plan::{Action, Target, Write, WriteFailure};
use berth_hub::{Answer, Call, CallError, HubApi};
use berth_lease::Term;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

pub(crate) use self::reads::Shell;
use self::request::{call_of, decided_from, path, text};
use crate::limit::Limit;
use crate::object::RawObject;
use crate::refusal::Refusal;

/// The longest time for a call.
const LONGEST: Duration = Duration::from_secs(15);

/// Upper bound on the calls under way. An API server that limits more strictly (priority and fairness) responds with 429,
/// which is respected.
const AT_ONCE: usize = 48;

/// Upper bound on the bytes of an object. etcd stores at most 1.5 MiB, which are more as JSON.
pub(crate) const LARGEST: usize = 4 << 20;

/// Calls one API server.
pub struct Writer {
    api: HubApi,
    term: Option<Term>,
    permits: Semaphore,
    limit: Option<Limit>,
    manager: &'static str,
}

/// The object after a write.
#[derive(Debug)]
pub enum Written {
    /// It exists, and is like this now.
    Object(RawObject),
    /// It does not exist.
    Gone,
}

// === impl Writer ===

impl Writer {
    /// Without a `term` no other process may lead. `manager`: the field manager of patches and new objects.
    pub(crate) fn new(
        api: HubApi,
        term: Option<Term>,
        limit: Option<Limit>,
        manager: &'static str,
    ) -> Self {
        Self {
            api,
            term,
            permits: Semaphore::new(AT_ONCE),
            limit,
            manager,
        }
    }

    /// A writer for another API server, within the same term and with the same field manager, without a limit but its own bounds.
    #[must_use]
    pub fn to(&self, api: HubApi) -> Self {
        Self::new(api, self.term.clone(), None, self.manager)
    }

    pub(crate) fn api(&self) -> &HubApi {
        &self.api
    }

    /// Sends a write. The caller applies the response, as [`Handle::carry_out`](crate::Handle::carry_out) does it for the API servers of a
    /// controller.
    ///
    /// # Errors
    /// The API server refused it, or did not respond in time. In the second case it may have been carried out.
    pub async fn write(&self, write: &Write) -> Result<Written, (WriteFailure, Refusal)> {
        let target = &write.target;
        let mut answer = self
            .call(call_of(target, &write.action, self.manager))
            .await;
        let exists = matches!(&answer, Err(refusal) if refusal.code == 409);
        match &write.action {
            Action::CreateOrPatch { patch, .. } if exists => {
                let patch = Action::Patch {
                    subresource: None,
                    body: patch.clone(),
                };
                let patched = self.call(call_of(target, &patch, self.manager)).await;
                answer = unless_absent(patched, answer);
            }
            Action::CreateOrUpdate { body } if exists => {
                answer = unless_absent(self.update(target, body).await, answer);
            }
            Action::Patch {
                subresource: None,
                body,
            } if matches!(&answer, Err(refusal) if may_not_patch(refusal)) => {
                match self.update(target, body).await {
                    Err(refusal) if refusal.code == 403 => {}
                    updated => answer = updated,
                }
            }
            _ => {}
        }
        if let Err(refusal) = answer {
            answer = Err(self.or_stale(write, refusal).await);
        }
        let deletes = write.action.reason_of_deletion().is_some();
        let written = match answer {
            Err(refusal) if deletes && refusal.is_absent => Ok(Written::Gone),
            Err(refusal) => Err(refusal),
            // A Status: the object was deleted at once.
            Ok(answer) if deletes && is_status(&answer.body) => Ok(Written::Gone),
            Ok(answer) => object_in(answer).map(Written::Object),
        };
        if written.is_ok() {
            log(write);
        }
        written.map_err(|refusal| {
            let failure = WriteFailure {
                reconciler: write.reconciler,
                target: target.clone(),
                code: refusal.code,
                message: refusal.message.clone(),
            };
            (failure, refusal)
        })
    }

    /// Returns the refusal; as a conflict, if the write was decided from an object that has changed since.
    ///
    /// An API server applies a patch to the stored object, calls the webhooks with the result, and only then compares
    /// resourceVersions. So a stale patch may be refused for its content: taints with times of yesterday, for example, which
    /// no user may set.
    async fn or_stale(&self, write: &Write, refusal: Refusal) -> Refusal {
        let (Some(decided_from), 400 | 403 | 422) = (decided_from(&write.action), refusal.code)
        else {
            return refusal;
        };
        let is_stale = match self.read(&write.target).await {
            Ok((stored, _)) => stored.meta.resource_version != decided_from,
            Err(unread) => unread.is_absent,
        };
        if !is_stale {
            return refusal;
        }
        Refusal {
            code: 409,
            message: format!("it has changed since this was decided: {}", refusal.message),
            ..refusal
        }
    }

    /// Reads an object, merges the patch into it, and replaces it. A write of another client in between is a conflict.
    async fn update(&self, target: &Target, patch: &Value) -> Result<Answer, Refusal> {
        let (stored, _) = self.read(target).await?;
        let mut object: Value = stored.parse().map_err(no_object)?;
        json_patch::merge(&mut object, patch);
        let path = format!("{}?fieldManager={}", path(target, None), self.manager);
        self.call(Call::put(path, text(&object))).await
    }

    /// Creates an object that the controller does not watch: a review, an Event.
    ///
    /// # Errors
    /// The API server refused it, or did not respond in time.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Refusal> {
        let answer = self.call(Call::post(path.to_owned(), text(body))).await?;
        answer.json().map_err(Refusal::from)
    }

    /// Makes a call that no [`Action`] describes, within the same bounds. The caller applies the response with
    /// [`Handle::observed`](crate::Handle::observed) or [`Handle::gone`](crate::Handle::gone).
    ///
    /// # Errors
    /// The API server refused it, or did not respond in time. In the second case it may have been carried out.
    pub async fn send(&self, call: Call) -> Result<Answer, CallError> {
        // The permit is held until the response has been read.
        let (_permit, longest) = self.turn(&call).await?;
        let call = call.within(longest).at_most(LARGEST);
        self.api.call(call).await
    }

    async fn call(&self, call: Call) -> Result<Answer, Refusal> {
        Ok(self.send(call).await?)
    }

    /// Waits until the call may be sent. Returns how long it may take then.
    async fn turn(
        &self,
        call: &Call,
    ) -> Result<(Option<SemaphorePermit<'_>>, Duration), CallError> {
        if let Some(limit) = &self.limit {
            limit.pass().await;
        }
        let permit = self.permits.acquire().await.ok();
        // Read last: both waits above take time of the term.
        let longest = match &self.term {
            None => LONGEST,
            Some(term) => term
                .bound(LONGEST)
                .ok_or_else(|| call.not_sent("another process leads now"))?,
        };
        Ok((permit, longest))
    }
}

/// Logs a write that was carried out, on whichever API server.
fn log(write: &Write) {
    let target = &write.target;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    tracing::debug!(
        reconciler = write.reconciler,
        resource = target.resource.resource,
        namespace,
        name = target.name,
        "written"
    );
    if let Some(why) = write.action.reason_of_deletion() {
        tracing::info!(
            reconciler = write.reconciler,
            resource = target.resource.resource,
            namespace,
            name = target.name,
            why,
            "deleted"
        );
    }
}

fn no_object(error: serde_json::Error) -> Refusal {
    Refusal::without_response(format!("the response is not an object: {error}"))
}

fn object_in(answer: Answer) -> Result<RawObject, Refusal> {
    RawObject::read(answer.body).map_err(no_object)
}

/// Returns true if the response to a deletion is a Status. Otherwise it is the object, which waits for its finalizers.
fn is_status(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    serde_json::from_slice::<Kind>(json).is_ok_and(|object| object.kind == "Status")
}

/// Authorization lets this account not patch the kind. OCM's roles grant update without patch for some.
fn may_not_patch(refusal: &Refusal) -> bool {
    refusal.code == 403 && refusal.message.contains("cannot patch resource")
}

/// The result of a second call, or that of the first if the object has been deleted in between.
fn unless_absent(
    second: Result<Answer, Refusal>,
    first: Result<Answer, Refusal>,
) -> Result<Answer, Refusal> {
    match second {
        Err(refusal) if refusal.is_absent => first,
        second => second,
    }
}

#[cfg(test)]
mod tests;
