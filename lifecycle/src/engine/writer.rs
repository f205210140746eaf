//! Requests to the hub, each with a deadline, so many at a time.
//!
//! # Guarantees
//! No write is under way once another process may lead: its deadline ends with the term. (All that a process can do that may
//! be stopped at any time: what it has just given to a connection then is sent when it goes on.) Nothing is tried again here: the
//! facts may have changed, so it is decided anew.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_lease::Term;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, Request, StatusCode};
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use berth_reconcile::Limit;
use super::metrics::Metrics;
use super::object::Object;
use crate::facts::{Remaining, RemainingObject};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Failure, Target, Write};
use berth_reconcile::queue::now;

/// The longest a request may take.
const LONGEST: Duration = Duration::from_secs(15);

/// How many requests are under way at most. An API server's own limits (priority and fairness) are met by 429, which is
/// honoured.
const AT_ONCE: usize = 48;

/// How many objects a list asks for at a time.
const PAGE: usize = 500;

/// Longer messages are cut: an answer may be a page of HTML.
const LONGEST_MESSAGE: usize = 1024;

/// Does requests.
pub(crate) struct Writer {
    client: Client,
    term: Option<Term>,
    permits: Semaphore,
    limit: Option<Limit>,
    metrics: Metrics,
}

/// What became of an object.
#[derive(Debug)]
pub(crate) enum Written {
    /// It is like this now.
    Object(Box<Object>),
    /// It is not there.
    Gone,
}

/// Why there is no answer, or none that was wished for.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// HTTP status code; 0 if there was no answer.
    pub(crate) code: u16,
    pub(crate) message: String,
    /// What the hub asked for.
    pub(crate) retry_after: Option<Duration>,
}

// === impl Writer ===

impl Writer {
    /// Without a `term` nobody else is there who could lead.
    pub(crate) fn new(
        client: Client,
        term: Option<Term>,
        limit: Option<Limit>,
        metrics: Metrics,
    ) -> Self {
        Self {
            client,
            term,
            permits: Semaphore::new(AT_ONCE),
            limit,
            metrics,
        }
    }

    /// Writes.
    ///
    /// # Errors
    /// It was refused, or there was no answer in time; then it may have been written all the same.
    pub(crate) async fn write(&self, write: &Write) -> Result<Written, (Failure, Refusal)> {
        let mut answer = self.request(request_of(&write.target, &write.action)).await;
        if let (Action::CreateOrPatch { patch, .. }, Err(Refusal { code: 409, .. })) =
            (&write.action, &answer)
        {
            let patch = Action::Patch {
                subresource: None,
                body: patch.clone(),
            };
            let patched = self.request(request_of(&write.target, &patch)).await;
            answer = unless_absent(patched, answer);
        }
        if let (Action::CreateOrUpdate { body }, Err(Refusal { code: 409, .. })) =
            (&write.action, &answer)
        {
            answer = unless_absent(self.update(&write.target, body).await, answer);
        }
        if let Err(refusal) = answer {
            answer = Err(self.or_stale(write, refusal).await);
        }
        let deletes = matches!(write.action, Action::Delete { .. });
        let written = match answer {
            Err(refusal) if deletes && refusal.code == 404 => Ok(Written::Gone),
            Err(refusal) => Err(refusal),
            Ok(body) => object_in::<Object>(&body).map(|object| {
                if object.value["kind"] == "Status" {
                    Written::Gone
                } else {
                    Written::Object(Box::new(object))
                }
            }),
        };
        let outcome = written.as_ref().map(|_| ()).map_err(|refusal| refusal.code);
        self.metrics.wrote(write, outcome);
        written.map_err(|refusal| {
            let failure = Failure {
                reconciler: write.reconciler,
                target: write.target.clone(),
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
            Ok((stored, _)) => stored.metadata.resource_version.as_deref() != Some(decided_from),
            Err(unread) => unread.code == 404,
        };
        if !is_stale {
            return refusal;
        }
        Refusal {
            code: StatusCode::CONFLICT.as_u16(),
            message: format!("it has changed since this was decided: {}", refusal.message),
            ..refusal
        }
    }

    /// Reads an object, and writes it with this merged in. If somebody else writes it in between, that is a conflict.
    async fn update(&self, target: &Target, patch: &Value) -> Result<Vec<u8>, Refusal> {
        let path = path(target, None);
        let stored = Request::get(&path).body(Vec::new());
        let stored = self.request(stored).await?;
        let mut object: Value = object_in(&stored)?;
        json_patch::merge(&mut object, patch);
        let manager = crate::names::managers::PATCHES;
        let request = Request::put(format!("{path}?fieldManager={manager}"))
            .header(CONTENT_TYPE, "application/json");
        self.request(request.body(object.to_string().into_bytes()))
            .await
    }

    /// Reads an object, and tells how long the hub took to answer.
    pub(crate) async fn read(&self, target: &Target) -> Result<(Object, Duration), Refusal> {
        let request = Request::get(path(target, None)).body(Vec::new());
        let (body, took) = self.timed(request).await?;
        Ok((object_in(&body)?, took))
    }

    /// The object of this name, by a list: whoever lists a kind need not be let read one object.
    pub(crate) async fn find(&self, target: &Target) -> Result<Option<Object>, Refusal> {
        let kind = Target {
            name: String::new(),
            ..target.clone()
        };
        let uri = format!(
            "{}?fieldSelector=metadata.name%3D{}",
            path(&kind, None),
            target.name
        );
        let body = self.request(Request::get(uri).body(Vec::new())).await?;
        let list: ObjectList = object_in(&body)?;
        Ok(list.items.into_iter().next())
    }

    /// What is left of a kind in a namespace. A kind that is not served has nothing left.
    pub(crate) async fn remaining(
        &self,
        namespace: &str,
        resource: &GroupVersionResource,
    ) -> Remaining {
        Remaining {
            resource: resource.clone(),
            objects: self
                .list_metadata(namespace, resource)
                .await
                .map_err(|refusal| refusal.message),
        }
    }

    async fn list_metadata(
        &self,
        namespace: &str,
        resource: &GroupVersionResource,
    ) -> Result<Vec<RemainingObject>, Refusal> {
        let mut objects = Vec::new();
        let mut next = String::new();
        loop {
            let target = Target {
                resource: resource.clone(),
                namespace: Some(namespace.to_owned()),
                name: String::new(),
            };
            let uri = format!("{}?limit={PAGE}&continue={next}", path(&target, None));
            let request = Request::get(uri).header(
                "accept",
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            );
            let answer = self.request(request.body(Vec::new())).await;
            let list: RemainingList = match answer {
                Err(refusal) if refusal.code == 404 => return Ok(objects),
                Err(refusal) => return Err(refusal),
                Ok(body) => serde_json::from_slice(&body).map_err(|error| {
                    Refusal::without_answer(format!("the answer is no list: {error}"))
                })?,
            };
            let items = list.items.unwrap_or_default().into_iter();
            objects.extend(items.map(|Remains { metadata }| {
                RemainingObject {
                    name: metadata.name,
                    uid: metadata.uid,
                    deleting: metadata.deletion_timestamp.is_some(),
                    cleanup_priority: (metadata.annotations)
                        .and_then(|mut all| all.remove(berth_api::labels::CLEANUP_PRIORITY)),
                }
            }));
            match list.metadata.continue_ {
                Some(token) if !token.is_empty() => next = token,
                _ => return Ok(objects),
            }
        }
    }

    /// Makes an object that is no fact: a review, an event.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Refusal> {
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        let answer = self
            .request(request.body(body.to_string().into_bytes()))
            .await?;
        object_in(&answer)
    }

    async fn request(
        &self,
        request: Result<Request<Vec<u8>>, http::Error>,
    ) -> Result<Vec<u8>, Refusal> {
        self.timed(request).await.map(|(body, _)| body)
    }

    /// The answer, and how long the hub took for it.
    async fn timed(
        &self,
        request: Result<Request<Vec<u8>>, http::Error>,
    ) -> Result<(Vec<u8>, Duration), Refusal> {
        let request =
            request.map_err(|error| Refusal::without_answer(format!("no request: {error}")))?;
        if let Some(limit) = &self.limit {
            limit.pass().await;
        }
        let _permit = self.permits.acquire().await;
        let longest = match &self.term {
            None => LONGEST,
            Some(term) => term
                .bound(LONGEST)
                .ok_or_else(|| Refusal::without_answer("another process leads now".to_owned()))?,
        };
        let late = |_| Refusal::without_answer(format!("no answer within {longest:.1?}"));
        let begun = now();
        let answer = timeout(longest, self.send(request)).await.map_err(late)?;
        answer.map(|body| (body, now().saturating_duration_since(begun)))
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Vec<u8>, Refusal> {
        let answer = self.client.send(request.map(Body::from)).await;
        let answer = answer.map_err(|error| Refusal::without_answer(causes(&error)))?;
        let (parts, body) = answer.into_parts();
        let body = body
            .collect_bytes()
            .await
            .map_err(|error| Refusal::without_answer(causes(&error)))?
            .to_vec();
        if parts.status.is_success() {
            return Ok(body);
        }
        Err(Refusal::of(parts.status, &parts.headers, &body))
    }
}

#[derive(Deserialize)]
struct ObjectList {
    items: Vec<Object>,
}

/// A list of metadata. What is none, or holds what is no object, does not pass for an empty one.
#[derive(Deserialize)]
struct RemainingList {
    metadata: ListMeta,
    /// `null` is what Go makes of an empty one.
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<Remains>>,
}

#[derive(Deserialize)]
struct ListMeta {
    #[serde(rename = "continue")]
    continue_: Option<String>,
}

#[derive(Deserialize)]
struct Remains {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    uid: String,
    deletion_timestamp: Option<IgnoredAny>,
    annotations: Option<BTreeMap<String, String>>,
}

// === impl Refusal ===

impl Refusal {
    fn without_answer(message: String) -> Self {
        Self {
            code: 0,
            message,
            retry_after: None,
        }
    }

    fn of(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let status: Value = serde_json::from_slice(body).unwrap_or_default();
        let seconds = headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .or_else(|| status["details"]["retryAfterSeconds"].as_u64());
        let message = status["message"]
            .as_str()
            .map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
        let cut = message
            .char_indices()
            .nth(LONGEST_MESSAGE)
            .map_or(message.len(), |(at, _)| at);
        // What stands between may not know the page, or have no hub for now. That something is not there is for the hub to
        // say: in a Status, or, of a kind that it does not know, in these words.
        let says_who = status["kind"] == "Status" || body.trim_ascii() == b"404 page not found";
        if code == StatusCode::NOT_FOUND && !says_who {
            return Self::without_answer(format!("404 {}", message[..cut].trim()));
        }
        Self {
            code: code.as_u16(),
            message: message[..cut].to_owned(),
            retry_after: seconds.map(Duration::from_secs),
        }
    }
}

fn object_in<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(answer)
        .map_err(|error| Refusal::without_answer(format!("the answer is no object: {error}")))
}

/// What came of a second request, unless what was in the way of the first is gone: then that was it.
fn unless_absent(
    second: Result<Vec<u8>, Refusal>,
    first: Result<Vec<u8>, Refusal>,
) -> Result<Vec<u8>, Refusal> {
    match second {
        Err(refusal) if refusal.code == 404 => first,
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

/// What went wrong, down to the cause.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some errors say what their cause does.
        if !words.ends_with(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        cause = error.source();
    }
    words
}

/// Where an object is, or its kind, if it has no name.
fn path(target: &Target, subresource: Option<&str>) -> String {
    let GroupVersionResource {
        group,
        version,
        resource,
    } = &target.resource;
    let mut path = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    if let Some(namespace) = &target.namespace {
        path.push_str(&format!("/namespaces/{namespace}"));
    }
    path.push_str(&format!("/{resource}"));
    for part in [Some(&*target.name), subresource].into_iter().flatten() {
        if !part.is_empty() {
            path.push_str(&format!("/{part}"));
        }
    }
    path
}

fn request_of(target: &Target, action: &Action) -> Result<Request<Vec<u8>>, http::Error> {
    const APPLY: &str = "application/apply-patch+yaml";
    const MERGE: &str = "application/merge-patch+json";
    const JSON: &str = "application/json";
    let patches = crate::names::managers::PATCHES;
    let (method, path, content_type, body) = match action {
        Action::Apply { manager, body } => {
            let path = format!("{}?fieldManager={manager}&force=true", path(target, None));
            (Method::PATCH, path, APPLY, body.to_string())
        }
        Action::ApplyStatus { manager, body } => {
            let path = path(target, Some("status"));
            let path = format!("{path}?fieldManager={manager}&force=true");
            (Method::PATCH, path, APPLY, body.to_string())
        }
        Action::Patch { subresource, body } => {
            let path = format!("{}?fieldManager={patches}", path(target, *subresource));
            (Method::PATCH, path, MERGE, body.to_string())
        }
        Action::Replace { subresource, body } => {
            let path = path(target, Some(*subresource));
            let path = format!("{path}?fieldManager={patches}");
            (Method::PUT, path, JSON, body.to_string())
        }
        Action::Create { body }
        | Action::CreateOrPatch { body, .. }
        | Action::CreateOrUpdate { body } => {
            let kind = Target {
                name: String::new(),
                ..target.clone()
            };
            let path = format!("{}?fieldManager={patches}", path(&kind, None));
            (Method::POST, path, JSON, body.to_string())
        }
        Action::Delete { uid, .. } => {
            let options = json!({
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": uid},
                "propagationPolicy": "Background",
            });
            (
                Method::DELETE,
                path(target, None),
                JSON,
                options.to_string(),
            )
        }
    };
    Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, content_type)
        .body(body.into_bytes())
}

#[cfg(test)]
mod tests;
