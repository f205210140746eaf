//! What the deciders of a controller ask for: the writes that are due now, and when to decide again.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::resource::GroupVersionResource;
use crate::{groups, room};

/// A failure that may pass by itself is told to people when it has lasted for so long: longer than a hub takes to restart
/// one of its API servers, or a leader to be elected.
const LASTING: Duration = Duration::from_secs(10);

/// What is due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// They are sent at the same time, in no order.
    pub writes: Vec<Write>,
    /// When to decide again, though nothing may have changed. The earliest that was asked for.
    pub again: Option<Instant>,
}

/// One request that changes the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The object.
    pub target: Target,
    /// What happens to it.
    pub action: Action,
    /// The reconciler it is for, by its name in metrics.
    pub reconciler: &'static str,
    /// Told of the object when it has been written.
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

/// What happens to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Server-side apply, with force: what is in `body` is ours.
    Apply {
        /// The field manager.
        manager: &'static str,
        /// The whole object as it ought to be, with apiVersion, kind and metadata.
        body: Value,
    },
    /// Server-side apply to the subresource `status`.
    ApplyStatus {
        /// As for [`Action::Apply`].
        manager: &'static str,
        /// As for [`Action::Apply`].
        body: Value,
    },
    /// A JSON merge patch. It names the resourceVersion that it was decided from.
    Patch {
        /// `status`, `approval`, or none.
        subresource: Option<&'static str>,
        /// The patch.
        body: Value,
    },
    /// A new object; that it is there already is no failure.
    Create {
        /// The object.
        body: Value,
    },
    /// A new object; if one is there already, which the hub did not see for want of a label, this patch makes it seen.
    ///
    /// Either way the answer is the object, and goes into the facts: whoever asked for it must not have to ask again.
    CreateOrPatch {
        /// The object, if there is none.
        body: Value,
        /// A JSON merge patch, without resourceVersion, to the one that is there.
        patch: Value,
    },
    /// A new object; if one is there already it is read, and replaced with what it would be after this merge patch.
    ///
    /// For what the hub may create and update, but not patch: OCM's role for its controller says so of namespaces.
    CreateOrUpdate {
        /// The object, if there is none; else what it is to have.
        body: Value,
    },
    /// Replaces a subresource with this body, which has the resourceVersion: the only way to write some (`approval`).
    Replace {
        /// The subresource.
        subresource: &'static str,
        /// The object.
        body: Value,
    },
    /// In the background; that it is gone already is no failure.
    Delete {
        /// Only the object that has it.
        uid: String,
        /// Why it is deleted: the log says so of each deletion.
        why: &'static str,
    },
}

/// Something a person may want to know, told as an Event (events.k8s.io/v1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `Normal`, or else `Warning`.
    pub warning: bool,
    /// Such as `ManagedClusterAccepted`. It is the action, too.
    pub reason: &'static str,
    /// For a person.
    pub note: String,
    /// The namespace it is found in; `default`, as Kubernetes has it for cluster-scoped objects, if it is none.
    pub namespace: Option<String>,
}

/// Why a write did not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reconciler it was for.
    pub reconciler: &'static str,
    /// The object.
    pub target: Target,
    /// HTTP status code; 0 if there was no answer.
    pub code: u16,
    /// What the hub said, for a person.
    pub message: String,
}

// === impl Plan ===

impl Plan {
    /// Nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Asks to decide again at this time, if not earlier.
    pub fn look_again(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |earlier| earlier.min(at)));
    }
}

// === impl Failure ===

impl Failure {
    /// Whether the object would be larger than the hub stores objects.
    pub fn is_too_large(&self) -> bool {
        room::is_too_large(self.code, &self.message)
    }

    /// Whether the next try may go well though nobody does anything.
    ///
    /// There was no answer; the hub is busy, or has an error of its own; somebody else wrote the object at the same time, or
    /// deleted the ManagedCluster; or the hub's authorizer has not yet seen the role that a binding names.
    pub fn is_transient(&self) -> bool {
        match self.code {
            _ if self.is_too_large() => false,
            0 | 409 | 429 | 500.. => true,
            404 => {
                let kind = (
                    &*self.target.resource.group,
                    &*self.target.resource.resource,
                );
                kind == (groups::CLUSTER, groups::MANAGED_CLUSTERS)
                    || [
                        (groups::RBAC, "clusterrolebindings"),
                        (groups::RBAC, "rolebindings"),
                    ]
                    .contains(&kind)
            }
            _ => false,
        }
    }

    /// Whether people are told. `lasted`: how long this object, and what goes with it, has failed in a row.
    pub fn is_told_after(&self, lasted: Duration) -> bool {
        !self.is_transient() || lasted >= LASTING
    }
}
