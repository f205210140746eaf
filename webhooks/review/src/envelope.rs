//! AdmissionReviews in: `admission.k8s.io/v1` and `v1beta1`, borrowed from the request's body.
//!
//! Documented at
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response>.
//! A review is decoded in one pass straight into the parts of the object that the rules read. Only when that fails is
//! it decoded again: once to save the uid, without which no answer counts, and once to name the field at fault.
//!
//! Whatever is in a body, decoding it takes no more memory than a few times its length, and time in proportion: lists are
//! bounded ([`berth_rules::object::List`]), and what a decoder quotes is cut.

use berth_rules::display::{Plain, Quoted, cut_bytes};
use berth_rules::object::{FromObject, Object, Text, boolean, required};
use serde::de::{Deserialize, Deserializer};

use crate::Webhook;
use crate::answer::Refusal;
use crate::lists;
use crate::salvage::salvage;
use crate::user::UserInfo;

/// A longer uid is no API server's: theirs have 36 bytes.
pub(crate) const LONGEST_UID: usize = 1024;

/// The field at fault is not looked for in larger bodies: its path may be as long as the body, several times.
const LARGEST_EXPLAINED: usize = 1024 * 1024;

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
    #[serde(default, deserialize_with = "boolean")]
    pub(crate) dry_run: Option<bool>,
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
                Ok(mut request) => {
                    if let (Some(new), Some(old)) = (&mut request.object, &mut request.old_object) {
                        lists::compare(body, new, old);
                    }
                    Ok((header, request))
                }
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
    if let Some(request) = &request
        && request.uid.as_str().len() <= LONGEST_UID
    {
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
            Some(request) if request.uid.as_str().len() > LONGEST_UID => Err(Refusal::malformed(
                format!("request.uid is longer than {LONGEST_UID} bytes"),
            )),
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
    let message = if body.len() > LARGEST_EXPLAINED {
        error.to_string()
    } else {
        let mut decoder = serde_json::Deserializer::from_slice(body);
        match serde_path_to_error::deserialize::<_, Envelope<'a, O>>(&mut decoder) {
            Err(error) if error.path().iter().next().is_some() => {
                format!("{}: {}", error.path(), error.inner())
            }
            _ => error.to_string(),
        }
    };
    (
        header,
        Refusal::malformed(format!(
            "cannot decode the AdmissionReview: {}",
            one_line(&message)
        )),
    )
}

/// Decoders quote what they stumble over, and name the keys on the way there as they are: that may be long, and may hold
/// what a terminal would obey.
pub(crate) fn one_line(message: &str) -> String {
    let beginning = cut_bytes(message, 700);
    let more = if beginning.len() < message.len() {
        "..."
    } else {
        ""
    };
    format!("{}{more}", Plain(beginning))
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
