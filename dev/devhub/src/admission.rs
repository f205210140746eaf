//! Calls the webhooks that are registered for a write.
//!
//! # Promises
//! - A new or changed registration takes effect with the next write.
//! - Webhooks are not called about registrations, so that a broken registration can always be removed.
//! - A call ends at its own timeout, or at the request's, if that is earlier.
//! - Messages about failures and denials are kube-apiserver's.

mod ask;
mod call;
mod conditions;
mod hook;
mod matching;
mod mutating;
mod patch;
mod registrations;
mod review;
mod rules;
#[cfg(test)]
mod testing;
mod validating;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use self::call::Caller;
pub(crate) use self::matching::Surroundings;
use self::registrations::{Hooks, Registrations};
use crate::object::Object;
use crate::resources::Resource;
use crate::status::ApiError;
use crate::storage::Store;
use crate::user::User;

pub(crate) use self::conditions::check_condition;

/// The kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

/// A write that is to be admitted.
#[derive(Clone, Copy)]
pub(crate) struct Write<'a> {
    /// What is done.
    pub(crate) operation: Operation,
    /// By whom.
    pub(crate) user: &'a User,
    /// To which resource.
    pub(crate) resource: &'a Resource,
    /// To which subresource; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// In which namespace.
    pub(crate) namespace: &'a str,
    /// To which object; empty for a creation by generateName.
    pub(crate) name: &'a str,
    /// The stored object as the resource's version shows it.
    pub(crate) old: Option<&'a Object>,
    /// `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions`, as sent to webhooks.
    pub(crate) options: &'a Value,
    /// True if nothing will be committed.
    pub(crate) dry_run: bool,
    /// How much time the request has left.
    pub(crate) timeout: Duration,
}

/// The webhooks' clients, kept from call to call.
#[derive(Debug)]
pub(crate) struct Admission {
    registrations: Registrations,
    caller: Caller,
}

// === impl Operation ===

impl Operation {
    /// As rules name it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

// === impl Admission ===

impl Admission {
    /// Without any connection yet. `services` says where a Service's port really is.
    pub(crate) fn new(services: crate::options::Services) -> Self {
        Self {
            registrations: Registrations::default(),
            caller: Caller::new(services),
        }
    }

    /// Calls the mutating webhooks one after the other, then again those that ask for it. After each change `settle` prunes
    /// and fills in defaults.
    ///
    /// # Errors
    /// A webhook denied it, or could not be asked and its failurePolicy is Fail.
    pub(crate) async fn mutate(
        &self,
        around: Surroundings<'_>,
        write: &Write<'_>,
        object: Option<&mut Object>,
        settle: &(dyn Fn(&mut Object) + Sync),
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        if is_exempt(write.resource) {
            return Ok(());
        }
        let hooks = self.hooks(around.store)?;
        mutating::dispatch(
            &self.caller,
            &hooks.mutating,
            around,
            write,
            object,
            settle,
            warnings,
        )
        .await
    }

    /// Calls the validating webhooks, all at once.
    ///
    /// # Errors
    /// As [`Admission::mutate`]; of several denials, the first registration's.
    pub(crate) async fn validate(
        &self,
        around: Surroundings<'_>,
        write: &Write<'_>,
        object: Option<&Object>,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        if is_exempt(write.resource) {
            return Ok(());
        }
        let hooks = self.hooks(around.store)?;
        validating::dispatch(
            &self.caller,
            &hooks.validating,
            around,
            write,
            object,
            warnings,
        )
        .await
    }

    /// The webhooks that are registered now.
    fn hooks(&self, store: &Store) -> Result<Arc<Hooks>, ApiError> {
        let (hooks, are_new) = self.registrations.current(store);
        if are_new {
            let all = hooks.mutating.iter().chain(&hooks.validating);
            self.caller
                .forget_all_but(all.filter_map(|hook| hook.endpoint.as_ref().ok()));
        }
        // Not to ask a webhook because its registration is spoilt would be to open the gate.
        match &hooks.broken {
            Some(why) => Err(ApiError::internal(why)),
            None => Ok(hooks),
        }
    }
}

/// Registrations of webhooks.
fn is_exempt(resource: &Resource) -> bool {
    let kinds = [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ];
    resource.group == "admissionregistration.k8s.io" && kinds.contains(&resource.kind.as_str())
}

#[cfg(test)]
mod tests;
