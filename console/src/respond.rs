//! Responses: JSON, and errors as JSON.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

use crate::answers::{ErrorAnswer, Failure, Missing, Text};
use crate::guard::Foreign;
use crate::search::BadQuery;

/// A refused or failed request.
#[derive(Clone, Debug)]
pub(crate) struct Refused(pub(crate) Failure);

/// An answer as JSON.
pub(crate) fn json(answer: &impl Serialize) -> Response {
    match serde_json::to_string(answer) {
        Ok(text) => with_type(StatusCode::OK, text.into_bytes()),
        // Answers have text as keys only.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn with_type(code: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

// === impl Refused ===

impl Refused {
    pub(crate) fn new(code: StatusCode, reason: &str, message: impl Into<Text>) -> Self {
        Self(Failure {
            message: message.into(),
            remedy: None,
            code: code.as_u16(),
            reason: reason.into(),
            at: None,
            missing: None,
        })
    }

    /// What should not fail has failed: there are no random numbers, for example.
    pub(crate) fn failed(error: impl ToString) -> Self {
        let code = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(code, "Failed", error.to_string())
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<Text>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    pub(crate) fn missing(mut self, missing: Option<Missing>) -> Self {
        if let Some(missing) = &missing {
            let command = missing.command.as_str();
            self.0.remedy = Some(format!("ask an admin to run: {command}").into());
        }
        self.0.missing = missing;
        self
    }

    pub(crate) fn not_signed_in(remedy: &str) -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "NotSignedIn",
            "you are not signed in at this console",
        )
        .remedy(remedy)
    }

    pub(crate) fn answer(self) -> ErrorAnswer {
        ErrorAnswer { error: self.0 }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.0.code);
        let code = code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let bytes = serde_json::to_vec(&self.answer()).unwrap_or_default();
        with_type(code, bytes)
    }
}

impl From<berth_admin::answers::Failure> for Refused {
    /// The hub's own words. A 401 of the hub is no 401 of the console: the page would ask for a code.
    fn from(failure: berth_admin::answers::Failure) -> Self {
        let (code, reason, remedy) = match (failure.code, failure.reason.as_str()) {
            (401, _) => (
                502,
                "SignInAtHub",
                Some(
                    "your credentials for the hub have expired: sign in at the hub again, for example by kubectl",
                ),
            ),
            (code, "HubAway") => (
                code,
                "HubAway",
                Some("check that the hub runs and that this machine reaches it; then try again"),
            ),
            (code, "NoHub") => (
                code,
                "NoHub",
                Some("choose another --context, or install the hub by `berth init`"),
            ),
            (409, "Conflict") => (
                409,
                "Conflict",
                Some("somebody else has changed the object: look at it again, then try again"),
            ),
            (code @ 400..600, reason) => (code, reason, None),
            (_, reason) => (502, reason, None),
        };
        let code = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_GATEWAY);
        let refused = Self::new(code, reason, failure.message);
        match remedy {
            Some(remedy) => refused.remedy(remedy),
            None => refused,
        }
    }
}

impl From<Foreign> for Refused {
    fn from(foreign: Foreign) -> Self {
        Self::new(foreign.code, foreign.reason, foreign.message)
    }
}

impl From<BadQuery> for Refused {
    fn from(bad: BadQuery) -> Self {
        let mut refused = Self::new(StatusCode::BAD_REQUEST, "BadQuery", bad.why);
        refused.0.at = Some(bad.at);
        refused
    }
}
