//! Asks one webhook about a write.

use bytes::Bytes;
use tokio::time::Instant;

use super::call::Caller;
use super::hook::{Hook, SideEffects};
use super::matching::Versioned;
use super::review::About;
use super::verdict::{self, Verdict};
use crate::status::ApiError;

/// Why a webhook gave no verdict.
#[derive(Debug)]
pub(super) enum NoVerdict {
    /// The failurePolicy decides.
    Failed(String),
    /// Whatever the failurePolicy, this is the answer.
    Refused(ApiError),
}

/// Asks a webhook.
pub(super) async fn ask(
    caller: &Caller,
    hook: &Hook,
    is_mutating: bool,
    about: &About<'_>,
    objects: &Versioned,
    deadline: Instant,
) -> Result<Verdict, NoVerdict> {
    if about.is_dry_run() {
        may_run_dry(hook)?;
    }
    let failed = NoVerdict::Failed;
    if !hook.takes_review {
        let why = "webhook does not accept known AdmissionReview versions (v1)";
        return Err(failed(format!("could not create admission objects: {why}")));
    }
    let endpoint = hook.endpoint.as_ref();
    let endpoint = endpoint.map_err(|why| failed(format!("could not get REST client: {why}")))?;

    let (uid, review) = about.review(objects.object.as_ref(), objects.old.as_ref());
    let deadline = deadline.min(Instant::now() + hook.timeout);
    let answer = caller
        .post(endpoint, Bytes::from(review), deadline)
        .await
        .map_err(|why| failed(format!("failed to call webhook: {why}")))?;
    verdict::read(&hook.name, &answer, &uid, is_mutating).map_err(failed)
}

/// Checks that a dry run may call the webhook.
fn may_run_dry(hook: &Hook) -> Result<(), NoVerdict> {
    match hook.side_effects {
        SideEffects::NoneOnDryRun => Ok(()),
        SideEffects::Unsaid => Err(NoVerdict::Failed("Webhook SideEffects is nil".to_owned())),
        SideEffects::Some => {
            let name = &hook.name;
            let message = format!("admission webhook {name:?} does not support dry run");
            Err(NoVerdict::Refused(ApiError::bad_request(message)))
        }
    }
}

/// The error for the client when a call failed and the failure policy is Fail.
pub(super) fn failure(hook: &Hook, why: &str) -> ApiError {
    ApiError::internal(format!("failed calling webhook {:?}: {why}", hook.name))
}

/// The request's own time is over.
pub(super) fn timed_out() -> ApiError {
    ApiError {
        details: Some(crate::status::Details::default()),
        ..ApiError::new(
            http::StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            "Timeout: request did not complete within requested timeout",
        )
    }
}
