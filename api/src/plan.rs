//! The result of a decision: the writes that are due now, and when to decide again.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use crate::resource::GroupVersionResource;
use crate::room;

/// The writes that are due, and when to decide again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Sent at the same time, in no order.
    pub writes: Vec<Write>,
    /// When to decide again, even without a change. The earliest time that was asked for.
    pub again: Option<Instant>,
}

/// One request that changes the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The object.
    pub target: Target,
    /// The change.
    pub action: Action,
    /// The name of the reconciler, in metrics and logs.
    pub reconciler: &'static str,
    /// Events about the object, sent once it has been written.
    pub events: Vec<Event>,
}

/// An object, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The kind.
    pub resource: GroupVersionResource,
    /// None for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Server-side apply with force: takes over the fields of `body`.
    Apply {
        /// The field manager.
        manager: &'static str,
        /// The wanted object, with apiVersion, kind and metadata.
        body: Value,
    },
    /// Server-side apply to the subresource `status`.
    ApplyStatus {
        /// As for [`Action::Apply`].
        manager: &'static str,
        /// As for [`Action::Apply`].
        body: Value,
    },
    /// A JSON merge patch with the resourceVersion of the object that the decision was made from.
    Patch {
        /// `status`, `approval`, or None.
        subresource: Option<&'static str>,
        /// The patch.
        body: Value,
    },
    /// Creates the object. Not a failure if it already exists.
    Create {
        /// The object.
        body: Value,
    },
    /// Creates the object from its JSON text, which is sent as it is: as a tree of values, 500 KB of manifests take 11 MB, and large
    /// numbers are rounded.
    CreateText {
        /// The object.
        body: Arc<str>,
    },
    /// A JSON merge patch of the object, as JSON text, which is sent as it is.
    PatchText {
        /// The patch.
        body: Arc<str>,
    },
    /// Creates the object, or patches the existing one, which the watch does not show because a label is missing.
    ///
    /// The response updates the facts in both cases, so that the decider does not ask for it again.
    CreateOrPatch {
        /// The object to create.
        body: Value,
        /// A JSON merge patch of the existing object, without resourceVersion.
        patch: Value,
    },
    /// Creates the object; if it exists, reads it, merges `body` into it, and replaces it.
    ///
    /// For objects that the controller may create and update, but not patch: namespaces, in OCM's role for its controller.
    CreateOrUpdate {
        /// The object to create, or the merge patch of the existing one.
        body: Value,
    },
    /// Replaces the object, or a subresource of it, with this body, which has the resourceVersion. Some subresources can only be written so
    /// (`approval`), and a role may grant update without patch.
    Replace {
        /// `status`, `approval`, or None.
        subresource: Option<&'static str>,
        /// The object.
        body: Value,
    },
    /// Deletes the object in the foreground: it stays until what it owns is gone. Not a failure if it is gone already.
    DeleteInForeground {
        /// Only the object with this uid is deleted.
        uid: String,
        /// The reason, for the log.
        why: &'static str,
    },
    /// Deletes the object in the background. Not a failure if it is gone already.
    Delete {
        /// Only the object with this uid is deleted.
        uid: String,
        /// If given, only the object in this version is deleted.
        resource_version: Option<String>,
        /// The reason, for the log.
        why: &'static str,
    },
}

/// An Event (events.k8s.io/v1) about an object that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `Normal`, or else `Warning`.
    pub warning: bool,
    /// The reason, such as `ManagedClusterAccepted`. It is the Event's action, too.
    pub reason: &'static str,
    /// Text for users.
    pub note: String,
    /// The namespace of the Event. None: `default`, as for cluster-scoped objects in Kubernetes.
    pub namespace: Option<String>,
}

/// A failed write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// The name of the reconciler.
    pub reconciler: &'static str,
    /// The object.
    pub target: Target,
    /// HTTP status code; 0 without a response.
    pub code: u16,
    /// The error, as text for users.
    pub message: String,
}

// === impl Plan ===

impl Plan {
    /// Returns true if nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Asks to decide again at this time, if not earlier.
    pub fn look_again(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |earlier| earlier.min(at)));
    }
}

impl From<Write> for Plan {
    fn from(write: Write) -> Self {
        Self {
            writes: vec![write],
            again: None,
        }
    }
}

// === impl Action ===

impl Action {
    /// Why the object is deleted, if it is.
    pub fn reason_of_deletion(&self) -> Option<&'static str> {
        match self {
            Self::Delete { why, .. } | Self::DeleteInForeground { why, .. } => Some(why),
            _ => None,
        }
    }
}

// === impl Write ===

impl Write {
    /// A JSON merge patch of a cluster-scoped object, without Events.
    pub fn patch(
        reconciler: &'static str,
        resource: GroupVersionResource,
        name: impl Into<String>,
        body: Value,
    ) -> Self {
        Self {
            target: Target {
                resource,
                namespace: None,
                name: name.into(),
            },
            action: Action::Patch {
                subresource: None,
                body,
            },
            reconciler,
            events: Vec::new(),
        }
    }
}

// === impl WriteFailure ===

impl WriteFailure {
    /// Returns true if the write failed because the object is too large to be stored.
    pub fn is_too_large(&self) -> bool {
        room::is_too_large(self.code, &self.message)
    }

    /// Returns true if the next try may succeed without any change by a user: no response, a busy API server or an internal
    /// error of it, a conflict with another writer.
    pub fn is_transient(&self) -> bool {
        matches!(self.code, 0 | 409 | 429 | 500..) && !self.is_too_large()
    }
}
