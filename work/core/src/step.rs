//! Requests about one object, and their responses: what a state machine of this crate wants, and what it gets.
//!
//! A machine is called with the response to its last step and returns the next step. It does no I/O and keeps no time. The caller
//! sends the request, with a deadline of its own, and calls again. A request without a response is not passed on: the caller drops
//! the machine and starts a new one later. All machines continue from whatever state the object is in.

use serde_json::Value;

/// The next request, or the result.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<R> {
    /// GET the object.
    Get,
    /// POST the object, with [`FIELD_MANAGER`](berth_api::work::FIELD_MANAGER) as field manager.
    Create(Value),
    /// PUT the object, with [`FIELD_MANAGER`](berth_api::work::FIELD_MANAGER). The body has the resourceVersion that it was made from.
    Replace(Value),
    /// PUT the object as a dry run: would it be valid? The body has the resourceVersion that it was made from.
    Try(Value),
    /// PATCH as server-side apply.
    Apply {
        /// The field manager.
        manager: String,
        /// Takes over the fields that other managers own.
        force: bool,
        /// The object, with apiVersion, kind and metadata.
        body: Value,
    },
    /// PATCH as JSON merge patch, with [`FIELD_MANAGER`](berth_api::work::FIELD_MANAGER). The body has the resourceVersion that it was
    /// made from.
    Merge(Value),
    /// DELETE in the background, with preconditions.
    Delete {
        /// Only the object with this UID.
        uid: String,
        /// If given, only the object in this version.
        resource_version: Option<String>,
    },
    /// Nothing more to send.
    Done(R),
}

/// The response to a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// The object as it is stored. To [`Step::Get`].
    Found(Value),
    /// The API server said that the object does not exist: a 404 about this object, not one about its kind or its namespace.
    NotFound,
    /// The object after the write. To a [`Step::Delete`], whatever the API server returned.
    Written(Value),
    /// The API server refused the request.
    Refused(Refusal),
}

/// The Status with which an API server refuses a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status code.
    pub code: u16,
    /// Status.reason, such as `Conflict`.
    pub reason: String,
    /// Status.message.
    pub message: String,
    /// Status.details.causes: field and message.
    pub causes: Vec<Cause>,
}

/// One entry of Status.details.causes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// The reason, such as `FieldManagerConflict`.
    pub reason: String,
    /// The field, such as `.spec.replicas`.
    pub field: String,
    /// The message, such as `conflict with "kubectl" using apps/v1`.
    pub message: String,
}

// === impl Refusal ===

impl Refusal {
    /// Returns true if fields are owned by other field managers.
    pub(crate) fn is_field_conflict(&self) -> bool {
        self.code == 409
            && self
                .causes
                .iter()
                .any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// Returns true if the object has another resourceVersion or UID than the request.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == 409 && self.reason != "AlreadyExists" && !self.is_field_conflict()
    }

    /// Returns true if the object of the request, which had a UID, does not exist. For a custom resource, API servers call the UID
    /// immutable.
    pub(crate) fn is_of_another_object(&self) -> bool {
        self.code == 422 && self.causes.iter().any(|it| it.field == "metadata.uid")
    }

    /// Returns true if the object exists, in response to its creation.
    pub(crate) fn is_already_there(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }
}
