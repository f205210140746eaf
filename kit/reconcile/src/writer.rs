//! Calls to an API server, each with a deadline, a bounded number at a time.
//!
//! # Guarantees
//! No write is under way once another process may lead: its deadline ends with the term. (All that a process can do that may
//! be stopped at any time: what it has just given to a connection then is sent when it goes on.) Nothing is tried again here:
//! the facts may have changed, so it is decided anew.

use std::time::Duration;

use berth_api::plan::{Action, Target, Write, WriteFailure};
use berth_hub::{APPLY_PATCH, Answer, Call, CallError, Cause, HubApi, MERGE_PATCH, METADATA_LIST};
use berth_lease::Term;
use bytes::Bytes;
use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::limit::Limit;
use crate::object::{Item, RawObject};
use crate::scan::{Found, Items};
use crate::watched::encoded;

/// The longest a call may take.
const LONGEST: Duration = Duration::from_secs(15);

/// Upper bound on the calls under way. An API server's own limits (priority and fairness) are met by 429, which is honoured.
const AT_ONCE: usize = 48;

/// Upper bound on the bytes of an object. etcd holds 1.5 MiB of one, which JSON makes longer.
pub(crate) const LARGEST: usize = 4 << 20;

/// How many objects a list of metadata asks for at a time.
const PAGE: usize = 500;

/// Longer messages are cut: a response may be a page of HTML.
const LONGEST_MESSAGE: usize = 1024;

/// Calls one API server.
pub struct Writer {
    api: HubApi,
    term: Option<Term>,
    permits: Semaphore,
    limit: Option<Limit>,
    manager: &'static str,
}

/// What became of an object.
#[derive(Debug)]
pub enum Written {
    /// It is like this now.
    Object(RawObject),
    /// It does not exist.
    Gone,
}

/// Why a call achieved nothing.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// HTTP status code; 0: no response of the API server.
    pub code: u16,
    /// What the API server said, or what happened instead.
    pub message: String,
    /// When to ask again at the earliest, if the API server says so.
    pub retry_after: Option<Duration>,
    /// The object that was asked for does not exist, on the API server's own word.
    pub is_absent: bool,
    /// The kind that was asked for is not served, on the API server's own word.
    pub kind_is_absent: bool,
}

/// A list without its items. What is not one does not pass for an empty list.
#[derive(Deserialize)]
pub(crate) struct Shell {
    pub(crate) metadata: ListMeta,
    /// `null` is what Go makes of an empty one.
    #[serde(rename = "items", deserialize_with = "Option::deserialize")]
    _items: Option<[u8; 0]>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    #[serde(rename = "continue")]
    pub(crate) token: Option<String>,
    pub(crate) resource_version: Option<String>,
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

    pub(crate) fn api(&self) -> &HubApi {
        &self.api
    }

    /// Writes.
    ///
    /// # Errors
    /// It was refused, or there was no response in time; then it may have been written all the same.
    pub(crate) async fn write(&self, write: &Write) -> Result<Written, (WriteFailure, Refusal)> {
        let target = &write.target;
        let mut answer = self.call(self.call_of(target, &write.action)).await;
        let exists = matches!(&answer, Err(refusal) if refusal.code == 409);
        match &write.action {
            Action::CreateOrPatch { patch, .. } if exists => {
                let patch = Action::Patch {
                    subresource: None,
                    body: patch.clone(),
                };
                let patched = self.call(self.call_of(target, &patch)).await;
                answer = unless_absent(patched, answer);
            }
            Action::CreateOrUpdate { body } if exists => {
                answer = unless_absent(self.update(target, body).await, answer);
            }
            _ => {}
        }
        if let Err(refusal) = answer {
            answer = Err(self.or_stale(write, refusal).await);
        }
        let deletes = matches!(write.action, Action::Delete { .. });
        let written = match answer {
            Err(refusal) if deletes && refusal.is_absent => Ok(Written::Gone),
            Err(refusal) => Err(refusal),
            // A Status: the object was deleted at once.
            Ok(answer) if deletes && is_status(&answer.body) => Ok(Written::Gone),
            Ok(answer) => object_in(answer).map(Written::Object),
        };
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

    /// The refusal, or that of a conflict if the write was decided from an object that has changed since.
    ///
    /// An API server applies a patch to the object that it has, asks the webhooks what they say of the result, and only then
    /// compares resourceVersions. So what is stale may be refused for its content: taints with times of yesterday, say, which
    /// nobody may set.
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

    /// Reads an object, and writes it with this merged in. If another client writes it in between, that is a conflict.
    async fn update(&self, target: &Target, patch: &Value) -> Result<Answer, Refusal> {
        let (stored, _) = self.read(target).await?;
        let mut object: Value = stored.parse().map_err(no_object)?;
        json_patch::merge(&mut object, patch);
        let path = format!("{}?fieldManager={}", path(target, None), self.manager);
        self.call(Call::put(path, object.to_string())).await
    }

    /// Reads an object, and tells how long the API server took to answer.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub async fn read(&self, target: &Target) -> Result<(RawObject, Duration), Refusal> {
        let answer = self.call(Call::get(path(target, None))).await?;
        let took = answer.took;
        Ok((object_in(answer)?, took))
    }

    /// The object of this name, by a list: who may list a kind may not be allowed to get one object.
    ///
    /// # Errors
    /// The kind cannot be listed.
    pub async fn find(&self, target: &Target) -> Result<Option<RawObject>, Refusal> {
        let path = format!(
            "{}?fieldSelector=metadata.name%3D{}",
            path(&all_of(target), None),
            encoded(&target.name)
        );
        let mut found = None;
        let mut take = |item: &[u8]| {
            if found.is_none() {
                found = Some(Bytes::copy_from_slice(item));
            }
        };
        self.page(Call::get(path), &mut take).await?;
        found
            .map(|json| RawObject::read(json).map_err(no_object))
            .transpose()
    }

    /// Lists the metadata of all objects of a kind in a namespace, and has each looked at as it is read. A kind that is not
    /// served has none.
    ///
    /// # Errors
    /// They cannot be listed, or one cannot be read.
    pub async fn each_metadata(
        &self,
        kind: &Target,
        look: &mut (dyn FnMut(&Item<'_>) -> Result<(), serde_json::Error> + Send),
    ) -> Result<(), Refusal> {
        let mut next = String::new();
        loop {
            let path = path(&all_of(kind), None);
            let call = Call::get(format!("{path}?limit={PAGE}&continue={}", encoded(&next)));
            let mut failed = None;
            let mut take = |item: &[u8]| {
                let looked = Item::read(item).and_then(|item| look(&item));
                failed = failed.take().or(looked.err());
            };
            let page = self.page(call.accept(METADATA_LIST), &mut take).await;
            let shell = match page {
                Err(refusal) if refusal.kind_is_absent => return Ok(()),
                page => page?,
            };
            if let Some(error) = failed {
                return Err(Refusal::without_response(format!(
                    "the response is no list: {error}"
                )));
            }
            match shell.metadata.token {
                Some(token) if !token.is_empty() => next = token,
                _ => return Ok(()),
            }
        }
    }

    /// Creates an object that is no fact: a review, an Event.
    ///
    /// # Errors
    /// It was refused, or there was no response in time.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Refusal> {
        let answer = self
            .call(Call::post(path.to_owned(), body.to_string()))
            .await?;
        answer.json().map_err(Refusal::from)
    }

    /// One page of a list: its items as they are read, then the rest of it.
    async fn page(
        &self,
        call: Call,
        item: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Shell, Refusal> {
        let (_permit, longest) = self.turn(&call).await?;
        let ends = Instant::now() + longest;
        let asked = call.asked();
        let late = || CallError::new(asked.clone(), Cause::Late(longest));
        let mut chunks = self.api.stream(call.within(longest)).await?;
        let mut items = Items::new(LARGEST);
        let mut too_large = false;
        while let Some(chunk) = timeout_at(ends, chunks.next()).await.map_err(|_| late())? {
            items.feed(&chunk?, &mut |found| match found {
                Found::Item(json) => item(json),
                Found::TooLarge(_) => too_large = true,
            });
        }
        if too_large {
            return Err(Refusal::without_response(
                "an object of the list is larger than 4 MiB".to_owned(),
            ));
        }
        let shell = items
            .shell()
            .ok_or_else(|| Refusal::without_response("the response is no list".to_owned()))?;
        serde_json::from_slice(shell)
            .map_err(|error| Refusal::without_response(format!("the response is no list: {error}")))
    }

    async fn call(&self, call: Call) -> Result<Answer, Refusal> {
        let (_permit, longest) = self.turn(&call).await?;
        let call = call.within(longest).at_most(LARGEST);
        Ok(self.api.call(call).await?)
    }

    /// Waits for its turn. How long the call may take then.
    async fn turn(
        &self,
        call: &Call,
    ) -> Result<(Option<tokio::sync::SemaphorePermit<'_>>, Duration), Refusal> {
        if let Some(limit) = &self.limit {
            limit.pass().await;
        }
        let permit = self.permits.acquire().await.ok();
        let longest = match &self.term {
            None => LONGEST,
            Some(term) => term
                .bound(LONGEST)
                .ok_or_else(|| call.not_sent("another process leads now"))?,
        };
        Ok((permit, longest))
    }

    fn call_of(&self, target: &Target, action: &Action) -> Call {
        let manager = self.manager;
        let of = |subresource| path(target, subresource);
        match action {
            Action::Apply { manager, body } => {
                let path = format!("{}?fieldManager={manager}&force=true", of(None));
                Call::patch(path, APPLY_PATCH, body.to_string())
            }
            Action::ApplyStatus { manager, body } => {
                let path = format!("{}?fieldManager={manager}&force=true", of(Some("status")));
                Call::patch(path, APPLY_PATCH, body.to_string())
            }
            Action::Patch { subresource, body } => {
                let path = format!("{}?fieldManager={manager}", of(*subresource));
                Call::patch(path, MERGE_PATCH, body.to_string())
            }
            Action::Replace { subresource, body } => {
                let path = format!("{}?fieldManager={manager}", of(Some(*subresource)));
                Call::put(path, body.to_string())
            }
            Action::Create { body }
            | Action::CreateOrPatch { body, .. }
            | Action::CreateOrUpdate { body } => {
                let path = format!("{}?fieldManager={manager}", path(&all_of(target), None));
                Call::post(path, body.to_string())
            }
            Action::Delete { uid, .. } => {
                let options = json!({
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "preconditions": {"uid": uid},
                    "propagationPolicy": "Background",
                });
                Call::delete(of(None), options.to_string())
            }
        }
    }
}

// === impl Refusal ===

impl Refusal {
    /// The response is not what was asked for.
    pub fn unreadable(why: &str) -> Self {
        Self::without_response(why.to_owned())
    }

    fn without_response(message: String) -> Self {
        Self {
            code: 0,
            message,
            retry_after: None,
            is_absent: false,
            kind_is_absent: false,
        }
    }
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        let mut message = match error.cause() {
            Cause::Refused(refusal) => refusal.message.trim().to_owned(),
            cause => cause.to_string(),
        };
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        let code = error.code();
        // What stands between may not know the page, or have no API server for now: that says nothing about the object.
        if code == 404 && error.may_pass() {
            return Self::without_response(format!("404 {message}"));
        }
        Self {
            code,
            message,
            retry_after: error.retry_after(),
            is_absent: error.is_absent(),
            kind_is_absent: error.kind_is_absent(),
        }
    }
}

fn no_object(error: serde_json::Error) -> Refusal {
    Refusal::without_response(format!("the response is no object: {error}"))
}

fn object_in(answer: Answer) -> Result<RawObject, Refusal> {
    RawObject::read(answer.body).map_err(no_object)
}

/// Whether the response to a deletion is a Status, and not the object that waits for its finalizers.
fn is_status(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    serde_json::from_slice::<Kind>(json).is_ok_and(|object| object.kind == "Status")
}

/// What came of a second call, unless what was in the way of the first is gone: then that was it.
fn unless_absent(
    second: Result<Answer, Refusal>,
    first: Result<Answer, Refusal>,
) -> Result<Answer, Refusal> {
    match second {
        Err(refusal) if refusal.is_absent => first,
        second => second,
    }
}

/// The resourceVersion that a write names.
fn decided_from(action: &Action) -> Option<&str> {
    let (Action::Apply { body, .. }
    | Action::ApplyStatus { body, .. }
    | Action::Patch { body, .. }
    | Action::Replace { body, .. }) = action
    else {
        return None;
    };
    body["metadata"]["resourceVersion"].as_str()
}

/// The kind, without a name.
fn all_of(target: &Target) -> Target {
    Target {
        name: String::new(),
        ..target.clone()
    }
}

/// Where an object is, or its kind, if it has no name.
fn path(target: &Target, subresource: Option<&str>) -> String {
    let kind = &target.resource;
    let mut path = if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}/{}", kind.group, kind.version)
    };
    if let Some(namespace) = &target.namespace {
        path.push_str(&format!("/namespaces/{namespace}"));
    }
    path.push_str(&format!("/{}", kind.resource));
    for part in [Some(&*target.name), subresource].into_iter().flatten() {
        if !part.is_empty() {
            path.push_str(&format!("/{part}"));
        }
    }
    path
}

#[cfg(test)]
mod tests;
