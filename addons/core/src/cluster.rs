//! What is due for an add-on on one cluster: its installation, its owner and annotations, and its condition Progressing.
//!
//! One write at a time: the next one is decided with the result.

use std::time::{Duration, Instant};

use berth_api::conditions::with_condition;
use berth_api::plan::{Action, Plan, Write};
use berth_api::{Now, conditions};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;

use crate::facts::Work;
use crate::install::{Facts, Grace, Install, install};
use crate::owner::{metadata, owner};
use crate::progressing::{Progress, applied, progress};
use crate::writes::{self, ON_CLUSTER};

/// Decides what is due. `works`: the ManifestWorks of the ManagedClusterAddOn.
#[must_use]
pub fn decide<'a>(
    facts: &Facts<'_>,
    works: impl Iterator<Item = &'a Work> + Clone,
    grace: Grace,
    now: Now,
) -> Plan {
    let add_on = facts.add_on;
    let again = match install(facts, grace) {
        Install::Create(annotations) => {
            let body = json!({
                "apiVersion": writes::API_VERSION,
                "kind": "ManagedClusterAddOn",
                "metadata": {
                    "name": add_on.name, "namespace": facts.cluster, "annotations": annotations,
                    "ownerReferences": [owner(add_on)],
                },
                "spec": {},
            });
            return of(facts, Action::Create { body }).into();
        }
        Install::Delete(why) => {
            let existing = facts.existing.cloned().unwrap_or_default();
            let action = Action::Delete {
                uid: existing.uid,
                resource_version: Some(existing.resource_version),
                why,
            };
            return of(facts, action).into();
        }
        Install::Nothing(wait) => wait,
    };
    let mut plan = Plan {
        writes: update(facts, works, now).into_iter().collect(),
        again: None,
    };
    if let Some(at) = again.and_then(|wait| later(now.instant, wait)) {
        plan.look_again(at);
    }
    plan
}

fn later(now: Instant, wait: Duration) -> Option<Instant> {
    now.checked_add(wait)
}

/// The next write to the existing object.
fn update<'a>(
    facts: &Facts<'_>,
    works: impl Iterator<Item = &'a Work> + Clone,
    now: Now,
) -> Option<Write> {
    let on = facts.existing.filter(|it| !it.is_deleting)?;
    let add_on = facts.add_on;
    if !add_on.is_ours() {
        return None;
    }
    let at = (add_on, facts.cluster);
    if let Some(metadata) = metadata(add_on, facts.cluster, on, facts.annotations) {
        let body = json!({"metadata": metadata});
        return Some(writes::patch_on_cluster(ON_CLUSTER, at, on, None, body));
    }
    let progress = progress(on, works);
    let references = match progress.is_completed() {
        true => applied(&on.references),
        false => on.references.clone(),
    };
    let conditions = with_condition(&on.conditions, condition(progress, now));
    let is_same = references == on.references;
    let mut status = json!({});
    if let Some(conditions) = &conditions {
        status["conditions"] = json!(conditions);
    }
    if !is_same {
        status["configReferences"] = json!(references);
    }
    (conditions.is_some() || !is_same).then(|| {
        let body = json!({"status": status});
        writes::patch_on_cluster(ON_CLUSTER, at, on, Some("status"), body)
    })
}

/// The condition Progressing, since now.
pub(crate) fn condition(progress: Progress, now: Now) -> Condition {
    Condition {
        type_: conditions::addon::PROGRESSING.to_owned(),
        status: progress.status.to_owned(),
        reason: progress.reason.to_owned(),
        message: progress.message,
        last_transition_time: Time(now.wall),
        observed_generation: None,
    }
}

fn of(facts: &Facts<'_>, action: Action) -> Write {
    writes::on_cluster(&facts.add_on.name, facts.cluster, ON_CLUSTER, action)
}

#[cfg(test)]
mod tests;
