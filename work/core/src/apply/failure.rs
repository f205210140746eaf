//! Refusals of the API server, as messages for users.

#[cfg(test)]
mod tests;

use berth_api::conditions::manifest::APPLIED_FAILED;
use berth_api::text::shorten;

use super::{ApplyFailure, ApplyOutcome, Applying, Retry};
use crate::report::LONGEST_ERROR;
use crate::{Mapped, Refusal, Step};

/// OCM's words.
pub(crate) const FAILED: &str = "Failed to apply manifest: ";
/// Conflicting fields that the remedy names.
const MAX_CONFLICTS: usize = 3;

// === impl Applying ===

impl Applying {
    /// A failure of this object.
    pub(super) fn failure(&self, why: &str, retry: Retry) -> ApplyFailure {
        let object = &self.object.prescribed;
        let place = match self.object.namespace.as_str() {
            "" => object.name.clone(),
            namespace => format!("{namespace}/{}", object.name),
        };
        failure(format!("{} {place}: {why}", object.kind), retry)
    }

    /// A write of this object was refused.
    pub(super) fn failed(&self, refusal: &Refusal) -> Step<ApplyOutcome> {
        Step::Done(ApplyOutcome::Failed(rejected(refusal, Some(&self.object))))
    }
}

/// The failure of a refused request. `object`: what was to be written.
pub(crate) fn rejected(refusal: &Refusal, object: Option<&Mapped>) -> ApplyFailure {
    let message = match refusal.message.as_str() {
        "" => format!(
            "the API server answered {} {}",
            refusal.code, refusal.reason
        ),
        message => message.to_owned(),
    };
    let retry = if refusal.is_field_conflict() {
        Retry::OnChange
    } else {
        Retry::Backoff
    };
    let message = match remedy(refusal, object) {
        // The report must not cut the remedy.
        Some(remedy) => {
            let room = LONGEST_ERROR.saturating_sub(FAILED.len() + 2 + remedy.len());
            format!("{}; {remedy}", shorten(&message, room))
        }
        None => message,
    };
    failure(message, retry)
}

/// A failure in OCM's words.
pub(crate) fn failure(why: String, retry: Retry) -> ApplyFailure {
    ApplyFailure {
        reason: APPLIED_FAILED,
        message: shorten(&format!("{FAILED}{why}"), LONGEST_ERROR).into_owned(),
        retry,
    }
}

/// What a user can do.
fn remedy(refusal: &Refusal, object: Option<&Mapped>) -> Option<String> {
    let says = |text: &str| refusal.message.contains(text);
    if refusal.is_field_conflict() {
        let mut owners: Vec<String> = refusal
            .causes
            .iter()
            .map(|cause| {
                let manager = cause.message.split('"').nth(1).unwrap_or("another manager");
                format!("{} is owned by {manager:?}", cause.field)
            })
            .collect();
        let more = owners.len().saturating_sub(MAX_CONFLICTS);
        owners.truncate(MAX_CONFLICTS);
        if more > 0 {
            owners.push(format!("and {more} more"));
        }
        return Some(format!(
            "{}: remove the field from the manifest, name it in ignoreFields, or set force in updateStrategy.serverSideApply",
            owners.join(", ")
        ));
    }
    if says("cannot change roleRef") {
        return Some(
            "delete the binding on the cluster, then it is created with the new roleRef".to_owned(),
        );
    }
    if refusal.code == 403 && says(" cannot ") && says(" resource ") {
        return Some(
            "grant it on the cluster with a ClusterRole that has the label open-cluster-management.io/aggregate-to-work=true".to_owned(),
        );
    }
    let is_fixed = says("may not change once set") || says("is immutable after creation");
    if is_immutable(refusal) || refusal.code == 422 && is_fixed {
        return Some(new_object(object));
    }
    None
}

/// How an object gets a value that cannot be changed, without the loss of what is deleted with the object.
fn new_object(object: Option<&Mapped>) -> String {
    let kind = object.map(|it| (it.prescribed.group(), it.prescribed.kind.as_str()));
    let lost = match (kind, object) {
        (Some(("apps", "StatefulSet")), Some(object)) => {
            return format!(
                "delete it on the cluster without its pods, then it is created anew: kubectl delete statefulset {} -n {} --cascade=orphan",
                object.prescribed.name, object.namespace
            );
        }
        (Some(("", "PersistentVolumeClaim" | "PersistentVolume")), _) => "its data",
        (Some(("apiextensions.k8s.io", _)), _) => "all objects of its kind",
        _ => return "delete the object on the cluster, then it is created anew".to_owned(),
    };
    let kind = kind.map_or("object", |(_, kind)| kind);
    format!(
        "put the value of the cluster into the manifest: a deletion of the {kind} deletes {lost}"
    )
}

/// Is the update refused only because fields must not change? Then a new object may have other values of them.
pub(super) fn is_immutable(refusal: &Refusal) -> bool {
    let says = |message: &str| {
        message.contains("field is immutable")
            || message.contains("updates to") && message.contains("are forbidden")
    };
    let mut causes = refusal.causes.iter();
    refusal.code == 422 && says(&refusal.message) && causes.all(|cause| says(&cause.message))
}
