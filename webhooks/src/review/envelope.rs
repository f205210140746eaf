//! AdmissionReviews in: `admission.k8s.io/v1` and `v1beta1`, borrowed from the request's body.
//!
//! Documented at
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response>.
//! A review is decoded in one pass straight into the parts of the object that the rules read. Only when that fails is
//! it decoded again: once to save the uid, without which no answer counts, and once to name the field at fault.

use std::collections::BTreeMap;

use berth_rules::display::{self, Quoted};
use berth_rules::object::{FromObject, Object, Text, required};
use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::answer::Refusal;
use super::salvage::salvage;
use super::{Requester, Webhook};

/// The two versions of AdmissionReview; the answer has the request's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ApiVersion {
    #[default]
    V1,
    V1beta1,
}

/// What is needed to answer a review at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header<'a> {
    pub(crate) api_version: ApiVersion,
    pub(crate) uid: Text<'a>,
}

/// `request` of an AdmissionReview with objects of kind `O`.
#[derive(Debug, serde::Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "the request of an AdmissionReview",
    bound(deserialize = "O: Deserialize<'de>")
)]
pub(crate) struct Request<'a, O> {
    #[serde(borrow, default)]
    uid: Text<'a>,
    #[serde(borrow, default, deserialize_with = "required")]
    resource: Resource<'a>,
    #[serde(borrow, default)]
    sub_resource: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) namespace: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) operation: Text<'a>,
    #[serde(borrow, default, deserialize_with = "required")]
    pub(crate) user_info: UserInfo<'a>,
    #[serde(default, deserialize_with = "optional")]
    pub(crate) object: Option<O>,
    #[serde(default, deserialize_with = "optional")]
    pub(crate) old_object: Option<O>,
    pub(crate) dry_run: Option<bool>,
}

/// `request.userInfo`. Only the name is needed for every review; the rest is kept as it came until a question needs it.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct UserInfo<'a> {
    #[serde(borrow)]
    pub(crate) username: Text<'a>,
    #[serde(borrow)]
    uid: Option<Text<'a>>,
    #[serde(borrow)]
    groups: Option<&'a RawValue>,
    #[serde(borrow)]
    extra: Option<&'a RawValue>,
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
    request: Option<Request<'a, O>>,
}

/// An object, if there is one.
fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let object = Option::<FromObject<T>>::deserialize(deserializer)?;
    Ok(object.map(|FromObject(object)| object))
}

/// Decodes a review and checks that it is one this webhook serves.
///
/// # Errors
/// What is wrong, with the header as far as it could be read.
pub(crate) fn decode<'a, O: Object<'a>>(
    body: &'a [u8],
    webhook: Webhook,
) -> Result<(Header<'a>, Request<'a, O>), (Header<'a>, Refusal)> {
    // Decoders of structs take a list of the fields' values, too.
    if let Some(first) = body.trim_ascii_start().first()
        && *first != b'{'
    {
        let message = format!(
            "cannot decode the AdmissionReview: expected a JSON object, the body begins with {}",
            Quoted(&first.escape_ascii().to_string())
        );
        return Err((Header::default(), Refusal::malformed(message)));
    }
    if body.is_empty() {
        return Err((
            Header::default(),
            Refusal::malformed("request body is empty"),
        ));
    }
    // Checked once as a whole, text costs no check for each string in it.
    let decoded = match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str::<Envelope<'a, O>>(text),
        Err(_) => serde_json::from_slice(body),
    };
    match decoded {
        Ok(envelope) => {
            let (header, checked) = open(envelope);
            match checked.and_then(|request| serves(webhook, request)) {
                Ok(request) => Ok((header, request)),
                Err(refusal) => Err((header, refusal)),
            }
        }
        Err(error) => Err(explain::<O>(body, &error)),
    }
}

fn open<O>(envelope: Envelope<'_, O>) -> (Header<'_>, Result<Request<'_, O>, Refusal>) {
    let Envelope {
        kind,
        api_version,
        request,
    } = envelope;
    let mut header = Header::default();
    let known = ApiVersion::parse(api_version.as_str());
    header.api_version = known.unwrap_or_default();
    if let Some(request) = &request {
        header.uid = request.uid.clone();
    }
    let checked = if kind.as_str() != "AdmissionReview" {
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
            Some(request) => Ok(request),
        }
    };
    (header, checked)
}

/// Checks that the review is about what the webhook serves: a wrong registration must not look like a decision.
fn serves<'a, O: Object<'a>>(
    webhook: Webhook,
    request: Request<'a, O>,
) -> Result<Request<'a, O>, Refusal> {
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
            is_of_kind(webhook, field, object)?;
        }
    }
    Ok(request)
}

fn is_of_kind<'a>(webhook: Webhook, field: &str, object: &impl Object<'a>) -> Result<(), Refusal> {
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

/// Says what is wrong with a body that does not decode, and saves its uid if it can.
fn explain<'a, O: Object<'a>>(body: &'a [u8], error: &serde_json::Error) -> (Header<'a>, Refusal) {
    let header = salvage(body);
    let mut decoder = serde_json::Deserializer::from_slice(body);
    let message = match serde_path_to_error::deserialize::<_, Envelope<'a, O>>(&mut decoder) {
        Err(error) if error.path().iter().next().is_some() => {
            format!("{}: {}", error.path(), error.inner())
        }
        _ => error.to_string(),
    };
    (
        header,
        Refusal::malformed(format!(
            "cannot decode the AdmissionReview: {}",
            cut(&message)
        )),
    )
}

/// Decoders quote what they stumble over, and name the keys on the way there as they are: that may be long, and may hold
/// what a terminal would obey.
fn cut(message: &str) -> String {
    let (beginning, more) = display::cut(message, 500);
    let mut shown = String::with_capacity(beginning.len());
    for c in beginning.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    if more {
        shown.push_str("...");
    }
    shown
}

// === impl ApiVersion ===

impl ApiVersion {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::V1, Self::V1beta1]
            .into_iter()
            .find(|version| version.as_str() == text)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

// === impl Request ===

impl<'a, O: Object<'a>> Request<'a, O> {
    /// The name of the object: its own, which the API server has filled in by the time it matters, even from
    /// `generateName`. If the request has a name too, it is the same.
    pub(crate) fn object_name(&self) -> Result<Text<'a>, Refusal> {
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

// === impl UserInfo ===

impl UserInfo<'_> {
    /// All of it, for asking questions.
    pub(crate) fn requester(&self) -> Result<Requester, Refusal> {
        // Go writes an empty list of values as null.
        let extra: BTreeMap<_, Option<_>> = read(self.extra, "extra")?;
        Ok(Requester {
            username: self.username.as_str().to_owned(),
            uid: self
                .uid
                .as_ref()
                .map(|uid| uid.as_str().to_owned())
                .unwrap_or_default(),
            groups: read(self.groups, "groups")?,
            extra: extra
                .into_iter()
                .map(|(key, values)| (key, values.unwrap_or_default()))
                .collect(),
        })
    }
}

fn read<T: for<'de> Deserialize<'de> + Default>(
    raw: Option<&RawValue>,
    field: &str,
) -> Result<T, Refusal> {
    let Some(raw) = raw else {
        return Ok(T::default());
    };
    serde_json::from_str::<Option<T>>(raw.get())
        .map(Option::unwrap_or_default)
        .map_err(|error| {
            Refusal::malformed(format!(
                "request.userInfo.{field}: {}",
                cut(&error.to_string())
            ))
        })
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
        let (header, refusal) =
            decode::<Cluster<'_>>(body, Webhook::ValidateCluster).expect_err("a label is a string");
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

    #[test]
    fn a_request_is_an_object() {
        let body =
            br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":["u"]}"#;
        let (_, refusal) =
            decode::<Cluster<'_>>(body, Webhook::ValidateCluster).expect_err("it is a list");
        assert!(
            refusal
                .message
                .contains("request: invalid type: sequence, expected an object"),
            "{}",
            refusal.message
        );
    }
}
