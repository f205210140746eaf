//! Removing an object that a ManifestWork applied and that is no longer in it, or whose ManifestWork is deleted.
//!
//! # Guarantees
//! - Only the object with the recorded UID is deleted, and only in the version in which no other AppliedManifestWork owns it.
//! - An object that our AppliedManifestWork does not own is left alone. Owners of other kinds do not protect an object.
//! - If another AppliedManifestWork owns the object, only our reference is removed.

#[cfg(test)]
mod tests;

use berth_api::work::AppliedManifestResourceMeta;
use serde_json::{Value, json};

use crate::apply::ApplyFailure;
use crate::owner::{is_applied_manifest_work, references};
use crate::{Response, Retry, Step, apply};

/// The largest number of requests for one object.
const MAX_STEPS: u32 = 12;

/// How a removal ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Removal {
    /// The object does not exist, or is not ours any more: it leaves status.appliedResources.
    Gone,
    /// The object is being deleted: it stays in status.appliedResources. Decide again when it changes. These are its finalizers, as far
    /// as they are known.
    Pending(Box<[String]>),
    /// A request was refused: the object stays in status.appliedResources.
    Failed(ApplyFailure),
}

/// The state machine of one removal.
#[derive(Debug)]
pub struct Removing {
    recorded_uid: String,
    owner_uid: String,
    asked: Asked,
    steps: u32,
    without_patch: bool,
}

/// The last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Read,
    /// The removal of our reference.
    Reference,
    Deletion,
}

// === impl Removing ===

impl Removing {
    /// Removes a recorded object on behalf of the AppliedManifestWork with this UID.
    pub fn new(recorded: &AppliedManifestResourceMeta, owner_uid: &str) -> Self {
        Self {
            recorded_uid: recorded.uid.clone(),
            owner_uid: owner_uid.to_owned(),
            asked: Asked::Read,
            steps: 0,
            without_patch: false,
        }
    }

    /// Returns the next request, given the response to the last one. The first call has no response; or [`Response::NotFound`], if
    /// the caller knows from a synchronized watch that the object does not exist, or [`Response::Found`] with the object.
    pub fn next(&mut self, last: Option<Response>) -> Step<Removal> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Step::Done(Removal::Pending(Box::default()));
        }
        match last {
            None => self.read(),
            Some(Response::NotFound) => Step::Done(Removal::Gone),
            Some(Response::Found(live)) => self.decide(&live),
            Some(Response::Written(response)) => match self.asked {
                Asked::Deletion if response["kind"] == "Status" => Step::Done(Removal::Gone),
                Asked::Deletion => Step::Done(pending(&response)),
                Asked::Read | Asked::Reference => self.decide(&response),
            },
            Some(Response::Refused(refusal)) => {
                if refusal.code == 409 && self.asked != Asked::Read {
                    return self.read();
                }
                if refusal.code == 403 && self.asked == Asked::Reference && !self.without_patch {
                    self.without_patch = true;
                    return self.read();
                }
                let mut failure = apply::rejected(&refusal, None);
                let why = failure.message.strip_prefix(apply::FAILED);
                failure.message = format!("it was not deleted: {}", why.unwrap_or_default());
                Step::Done(Removal::Failed(failure))
            }
        }
    }

    fn read(&mut self) -> Step<Removal> {
        self.asked = Asked::Read;
        Step::Get
    }

    fn decide(&mut self, live: &Value) -> Step<Removal> {
        let metadata = &live["metadata"];
        let ours = |reference: &&Value| {
            is_applied_manifest_work(reference) && reference["uid"] == self.owner_uid.as_str()
        };
        let all = references(live);
        if self.owner_uid.is_empty() || !all.iter().any(|reference| ours(&reference)) {
            return Step::Done(Removal::Gone);
        }
        let others: Vec<&Value> = all.iter().filter(|reference| !ours(reference)).collect();
        if others
            .iter()
            .any(|reference| is_applied_manifest_work(reference))
        {
            let owners = json!(others);
            self.asked = Asked::Reference;
            if self.without_patch {
                let mut body = live.clone();
                body["metadata"]["ownerReferences"] = owners;
                return Step::Replace(body);
            }
            return Step::Merge(json!({"metadata": {
                "resourceVersion": metadata["resourceVersion"],
                "ownerReferences": owners,
            }}));
        }
        if self.recorded_uid.is_empty() || metadata["uid"] != self.recorded_uid.as_str() {
            return Step::Done(Removal::Gone);
        }
        if !metadata["deletionTimestamp"].is_null() {
            return Step::Done(pending(live));
        }
        self.asked = Asked::Deletion;
        Step::Delete {
            uid: self.recorded_uid.clone(),
            resource_version: metadata["resourceVersion"].as_str().map(str::to_owned),
        }
    }
}

fn pending(object: &Value) -> Removal {
    let finalizers = object["metadata"]["finalizers"].as_array();
    let names = finalizers.into_iter().flatten().filter_map(Value::as_str);
    Removal::Pending(names.map(str::to_owned).collect())
}

// === impl Removal ===

impl Removal {
    /// When to try again, if the removal failed.
    pub fn retry(&self) -> Option<Retry> {
        match self {
            Self::Failed(failure) => Some(failure.retry),
            Self::Gone | Self::Pending(_) => None,
        }
    }
}
