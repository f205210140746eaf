//! Reads a webhook's response, as strictly as kube-apiserver, and turns a denial into the error that the client gets.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::Answer;
use super::review::API_VERSION;
use crate::status::{ApiError, Details, or_default};

/// How much of an answer that is no review is shown.
const MAX_TEXT: usize = 2048;

/// A webhook's answer, checked.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    /// Or what the client is told.
    pub(super) outcome: Result<(), ApiError>,
    pub(super) warnings: Vec<String>,
    /// JSON; empty for none.
    pub(super) patch: Vec<u8>,
    /// Empty for none.
    pub(super) patch_type: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Review {
    #[serde(deserialize_with = "or_default")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    api_version: String,
    response: Option<Response>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    #[serde(deserialize_with = "or_default")]
    uid: String,
    #[serde(deserialize_with = "or_default")]
    allowed: bool,
    #[serde(deserialize_with = "or_default")]
    status: Status,
    #[serde(deserialize_with = "or_default")]
    patch: String,
    patch_type: Option<String>,
    #[serde(deserialize_with = "or_default")]
    warnings: Vec<String>,
    /// There is no audit log that they could go to. Malformed ones are refused all the same.
    #[serde(rename = "auditAnnotations")]
    _audit_annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "or_default")]
    code: i64,
    #[serde(deserialize_with = "or_default")]
    reason: String,
    #[serde(deserialize_with = "or_default")]
    message: String,
    details: Option<Details>,
}

/// Reads an answer to the review with this uid.
///
/// # Errors
/// The call counts as failed, for this reason.
pub(super) fn read(
    hook: &str,
    answer: &Answer,
    uid: &str,
    mutating: bool,
) -> Result<Verdict, String> {
    let review = decode(answer).map_err(|why| format!("failed to call webhook: {why}"))?;
    check(hook, review, uid, mutating)
        .map_err(|why| format!("received invalid webhook response: {why}"))
}

fn decode(answer: &Answer) -> Result<Review, String> {
    if answer.code.as_u16() > 206 || !answer.code.is_success() {
        return Err(server_error(answer));
    }
    if answer.body.is_empty() {
        let (code, media_type) = (answer.code.as_u16(), &answer.media_type);
        return Err(format!(
            "the response is empty, with status code {code} and content type {media_type:?}"
        ));
    }
    let review: Review = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("the response is not an AdmissionReview: {error}"))?;
    let is = |field: &str, wanted: &str| field.is_empty() || field == wanted;
    if is(&review.kind, "AdmissionReview") && is(&review.api_version, API_VERSION) {
        return Ok(review);
    }
    Err(format!(
        "the response is {} {}, and not an AdmissionReview of {}",
        review.api_version, review.kind, API_VERSION
    ))
}

fn check(hook: &str, review: Review, uid: &str, mutating: bool) -> Result<Verdict, String> {
    let Some(response) = review.response else {
        return Err("webhook response was absent".to_owned());
    };
    let patch = BASE64_STANDARD
        .decode(&response.patch)
        .map_err(|error| format!("response.patch is no base64: {error}"))?;
    let patch_type = response.patch_type;
    let got = response.uid;
    if got != uid {
        return Err(format!("expected response.uid={uid:?}, got {got:?}"));
    }
    let (kind, api_version) = (review.kind, review.api_version);
    if kind.is_empty() || api_version.is_empty() {
        return Err(format!(
            "expected webhook response of {API_VERSION}, Kind=AdmissionReview, got {api_version}, Kind={kind}"
        ));
    }
    check_patch(&patch, patch_type.as_deref(), mutating)?;
    let outcome = if response.allowed {
        Ok(())
    } else {
        Err(denial(hook, response.status))
    };
    Ok(Verdict {
        outcome,
        warnings: response.warnings,
        patch: if mutating { patch } else { Vec::new() },
        patch_type: patch_type.unwrap_or_default(),
    })
}

fn check_patch(patch: &[u8], patch_type: Option<&str>, mutating: bool) -> Result<(), String> {
    let why = match (patch.is_empty(), patch_type, mutating) {
        (false, None, true) => "webhook returned response.patch but not response.patchType",
        (true, Some(_), true) => "webhook returned response.patchType but not response.patch",
        (_, Some(""), true) => "webhook returned invalid response.patchType of \"\"",
        (false, _, false) => "validating webhook may not return response.patch",
        (true, Some(_), false) => "validating webhook may not return response.patchType",
        _ => return Ok(()),
    };
    Err(why.to_owned())
}

/// A denial as the client gets it: the code is at least 400, and the message names the webhook.
fn denial(hook: &str, status: Status) -> ApiError {
    let code = u16::try_from(status.code.max(400)).ok();
    let code = code.and_then(|code| StatusCode::from_u16(code).ok());
    let reason = status.reason;
    let who = format!("admission webhook {hook:?} denied the request");
    let message = match [status.message.as_str(), &reason] {
        ["", ""] => format!("{who} without explanation"),
        ["", why] | [why, _] => format!("{who}: {why}"),
    };
    ApiError {
        code: code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        reason,
        message,
        details: status.details,
    }
}

/// An answer that is no success: the Status in it, or its code and text.
fn server_error(answer: &Answer) -> String {
    if let Ok(value) = serde_json::from_slice::<Value>(&answer.body)
        && value["kind"] == "Status"
        && value["status"] == "Failure"
    {
        return value["message"].as_str().unwrap_or_default().to_owned();
    }
    let body = &answer.body[..answer.body.len().min(MAX_TEXT)];
    let text = String::from_utf8_lossy(body);
    format!(
        "the server responded with the status code {}: {:?}",
        answer.code.as_u16(),
        text.trim()
    )
}

#[cfg(test)]
mod tests;
