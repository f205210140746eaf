//! Calls the validating webhooks of a write, all at once.

use futures::future::join_all;
use tokio::time::Instant;

use super::Write;
use super::ask::{self, NoVerdict};
use super::call::Caller;
use super::hook::Hook;
use super::matching::{Attributes, Invocation, Surroundings};
use crate::object::Object;
use crate::status::ApiError;

pub(super) async fn dispatch(
    caller: &Caller,
    hooks: &[Hook],
    around: Surroundings<'_>,
    write: &Write<'_>,
    object: Option<&Object>,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let deadline = Instant::now() + write.timeout;
    let attributes = Attributes::new(around, write, object);
    let mut relevant = Vec::new();
    for hook in hooks {
        if let Some(invocation) = attributes.invocation(hook, object)? {
            relevant.push((hook, invocation));
        }
    }
    let calls = relevant
        .iter()
        .map(|(hook, invocation)| call(caller, hook, invocation, &attributes, object, deadline));
    let mut result = Ok(());
    // Wait for all of them: the warnings must not depend on the order of the responses.
    for (its_warnings, its_result) in join_all(calls).await {
        warnings.extend(its_warnings);
        result = result.and(its_result);
    }
    result
}

async fn call(
    caller: &Caller,
    hook: &Hook,
    invocation: &Invocation,
    attributes: &Attributes<'_>,
    object: Option<&Object>,
    deadline: Instant,
) -> (Vec<String>, Result<(), ApiError>) {
    let about = attributes.about(invocation);
    let versioned = attributes.versioned(invocation, object);
    match ask::ask(caller, hook, false, &about, &versioned, deadline).await {
        Ok(verdict) => (verdict.warnings, verdict.outcome),
        Err(NoVerdict::Failed(why)) if hook.fails_open => {
            tracing::warn!(
                webhook = hook.name,
                why,
                "failed calling webhook, failing open"
            );
            (Vec::new(), Ok(()))
        }
        Err(NoVerdict::Failed(why)) => (Vec::new(), Err(ask::failure(hook, &why))),
        Err(NoVerdict::Refused(error)) => (Vec::new(), Err(error)),
    }
}
