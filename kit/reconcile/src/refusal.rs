//! Why a call failed, reduced to what decisions and messages need.

use std::time::Duration;

use berth_api::text::cut_bytes;
use berth_hub::{CallError, Cause};

/// Longer messages are cut: a response may be a page of HTML.
const LONGEST_MESSAGE: usize = 1024;

/// Why a call failed.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// HTTP status code; 0: no response of the API server.
    pub code: u16,
    /// The message of the API server, or what happened instead.
    pub message: String,
    /// The API server asks to wait this long.
    pub retry_after: Option<Duration>,
    /// The object that was asked for does not exist, on the API server's own word.
    pub is_absent: bool,
    /// The kind that was asked for is not served, on the API server's own word.
    pub kind_is_absent: bool,
    /// The namespace is being deleted and takes no new objects.
    pub namespace_ends: bool,
    /// The API server's warnings, safe to show.
    pub warnings: Vec<String>,
}

// === impl Refusal ===

impl Refusal {
    /// The refusal of a response that cannot be used.
    pub fn unreadable(why: &str) -> Self {
        Self::without_response(why.to_owned())
    }

    pub(crate) fn without_response(message: String) -> Self {
        Self {
            code: 0,
            message,
            retry_after: None,
            is_absent: false,
            kind_is_absent: false,
            namespace_ends: false,
            warnings: Vec::new(),
        }
    }
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        let message = match error.cause() {
            Cause::Refused(refusal) => refusal.message.trim().to_owned(),
            cause => cause.to_string(),
        };
        let message = cut_bytes(&message, LONGEST_MESSAGE).to_owned();
        let code = error.code();
        // A proxy may not know the path, or have no API server for now: that says nothing about the object.
        if code == 404 && error.may_pass() {
            return Self::without_response(format!("404 {message}"));
        }
        Self {
            code,
            message,
            retry_after: error.retry_after(),
            is_absent: error.is_absent(),
            kind_is_absent: error.kind_is_absent(),
            namespace_ends: error.refusal().is_some_and(|refusal| {
                let mut causes = refusal.details.causes.iter();
                causes.any(|cause| cause.reason == "NamespaceTerminating")
            }),
            warnings: error
                .refusal()
                .map_or_else(Vec::new, |refusal| refusal.warnings.clone()),
        }
    }
}
