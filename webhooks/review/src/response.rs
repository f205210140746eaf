//! Responses: encodes a verdict as an AdmissionReview.
//!
//! Documented at
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response>. The HTTP status
//! is always 200, even for refusals: the verdict is in the body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_rules::display::cut_bytes;
use berth_rules::{Annotations, Answers, Decision, DecisionOutcome, Denial};
use serde::Serialize;

use crate::Verdict;

/// The maximum number of bytes of a name in the details of a response. Kubernetes names are not longer.
const LONGEST_NAME: usize = 253;

/// The number of seconds after which a client should retry an undecided request.
const RETRY_AFTER_SECONDS: u32 = 1;

impl Verdict<'_> {
    /// Returns the response as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::with_capacity(512);
        let review = Review {
            kind: "AdmissionReview",
            api_version: self.header.api_version.as_str(),
            response: self.response(),
        };
        serde_json::to_writer(&mut json, &review)
            .expect("writing strings and numbers to memory cannot fail");
        json
    }

    fn response(&self) -> Response<'_> {
        let mut response = Response {
            uid: self.uid(),
            allowed: self.is_allowed(),
            status: self.status(),
            patch: None,
            patch_type: None,
            warnings: &[],
            audit_annotations: Annotations {
                outcome: self.outcome(),
                reason: None,
                requirements: None,
            },
        };
        match &self.result {
            Ok(decision) => {
                if !decision.patch.0.is_empty() && response.allowed {
                    let patch = serde_json::to_vec(&decision.patch)
                        .expect("a patch of strings is always JSON");
                    response.patch = Some(STANDARD.encode(patch));
                    response.patch_type = Some("JSONPatch");
                }
                response.warnings = &decision.warnings;
                response.audit_annotations = decision.annotations(Answers::new(&self.answers));
            }
            Err(refusal) => response.audit_annotations.reason = Some(refusal.kind.as_str()),
        }
        response
    }

    fn status(&self) -> Status<'_> {
        if self.is_allowed() {
            return Status {
                code: 200,
                ..Status::default()
            };
        }
        let mut details = None;
        let reason = match &self.result {
            Ok(Decision {
                outcome: DecisionOutcome::Denied(denials),
                ..
            }) => {
                details = denials.first().map(Details::of);
                "Forbidden"
            }
            Ok(Decision {
                outcome: DecisionOutcome::Undecided(_),
                ..
            }) => {
                details = Some(Details::retry());
                "InternalError"
            }
            Ok(_) => "BadRequest",
            Err(refusal) => {
                details = (refusal.kind.outcome() == "undecided").then(Details::retry);
                refusal.kind.code().1
            }
        };
        Status {
            status: Some("Failure"),
            message: self.message(),
            reason: Some(reason),
            details,
            code: self.code(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'v> {
    kind: &'static str,
    api_version: &'static str,
    response: Response<'v>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'v> {
    uid: &'v str,
    allowed: bool,
    status: Status<'v>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'v [String],
    audit_annotations: Annotations,
}

#[derive(Default, Serialize)]
struct Status<'v> {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details<'v>>,
    code: u16,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'v> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'v str,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u32>,
}

impl<'v> Details<'v> {
    fn of(denial: &'v Denial) -> Self {
        Self {
            name: cut_bytes(&denial.name, LONGEST_NAME),
            group: denial.group,
            kind: denial.resource,
            retry_after_seconds: None,
        }
    }

    fn retry() -> Self {
        Self {
            retry_after_seconds: Some(RETRY_AFTER_SECONDS),
            ..Self::default()
        }
    }
}
