//! ConversionReviews, as the API server sends them and reads them back.
//!
//! Documented at
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-request-and-response>.
//! The HTTP status is always 200: a failure is in the response.

use std::borrow::Cow;

use berth_api::text;
use memchr::memchr_iter;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::fields::Problem;
use super::{Kind, Version, convert, quoted};

/// The API versions of ConversionReviews. The first is the one of a response to what is neither.
const API_VERSIONS: [&str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

/// The bytes of memory of a field, and of what an object grows by while it is converted.
const FIELD: usize = 128;

/// Upper bound on the bytes of a message.
const LONGEST_MESSAGE: usize = 2 * 1024;

/// Upper bound on the bytes of a uid. The API server's have 36.
const LONGEST_UID: usize = 128;

/// The response to a ConversionReview, and what is counted about it.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The response as JSON.
    pub json: Vec<u8>,
    /// The kind of the objects; `None` if it could not be read, or if there are none.
    pub kind: Option<Kind>,
    /// How many objects were converted, or why none was.
    pub result: Result<usize, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    request: Option<Request<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow, rename = "desiredAPIVersion")]
    desired_api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    objects: Vec<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    kind: &'static str,
    api_version: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    converted_objects: &'a [Box<RawValue>],
    result: Outcome<'a>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
}

/// Returns the maximum number of bytes of memory that it takes to convert a review, besides its body.
#[must_use]
pub fn costs(body: &[u8]) -> usize {
    let count = |byte| memchr_iter(byte, body).count();
    // The converted objects as text, which each level of an object copies once more.
    4 * body.len() + (count(b'{') + count(b',')) * FIELD
}

/// Converts the objects of a review.
#[must_use]
pub fn respond(body: &[u8]) -> Conversion {
    let review: Review<'_> = match serde_json::from_slice(body) {
        Ok(review) => review,
        Err(error) => {
            let message = format!("the request is not a ConversionReview: {error}");
            return refuse(body, message);
        }
    };
    let Some(api_version) = API_VERSIONS
        .into_iter()
        .find(|it| review.kind == "ConversionReview" && *it == review.api_version)
    else {
        let [one, two] = API_VERSIONS;
        let message = format!(
            "expected a ConversionReview of {one} or {two}, found kind {} of {}",
            quoted(&review.kind),
            quoted(&review.api_version)
        );
        return refuse(body, message);
    };
    let Some(request) = review.request else {
        return refuse(body, "the ConversionReview has no request".to_owned());
    };
    let (kind, result) = convert_all(&request);
    let (objects, message, result) = match result {
        Ok(objects) => {
            let count = objects.len();
            (objects, String::new(), Ok(count))
        }
        Err(message) => (Vec::new(), message.clone(), Err(message)),
    };
    Conversion {
        json: answer(api_version, &request.uid, &objects, &message),
        kind,
        result,
    }
}

/// Refuses a review that was not read, or only its beginning.
#[must_use]
pub fn refuse(beginning: &[u8], message: String) -> Conversion {
    let uid = uid_in(beginning).unwrap_or_default();
    let version = API_VERSIONS[1];
    let is_old = memmem::find(beginning, version.as_bytes()).is_some();
    Conversion {
        json: answer(API_VERSIONS[usize::from(is_old)], &uid, &[], &message),
        kind: None,
        result: Err(message),
    }
}

/// Returns the kind of the objects, and either all objects in the desired version, or a message about the first that has none.
fn convert_all(request: &Request<'_>) -> (Option<Kind>, Result<Vec<Box<RawValue>>, String>) {
    let to = Version::of(&request.desired_api_version)
        .map_err(|problem: Problem| problem.under("request.desiredAPIVersion").to_string());
    let to = match to {
        Ok(to) => to,
        Err(message) => return (None, Err(message)),
    };
    let (mut kind, mut converted) = (None, Vec::with_capacity(request.objects.len()));
    for object in &request.objects {
        let found = convert(object.get(), to)
            .map_err(|fault| fault.to_string())
            .and_then(|(of, json)| {
                let json = RawValue::from_string(json).map_err(|error| error.to_string())?;
                Ok((of, json))
            });
        match found {
            Ok((of, json)) => {
                kind = Some(of);
                converted.push(json);
            }
            Err(message) => return (kind, Err(message)),
        }
    }
    (kind, Ok(converted))
}

fn answer(
    api_version: &'static str,
    uid: &str,
    objects: &[Box<RawValue>],
    message: &str,
) -> Vec<u8> {
    let answer = Answer {
        kind: "ConversionReview",
        api_version,
        response: Response {
            uid: text::cut_bytes(uid, LONGEST_UID),
            converted_objects: objects,
            result: Outcome {
                status: if message.is_empty() {
                    "Success"
                } else {
                    "Failure"
                },
                message: text::cut_bytes(message, LONGEST_MESSAGE),
            },
        },
    };
    serde_json::to_vec(&answer).expect("texts and JSON are JSON")
}

/// Finds the uid in the beginning of a review: the API server ignores a response without it. The API server writes it before the objects.
fn uid_in(beginning: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"\"uid\":";
    let at = memmem::find(beginning, NAME)?;
    let rest = &beginning[at + NAME.len()..];
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<String>();
    values.next()?.ok()
}
