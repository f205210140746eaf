//! What lets the agents of an add-on ask for tokens, on the clusters where they use the driver `token`: a service account, a role and its
//! binding in the namespace of the cluster.
//!
//! The condition TokenInfrastructureReady says that the agents can ask, and has the uid of the account: an agent asks for another token if
//! the account was made anew. The objects equal OCM's. In contrast to OCM,
//! - a service account of others is not used, whose rights the agents would get;
//! - nothing is made for a cluster that is not accepted, and what was made goes: its tokens are void at once;
//! - while the add-on is being deleted, everything stays: its hooks may need it.

mod kind;
mod stored;
#[cfg(test)]
mod tests;

pub use kind::Kind;
pub(crate) use kind::rules;
pub use stored::Stored;

use berth_api::Now;
use berth_api::addon::RegistrationConfig;
use berth_api::conditions::{FALSE, TRUE, addon, condition_of, with_condition};
use berth_api::plan::{Action, Target, Write};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};

use crate::condition::condition;
use crate::facts::{Cluster, OnCluster};
use crate::registration::{NOT_ACCEPTED, TOKEN, driver};
use crate::writes;

/// The name of the reconciler of tokens, in metrics.
pub const TOKENS: &str = "addon-token-infrastructure";

/// What decides about the tokens of an add-on on a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The name of the add-on.
    pub addon: &'a str,
    /// The name of the cluster, which is its namespace, too.
    pub cluster: &'a str,
    /// The ManagedCluster.
    pub managed: Option<&'a Cluster>,
    /// The ManagedClusterAddOn.
    pub on: Option<&'a OnCluster>,
    /// The stored objects, in the order of [`Kind::ALL`].
    pub stored: [Option<&'a Stored>; 3],
    /// Why an object cannot be made or deleted: a user has to mend it.
    pub fault: Option<&'a str>,
}

/// What the objects are to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    Make,
    Keep,
    Remove,
}

/// How far the objects are that are to be made.
enum Step {
    Write(Box<Write>),
    /// This object is being deleted, and others have to let it go.
    Waits(Kind),
    Done,
}

/// Returns whether the agents of an add-on use tokens, as its `status.registrations` say. The agents write it.
#[must_use]
pub fn uses_tokens(registrations: &[RegistrationConfig]) -> bool {
    driver(registrations) == TOKEN
}

/// Returns whether anything may be due for a ManagedClusterAddOn without a stored object.
#[must_use]
pub fn concerns(on: &OnCluster) -> bool {
    uses_tokens(&on.registrations) || is_reported(on)
}

/// Returns the next write; `None` if everything is as it should be.
#[must_use]
pub fn next(facts: &Facts<'_>, now: Now) -> Option<Write> {
    let aim = aim(facts);
    if let Some(fault) = facts.fault
        && aim != Aim::Keep
    {
        return report(facts, Some(not_ready(fault, now)));
    }
    match aim {
        Aim::Keep => None,
        Aim::Make => match make(facts) {
            Step::Write(write) => Some(*write),
            Step::Waits(kind) => {
                let (cluster, name) = (facts.cluster, kind.of(facts.addon));
                let why = format!("{} {cluster}/{name} is being deleted", kind.name());
                report(facts, Some(not_ready(&why, now)))
            }
            Step::Done => report(facts, Some(ready(facts, now))),
        },
        Aim::Remove => remove(facts).or_else(|| {
            let uses = facts.on.is_some_and(|on| uses_tokens(&on.registrations));
            report(facts, uses.then(|| not_ready(NOT_ACCEPTED, now)))
        }),
    }
}

fn aim(facts: &Facts<'_>) -> Aim {
    let Some(on) = facts.on.filter(|on| uses_tokens(&on.registrations)) else {
        return Aim::Remove;
    };
    match facts.managed {
        Some(managed) if !managed.is_accepted => Aim::Remove,
        None => Aim::Remove,
        Some(managed) if managed.is_deleting || on.is_deleting => Aim::Keep,
        Some(_) => Aim::Make,
    }
}

/// Creates the next object that is missing, or mends the next one that is wrong.
fn make(facts: &Facts<'_>) -> Step {
    for (kind, stored) in Kind::ALL.into_iter().zip(facts.stored) {
        let wanted = kind.object(facts.addon, facts.cluster);
        let action = match stored {
            None => Action::Create { body: wanted },
            Some(stored) if stored.is_deleting => return Step::Waits(kind),
            Some(stored) => match stored.wrong.as_deref() {
                None => continue,
                // The role of a binding cannot be changed.
                Some(wrong) if wrong["roleRef"] != wanted["roleRef"] => {
                    delete(stored, "it binds another role")
                }
                Some(wrong) => Action::Replace {
                    subresource: None,
                    body: mended(wrong.clone(), wanted),
                },
            },
        };
        return Step::Write(write(facts, kind, action).into());
    }
    Step::Done
}

/// The stored object with the wanted content. Labels and annotations of others stay.
fn mended(mut wrong: Value, mut wanted: Value) -> Value {
    for field in ["rules", "subjects"] {
        if let Some(value) = wanted.get_mut(field) {
            wrong[field] = value.take();
        }
    }
    wrong
}

/// Deletes the next object. The binding goes first: without it, agents cannot ask for tokens.
fn remove(facts: &Facts<'_>) -> Option<Write> {
    let stored = Kind::ALL.into_iter().zip(facts.stored).rev();
    let mut there = stored.filter_map(|(kind, stored)| Some((kind, stored?)));
    let (kind, stored) = there.find(|(_, stored)| !stored.is_deleting)?;
    let action = delete(stored, "the agents of the add-on get no tokens");
    Some(write(facts, kind, action))
}

fn delete(stored: &Stored, why: &'static str) -> Action {
    Action::Delete {
        uid: stored.uid.clone(),
        resource_version: Some(stored.resource_version.clone()),
        why,
    }
}

fn write(facts: &Facts<'_>, kind: Kind, action: Action) -> Write {
    Write {
        target: Target {
            resource: kind.resource(),
            namespace: Some(facts.cluster.to_owned()),
            name: kind.of(facts.addon),
        },
        action,
        reconciler: TOKENS,
        events: Vec::new(),
    }
}

fn ready(facts: &Facts<'_>, now: Now) -> Condition {
    let uid = facts.stored[0].map_or("", |it| &it.uid);
    let name = Kind::Account.of(facts.addon);
    let message = format!(
        "ServiceAccount {}/{name} (UID: {uid}) is ready",
        facts.cluster
    );
    let type_ = addon::TOKEN_INFRASTRUCTURE_READY;
    condition(type_, (TRUE, type_), &message, now)
}

fn not_ready(why: &str, now: Now) -> Condition {
    let result = (FALSE, addon::TOKEN_INFRASTRUCTURE_APPLY_FAILED);
    let message = format!("Failed to apply token infrastructure: {why}");
    condition(addon::TOKEN_INFRASTRUCTURE_READY, result, &message, now)
}

fn is_reported(on: &OnCluster) -> bool {
    condition_of(&on.conditions, addon::TOKEN_INFRASTRUCTURE_READY).is_some()
}

/// Writes the condition, or removes it.
fn report(facts: &Facts<'_>, wanted: Option<Condition>) -> Option<Write> {
    let on = facts.on.filter(|it| !it.is_deleting)?;
    let conditions = match wanted {
        Some(wanted) => with_condition(&on.conditions, wanted)?,
        None if is_reported(on) => {
            let mut conditions = on.conditions.clone();
            conditions.retain(|it| it.type_ != addon::TOKEN_INFRASTRUCTURE_READY);
            conditions
        }
        None => return None,
    };
    let body = json!({"status": {"conditions": conditions}});
    let at = (facts.addon, facts.cluster);
    Some(writes::patch_on_cluster(
        TOKENS,
        at,
        on,
        Some("status"),
        body,
    ))
}
