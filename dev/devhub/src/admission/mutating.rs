//! Calls the mutating webhooks of a write, one after the other. Each gets the object as the earlier ones changed it.

use tokio::time::Instant;

use super::Write;
use super::ask::{self, NoVerdict};
use super::call::Caller;
use super::hook::Hook;
use super::matching::{self, Attributes, Invocation, Surroundings, Versioned};
use super::patch::{self, Unreadable};
use super::verdict::Verdict;
use crate::object::Object;
use crate::status::ApiError;
use crate::writes::operations;

pub(super) async fn dispatch(
    caller: &Caller,
    hooks: &[Hook],
    around: Surroundings<'_>,
    write: &Write<'_>,
    mut object: Option<&mut Object>,
    settle: &(dyn Fn(&mut Object) + Sync),
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let deadline = Instant::now() + write.timeout;
    let mut rounds = Rounds::new(hooks.len());
    loop {
        for (index, hook) in hooks.iter().enumerate() {
            if !rounds.is_on(index) {
                continue;
            }
            // The name is the request's all along: a generated one comes later.
            let attributes = Attributes::new(around, write, None);
            let Some(invocation) = attributes.invocation(hook, object.as_deref())? else {
                continue;
            };
            let about = attributes.about(&invocation);
            let versioned = attributes.versioned(&invocation, object.as_deref());
            let verdict = ask::ask(caller, hook, true, &about, &versioned, deadline).await;
            let changed = match verdict {
                Ok(verdict) => take(
                    hook,
                    verdict,
                    &invocation,
                    versioned,
                    write,
                    &mut object,
                    settle,
                    warnings,
                ),
                Err(error) => Err(error),
            };
            match changed {
                Ok(true) => rounds.changed(),
                Ok(false) => {}
                Err(NoVerdict::Failed(why)) if hook.fails_open => {
                    tracing::warn!(
                        webhook = hook.name,
                        why,
                        "failed calling webhook, failing open"
                    );
                    if Instant::now() >= deadline {
                        return Err(ask::timed_out());
                    }
                }
                Err(NoVerdict::Failed(why)) => return Err(ask::failure(hook, &why)),
                Err(NoVerdict::Refused(error)) => return Err(error),
            }
            if hook.reinvoked {
                rounds.invoked(index);
            }
        }
        if !rounds.next() {
            return Ok(());
        }
    }
}

/// Takes what a webhook made of the object. Says whether that is a change.
#[expect(
    clippy::too_many_arguments,
    reason = "a part of dispatch, for its errors"
)]
fn take(
    hook: &Hook,
    verdict: Verdict,
    invocation: &Invocation,
    versioned: Versioned,
    write: &Write<'_>,
    object: &mut Option<&mut Object>,
    settle: &(dyn Fn(&mut Object) + Sync),
    warnings: &mut Vec<String>,
) -> Result<bool, NoVerdict> {
    warnings.extend(verdict.warnings);
    verdict.outcome.map_err(NoVerdict::Refused)?;
    if verdict.patch.is_empty() {
        return Ok(false);
    }
    let patch = patch::read(&verdict.patch).map_err(|error| match error {
        Unreadable::Undecodable(why) => NoVerdict::Failed(format!(
            "received undecodable patch in webhook response: {why}"
        )),
        Unreadable::Unknown(why) => NoVerdict::Refused(ApiError::internal(why)),
    })?;
    if patch.0.is_empty() {
        return Ok(false);
    }
    let internal = |why: String| NoVerdict::Refused(ApiError::internal(why));
    let (Some(object), Some(before)) = (object.as_deref_mut(), versioned.object) else {
        return Err(internal(format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name
        )));
    };
    if verdict.patch_type != "JSONPatch" {
        let sort = verdict.patch_type;
        return Err(NoVerdict::Failed(format!(
            "unsupported patch type {sort:?}"
        )));
    }
    let patched = operations::apply(before.to_value(), &patch).map_err(internal)?;
    let patched = Object::try_from(patched).map_err(|error| internal(error.to_string()))?;
    if (patched.api_version(), patched.kind()) != (before.api_version(), before.kind()) {
        return Err(internal(format!(
            "admission webhook {:?} attempted to change the object's apiVersion or kind",
            hook.name
        )));
    }
    let changed = patched != before;
    *object = match invocation {
        Invocation::Asked => patched,
        Invocation::Equivalent(other) => matching::convert(&patched, other, write.resource),
    };
    settle(object);
    Ok(changed)
}

/// The webhooks of the second round: those that request it and were called before another webhook changed the object.
struct Rounds {
    is_second: bool,
    any_change: bool,
    /// Called, and asking to be called again after later changes.
    called: Vec<bool>,
    /// Called again.
    again: Vec<bool>,
}

impl Rounds {
    fn new(hooks: usize) -> Self {
        Self {
            is_second: false,
            any_change: false,
            called: vec![false; hooks],
            again: vec![false; hooks],
        }
    }

    fn is_on(&self, index: usize) -> bool {
        !self.is_second || self.again[index]
    }

    fn invoked(&mut self, index: usize) {
        self.called[index] = true;
    }

    fn changed(&mut self) {
        self.any_change = true;
        for (again, called) in self.again.iter_mut().zip(&mut self.called) {
            *again |= std::mem::take(called);
        }
    }

    /// Returns true if there is another round.
    fn next(&mut self) -> bool {
        let goes_on = !self.is_second && self.any_change && self.again.contains(&true);
        self.is_second = true;
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_webhooks_called_before_a_change_are_called_again() {
        let mut rounds = Rounds::new(3);
        // The second changes the object, the third does not; all ask to be called again.
        rounds.invoked(0);
        rounds.changed();
        rounds.invoked(1);
        rounds.invoked(2);
        assert!(rounds.next());
        assert_eq!(
            [0, 1, 2].map(|index| rounds.is_on(index)),
            [true, false, false]
        );
        // Whatever happens now, there is no third round.
        rounds.changed();
        assert!(!rounds.next());
    }

    #[test]
    fn without_a_change_there_is_one_round() {
        let mut rounds = Rounds::new(1);
        rounds.invoked(0);
        assert!(!rounds.next());
    }
}
