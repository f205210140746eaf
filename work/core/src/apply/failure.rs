//! Refusals of the API server, as messages for users.

use berth_api::conditions::manifest::APPLIED_FAILED;

use super::{Applying, Failure, Retry};
use crate::Refusal;

/// The largest message in bytes. A condition may have 32 KiB, and a ManifestWork many conditions.
const MAX_MESSAGE: usize = 2048;
/// Conflicting fields that the remedy names.
const MAX_CONFLICTS: usize = 3;

// === impl Applying ===

impl Applying {
    /// A failure of this object.
    pub(super) fn failure(&self, why: &str, retry: Retry) -> Failure {
        let object = &self.object.prescribed;
        let place = match self.object.namespace.as_str() {
            "" => object.name.clone(),
            namespace => format!("{namespace}/{}", object.name),
        };
        failure(format!("{} {place}: {why}", object.kind), retry)
    }
}

/// The failure of a refused request.
pub(crate) fn of(refusal: &Refusal) -> Failure {
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
    let message = match remedy(refusal) {
        Some(remedy) => format!("{}; {remedy}", cut(message, MAX_MESSAGE / 2)),
        None => message,
    };
    failure(message, retry)
}

/// A failure in OCM's words.
pub(crate) fn failure(why: String, retry: Retry) -> Failure {
    Failure {
        reason: APPLIED_FAILED,
        message: cut(format!("Failed to apply manifest: {why}"), MAX_MESSAGE),
        retry,
    }
}

/// What a user can do.
fn remedy(refusal: &Refusal) -> Option<String> {
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
    if is_immutable(refusal) {
        return Some("delete the object on the cluster, then it is created anew".to_owned());
    }
    None
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

/// Cuts a text to a number of bytes.
fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes - '…'.len_utf8()));
        text.push('…');
    }
    text
}
