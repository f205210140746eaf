//! Requests about one object on the managed cluster: the steps of `berth-work-core`, sent.

use berth_api::GroupVersionResource;
use berth_api::work::FIELD_MANAGER;
use berth_hub::{APPLY_PATCH, Call, CallError, MERGE_PATCH, object_path, segment};
use berth_reconcile::{RawObject, Writer};
use berth_work_agent_core::{Entry, Request};
use berth_work_core::{Cause, Refusal, Response, Step};
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The header that names the user to act as. The API server adds the groups of a service account:
/// <https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/>.
const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

/// An object, by its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    pub(crate) resource: &'a GroupVersionResource,
    /// Empty for a cluster-scoped object.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

/// The response to a step, and the object in it.
pub(crate) struct Sent {
    pub(crate) response: Response,
    pub(crate) object: Option<RawObject>,
    /// The words of the API server, if it is no success.
    pub(crate) words: Option<String>,
    /// The API server does not serve the resource.
    pub(crate) kind_is_absent: bool,
}

/// Sends a request about an object. What the agent sends as another user is a write, and so is a rehearsal.
///
/// # Errors
/// There is no response of the API server, or it is too busy: the machine is dropped, and a new one is made later.
pub(crate) async fn send(
    cluster: &Writer,
    path: Path<'_>,
    request: &Request,
) -> Result<Sent, CallError> {
    let options = match request.is_rehearsal {
        true => "&dryRun=All",
        false => "",
    };
    let invalid = |why: &str| {
        Ok(Sent::refused(Refusal {
            code: 400,
            message: why.to_owned(),
            ..Refusal::default()
        }))
    };
    let user = request.user.as_deref().map(HeaderValue::from_str);
    let Ok(user) = user.transpose() else {
        return invalid("the name of the user is invalid");
    };
    match call(path, &request.step, options) {
        Some(call) => exchange(cluster, call, &request.step, user.as_ref()).await,
        None => invalid("there is nothing to send"),
    }
}

/// Sends a step as the agent. `None`: the machine has ended.
///
/// # Errors
/// As [`send`].
pub(crate) async fn send_step<R>(
    cluster: &Writer,
    path: Path<'_>,
    step: &Step<R>,
) -> Result<Option<Sent>, CallError> {
    let Some(call) = call(path, step, "") else {
        return Ok(None);
    };
    exchange(cluster, call, step, None).await.map(Some)
}

async fn exchange<R>(
    cluster: &Writer,
    mut call: Call,
    step: &Step<R>,
    writer: Option<&HeaderValue>,
) -> Result<Sent, CallError> {
    let is_read = matches!(step, Step::Get);
    if let Some(user) = writer.filter(|_| !is_read) {
        call = call.header(IMPERSONATE_USER, user.clone());
    }
    // The response to a deletion may be a Status, that to a dry run is not what is stored.
    let is_stored = !matches!(step, Step::Try(_) | Step::Delete { .. });
    let answer = match cluster.send(call).await {
        Ok(answer) => answer,
        Err(error) => return refused(error),
    };
    let value: Value = answer.json()?;
    let object = is_stored.then(|| RawObject::parsed(&value, answer.body).ok());
    let response = if is_read {
        Response::Found(value)
    } else {
        Response::Written(value)
    };
    Ok(Sent {
        response,
        object: object.flatten(),
        words: None,
        kind_is_absent: false,
    })
}

fn refused(error: CallError) -> Result<Sent, CallError> {
    let kind_is_absent = error.kind_is_absent();
    let words = error.refusal().map(|it| it.message.clone());
    let response = if error.is_absent() {
        Response::NotFound
    } else {
        let refusal = match error.refusal() {
            // A webhook that fails is an internal error of this object, and not of the API server.
            Some(refusal) if !error.may_pass() || refusal.code == 500 && refusal.is_status() => {
                refusal
            }
            _ => return Err(error),
        };
        let causes = refusal.details.causes.iter().map(|cause| Cause {
            reason: cause.reason.clone(),
            field: cause.field.clone(),
            message: cause.message.clone(),
        });
        Response::Refused(Refusal {
            code: refusal.code,
            reason: refusal.reason.clone(),
            message: refusal.message.clone(),
            causes: causes.collect(),
        })
    };
    Ok(Sent {
        response,
        object: None,
        words,
        kind_is_absent,
    })
}

// === impl Sent ===

impl Sent {
    fn refused(refusal: Refusal) -> Self {
        Self {
            response: Response::Refused(refusal),
            object: None,
            words: None,
            kind_is_absent: false,
        }
    }
}

/// A request to create an object, with these options.
fn create_call(path: Path<'_>, body: &Value, options: &str) -> Call {
    let path = path.of("");
    let path = format!("{path}?fieldManager={FIELD_MANAGER}{options}");
    Call::post(path, text(body))
}

/// The request of a step. `options` are added to the query of a write.
fn call<R>(path: Path<'_>, step: &Step<R>, options: &str) -> Option<Call> {
    let object = || path.of(path.name);
    let of_ours = |path: String| format!("{path}?fieldManager={FIELD_MANAGER}{options}");
    Some(match step {
        Step::Get => Call::get(object()),
        Step::Create(body) => create_call(path, body, options),
        Step::Replace(body) => Call::put(of_ours(object()), text(body)),
        Step::Try(body) => {
            let path = of_ours(object());
            Call::put(format!("{path}&dryRun=All"), text(body))
        }
        Step::Merge(body) => Call::patch(of_ours(object()), MERGE_PATCH, text(body)),
        Step::Apply {
            manager,
            force,
            body,
        } => {
            let object = object();
            let manager = segment(manager);
            let path = format!("{object}?fieldManager={manager}&force={force}{options}");
            Call::patch(path, APPLY_PATCH, text(body))
        }
        Step::Delete {
            uid,
            resource_version,
        } => {
            let mut preconditions = json!({"uid": uid});
            if let Some(version) = resource_version {
                preconditions["resourceVersion"] = json!(version);
            }
            let options = json!({
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": preconditions,
                "propagationPolicy": "Background",
            });
            Call::delete(object(), text(&options))
        }
        Step::Done(_) => return None,
    })
}

// === impl Path ===

impl<'a> Path<'a> {
    /// The path of the object of a manifest.
    pub(crate) fn to(entry: &'a Entry) -> Self {
        Self {
            resource: &entry.served.resource,
            namespace: entry.object.namespace(),
            name: entry.object.name(),
        }
    }

    /// The path of an object, or of the collection if the name is empty.
    fn of(&self, name: &str) -> String {
        let GroupVersionResource {
            group,
            version,
            resource,
        } = self.resource;
        object_path((group, version, resource), self.namespace, name)
    }
}

fn text(body: &Value) -> Bytes {
    body.to_string().into()
}
