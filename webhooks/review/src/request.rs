//! Requests: AdmissionReviews of `admission.k8s.io/v1` and `v1beta1`, borrowed from the body.
//!
//! Documented at
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response>.
//! A review is decoded in one pass into the parts of the object that the rules read. If that fails, it is read again: once
//! for the uid, which every response needs, and once for the path of the invalid field.
//!
//! For any body, the memory and the time for decoding are proportional to its length: lists are limited
//! ([`berth_rules::object::List`]), and quotes in errors are cut.

use berth_rules::display::Quoted;
use berth_rules::object::{FromObject, GuardedObject, Text, boolean, required};
use berth_rules::path::explain;
use serde::de::{Deserialize, Deserializer};

use crate::Webhook;
use crate::header::{ApiVersion, Header, LONGEST_UID};
use crate::lists;
use crate::refusal::{Refusal, one_line};
use crate::salvage::salvage;
use crate::user::UserInfo;
use crate::verdict::Subject;

/// `request` of an AdmissionReview with objects of kind `O`.
#[derive(Debug, serde::Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "the request of an AdmissionReview",
    bound(deserialize = "O: Deserialize<'de>")
)]
struct Request<'a, O> {
    #[serde(borrow, default)]
    uid: Text<'a>,
    #[serde(borrow, default, deserialize_with = "required")]
    resource: Resource<'a>,
    #[serde(borrow, default)]
    sub_resource: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    namespace: Option<Text<'a>>,
    #[serde(borrow, default)]
    operation: Text<'a>,
    #[serde(borrow, default, deserialize_with = "required")]
    user_info: UserInfo<'a>,
    #[serde(default, deserialize_with = "optional")]
    object: Option<Box<O>>,
    #[serde(default, deserialize_with = "optional")]
    old_object: Option<Box<O>>,
    #[serde(default, deserialize_with = "boolean")]
    dry_run: Option<bool>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "an object")]
struct Resource<'a> {
    #[serde(borrow)]
    group: Text<'a>,
    #[serde(borrow)]
    version: Text<'a>,
    #[serde(borrow)]
    resource: Text<'a>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "O: Deserialize<'de>"))]
struct Envelope<'a, O> {
    #[serde(borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    api_version: Text<'a>,
    #[serde(borrow = "'a", default, deserialize_with = "optional")]
    request: Option<Box<Request<'a, O>>>,
}

/// Decodes an optional object. In a box: it is large, and would be copied half a dozen times on its way.
fn optional<'de, D, T>(deserializer: D) -> Result<Option<Box<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let object = Option::<FromObject<Box<T>>>::deserialize(deserializer)?;
    Ok(object.map(|FromObject(object)| object))
}

/// The parts of a request: those for the response, and those for the rules.
pub(crate) struct Received<'a, O> {
    pub(crate) header: Header<'a>,
    pub(crate) subject: Subject<'a>,
    pub(crate) user: UserInfo<'a>,
    /// The submitted and the stored object; `None` for operations that are not guarded.
    pub(crate) objects: Objects<O>,
}

/// The refusal of a request, with the readable part of the header.
pub(crate) struct NotReceived<'a> {
    pub(crate) header: Header<'a>,
    pub(crate) refusal: Refusal,
}

/// Decodes a request, checks that this webhook serves it, and returns its parts.
pub(crate) fn receive<'a, O: GuardedObject<'a>>(
    body: &'a [u8],
    webhook: Webhook,
) -> Result<Received<'a, O>, NotReceived<'a>> {
    let Envelope {
        kind,
        api_version,
        request,
    } = decode::<O>(body)?;
    let mut header = Header::default();
    let known = ApiVersion::parse(api_version.as_str());
    header.api_version = known.unwrap_or_default();
    if let Some(request) = &request
        && request.uid.as_str().len() <= LONGEST_UID
    {
        header.uid = request.uid.clone();
    }
    let checked = has_uid(&kind, &api_version, known, request)
        .and_then(|request| serves(webhook, request))
        .and_then(|mut request| {
            if let (Some(new), Some(old)) = (&mut request.object, &mut request.old_object) {
                lists::compare(body, &mut **new, &mut **old);
            }
            take_apart(webhook, request)
        });
    match checked {
        Ok((subject, user, objects)) => Ok(Received {
            header,
            subject,
            user,
            objects,
        }),
        Err(refusal) => Err(NotReceived { header, refusal }),
    }
}

fn decode<'a, O: GuardedObject<'a>>(body: &'a [u8]) -> Result<Envelope<'a, O>, NotReceived<'a>> {
    // serde also decodes a struct from a list of its values.
    if let Some(first) = body.trim_ascii_start().first()
        && *first != b'{'
    {
        let message = format!(
            "cannot decode the AdmissionReview: expected a JSON object, the body begins with {}",
            Quoted(&first.escape_ascii().to_string())
        );
        return Err(NotReceived {
            header: Header::default(),
            refusal: Refusal::malformed(message),
        });
    }
    if body.is_empty() {
        return Err(NotReceived {
            header: Header::default(),
            refusal: Refusal::malformed("request body is empty"),
        });
    }
    let undecodable = |why: &str| NotReceived {
        header: salvage(body),
        refusal: Refusal::malformed(format!("cannot decode the AdmissionReview: {why}")),
    };
    // The whole body at once: to check each string when it is read takes four times as long.
    let text = std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        undecodable(&format!("the body is not UTF-8: byte {at} is invalid"))
    })?;
    serde_json::from_str::<Envelope<'a, O>>(text)
        .map_err(|error| undecodable(&one_line(&explain(body, &error))))
}

/// Checks that the body is an AdmissionReview of a known version, with a request that has a uid.
fn has_uid<'a, O>(
    kind: &Text<'a>,
    api_version: &Text<'a>,
    known: Option<ApiVersion>,
    request: Option<Box<Request<'a, O>>>,
) -> Result<Box<Request<'a, O>>, Refusal> {
    if kind.as_str() != "AdmissionReview" {
        Err(Refusal::malformed(format!(
            "kind is {}, expected \"AdmissionReview\"",
            Quoted(kind.as_str())
        )))
    } else if known.is_none() {
        Err(Refusal::malformed(format!(
            "apiVersion is {}, expected \"admission.k8s.io/v1\" or \"admission.k8s.io/v1beta1\"",
            Quoted(api_version.as_str())
        )))
    } else {
        match request {
            None => Err(Refusal::malformed("the AdmissionReview has no request")),
            Some(request) if request.uid.is_empty() => {
                Err(Refusal::malformed("request.uid is missing"))
            }
            Some(request) if request.uid.as_str().len() > LONGEST_UID => Err(Refusal::malformed(
                format!("request.uid is longer than {LONGEST_UID} bytes"),
            )),
            Some(request) => Ok(request),
        }
    }
}

/// Checks that the webhook serves the object: a wrong registration must not look like a decision.
fn serves<'a, O: GuardedObject<'a>>(
    webhook: Webhook,
    request: Box<Request<'a, O>>,
) -> Result<Box<Request<'a, O>>, Refusal> {
    let Resource {
        group,
        version,
        resource,
    } = &request.resource;
    let subresource = request.sub_resource.as_ref().map_or("", Text::as_str);
    if (group.as_str(), resource.as_str(), subresource) != (webhook.group(), webhook.resource(), "")
    {
        let slash = if subresource.is_empty() { "" } else { "/" };
        return Err(Refusal::malformed(format!(
            "request.resource is {} in group {}, but {} serves {} in group {}: check the webhook registration",
            Quoted(&format!("{}{slash}{subresource}", resource.as_str())),
            Quoted(group.as_str()),
            webhook.path(),
            webhook.resource(),
            webhook.group(),
        )));
    }
    if version.as_str() != webhook.version() {
        return Err(Refusal::malformed(format!(
            "version {} of {} is not known, expected {:?}",
            Quoted(version.as_str()),
            webhook.resource(),
            webhook.version(),
        )));
    }
    if request.user_info.username.is_empty() {
        return Err(Refusal::malformed("request.userInfo.username is missing"));
    }
    let objects = [
        ("object", &request.object),
        ("oldObject", &request.old_object),
    ];
    for (field, object) in objects {
        if let Some(object) = object {
            is_of_kind(webhook, field, &**object)?;
        }
    }
    Ok(request)
}

fn is_of_kind<'a>(
    webhook: Webhook,
    field: &str,
    object: &impl GuardedObject<'a>,
) -> Result<(), Refusal> {
    let (group, version) = object.api_version().split_once('/').unwrap_or_default();
    if (group, version, object.kind()) == (webhook.group(), webhook.version(), webhook.kind()) {
        return Ok(());
    }
    Err(Refusal::malformed(format!(
        "request.{field} has kind {} and apiVersion {}, expected {:?} and \"{}/{}\"",
        Quoted(object.kind()),
        Quoted(object.api_version()),
        webhook.kind(),
        webhook.group(),
        webhook.version(),
    )))
}

/// The new and the stored object of a change; `None` for operations that are not guarded.
type Objects<O> = Option<(Box<O>, Option<Box<O>>)>;

/// Splits a request into the subject, the requester and the objects.
fn take_apart<'a, O: GuardedObject<'a>>(
    webhook: Webhook,
    request: Box<Request<'a, O>>,
) -> Result<(Subject<'a>, UserInfo<'a>, Objects<O>), Refusal> {
    let name = request.object_name()?;
    let Request {
        operation,
        namespace,
        user_info,
        object,
        old_object,
        dry_run,
        ..
    } = *request;
    let present = |field: &str, object: Option<Box<O>>| {
        object.ok_or_else(|| {
            Refusal::malformed(format!(
                "request.{field} is missing, {} needs it",
                operation.as_str()
            ))
        })
    };
    let objects = match operation.as_str() {
        "CREATE" => Some((present("object", object)?, None)),
        "UPDATE" => Some((
            present("object", object)?,
            Some(present("oldObject", old_object)?),
        )),
        "DELETE" => None,
        other => {
            return Err(Refusal::malformed(format!(
                "unknown operation {}",
                Quoted(other)
            )));
        }
    };
    let (user, namespace) = (user_info.username.clone(), namespace.unwrap_or_default());
    if webhook.is_namespaced() && namespace.is_empty() {
        // An empty namespace would pass the check that it does not belong to a cluster, and a permission in it would be one in all
        // namespaces.
        return Err(Refusal::malformed("request.namespace is missing"));
    }
    let dry_run = dry_run.unwrap_or_default();
    Ok((
        Subject {
            webhook,
            operation,
            name,
            namespace,
            user,
            dry_run,
        },
        user_info,
        objects,
    ))
}

// === impl Request ===

impl<'a, O: GuardedObject<'a>> Request<'a, O> {
    /// Returns the name of the object. The API server has set it by now, even from `generateName`. If the request has a name,
    /// it must be the same.
    fn object_name(&self) -> Result<Text<'a>, Refusal> {
        let own = self
            .object
            .as_ref()
            .map(|object| object.metadata().name.clone())
            .unwrap_or_default();
        let requested = self.name.clone().unwrap_or_default();
        match (own.is_empty(), requested.is_empty()) {
            (true, _) => Ok(requested),
            (false, false) if own != requested => Err(Refusal::malformed(format!(
                "request.name is {}, but request.object.metadata.name is {}",
                Quoted(requested.as_str()),
                Quoted(own.as_str())
            ))),
            _ => Ok(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_rules::object::Cluster;

    use super::*;

    #[test]
    fn nothing_that_a_terminal_would_obey_is_quoted() {
        let body =
            br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u",
            "object":{"metadata":{"labels":{"\u001b[31m\n":1}}}}}"#;
        let received = receive::<Cluster<'_>>(body, Webhook::ValidateCluster);
        let NotReceived { header, refusal } = received.err().expect("a label is a string");
        assert_eq!(header.uid.as_str(), "u");
        assert!(
            !refusal.message.contains(char::is_control),
            "{:?}",
            refusal.message
        );
        assert!(
            refusal.message.contains(r"invalid type: integer `1`"),
            "{}",
            refusal.message
        );
    }

    /// An empty namespace would pass for one that belongs to no cluster.
    #[test]
    fn an_object_of_a_namespace_needs_its_namespace() {
        let mut refused = Vec::new();
        for webhook in Webhook::ALL {
            let body = format!(
                r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","operation":"DELETE",
                "name":"x","userInfo":{{"username":"ada"}},
                "resource":{{"group":"{}","version":"{}","resource":"{}"}}}}}}"#,
                webhook.group(),
                webhook.version(),
                webhook.resource()
            );
            if let Err(NotReceived { refusal, .. }) =
                receive::<Cluster<'_>>(body.as_bytes(), webhook)
            {
                assert_eq!(refusal.message, "request.namespace is missing");
                refused.push(webhook.kind());
            }
        }
        let namespaced = [
            "ManagedClusterSetBinding",
            "Placement",
            "ManifestWork",
            "ManifestWorkReplicaSet",
            "AddOnDeploymentConfig",
            "ManagedClusterAddOn",
        ];
        assert_eq!(refused, namespaced);
    }

    #[test]
    fn a_request_is_an_object() {
        let body =
            br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":["u"]}"#;
        let received = receive::<Cluster<'_>>(body, Webhook::ValidateCluster);
        let NotReceived { refusal, .. } = received.err().expect("it is a list");
        assert!(
            refusal
                .message
                .contains("request: invalid type: sequence, expected an object"),
            "{}",
            refusal.message
        );
    }
}
