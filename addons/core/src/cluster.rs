//! What is due for an add-on on one cluster: its installation, its owner and annotations, what its template asks for ([`deploy`]), and its
//! condition Progressing.
//!
//! One write at a time: the next one is decided with the result.

use std::time::{Duration, Instant};

use berth_api::addon::ConfigReference;
use berth_api::conditions::with_condition;
use berth_api::plan::{Action, Plan, Write};
use berth_api::{Now, conditions};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Map, json};

use crate::condition::condition;
use crate::deploy::{self, Next, Part};
use crate::facts::{OnCluster, Work};
use crate::install::{Facts, Grace, Install, install};
use crate::owner::{metadata, owner};
use crate::progressing::{Progress, applied, progress};
use crate::writes::{self, ON_CLUSTER};

/// What is due.
#[derive(Clone, Debug, PartialEq)]
pub enum Due {
    /// These writes, now or later.
    Plan(Plan),
    /// Make the add-on of its source, then decide again; with a part: also write its works.
    Make(Option<Part>),
}

/// Decides what is due. `works`: the ManifestWorks of the ManagedClusterAddOn. `deployment`: what is known of an add-on from a template.
#[must_use]
pub fn decide<'a>(
    facts: &Facts<'_>,
    works: impl Iterator<Item = &'a Work> + Clone,
    deployment: Option<&deploy::Facts<'_>>,
    grace: Grace,
    now: Now,
) -> Due {
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
            return Due::Plan(of(facts, Action::Create { body }).into());
        }
        Install::Delete(why) => {
            let existing = facts.existing.cloned().unwrap_or_default();
            let action = Action::Delete {
                uid: existing.uid,
                resource_version: Some(existing.resource_version),
                why,
            };
            return Due::Plan(of(facts, action).into());
        }
        Install::Nothing(wait) => wait,
    };
    let due = match facts.existing {
        Some(on) if on.is_deleting && add_on.is_managed => ending(deployment, now),
        Some(on) if !on.is_deleting && add_on.is_ours() => {
            update(facts, on, works, deployment, now)
        }
        _ => Due::Plan(Plan::default()),
    };
    match (due, again.and_then(|wait| later(now.instant, wait))) {
        (Due::Plan(mut plan), Some(at)) => {
            plan.look_again(at);
            Due::Plan(plan)
        }
        (due, _) => due,
    }
}

/// Decides what is due for a ManagedClusterAddOn that is being deleted: its hooks. Its ClusterManagementAddOn may be gone.
#[must_use]
pub fn ending(deployment: Option<&deploy::Facts<'_>>, now: Now) -> Due {
    let Some(facts) = deployment.filter(|it| it.on.is_deleting) else {
        return Due::Plan(Plan::default());
    };
    match deploy::next(facts, now) {
        Next::Make(part) => Due::Make(part),
        Next::Write(write) => Due::Plan((*write).into()),
        Next::Report(conditions, again) => {
            let at = (facts.addon, facts.cluster);
            let write = status(at, facts.on, &facts.on.references, conditions);
            Due::Plan(planned(write, again, now))
        }
    }
}

fn later(now: Instant, wait: Duration) -> Option<Instant> {
    now.checked_add(wait)
}

fn planned(write: Option<Write>, again: Option<Timestamp>, now: Now) -> Plan {
    let mut plan = Plan {
        writes: write.into_iter().collect(),
        again: None,
    };
    let wait = again.map(|at| Duration::try_from(at.duration_since(now.wall)).unwrap_or_default());
    if let Some(at) = wait.and_then(|wait| later(now.instant, wait)) {
        plan.look_again(at);
    }
    plan
}

/// What is next for the existing object.
fn update<'a>(
    facts: &Facts<'_>,
    on: &OnCluster,
    works: impl Iterator<Item = &'a Work> + Clone,
    deployment: Option<&deploy::Facts<'_>>,
    now: Now,
) -> Due {
    let add_on = facts.add_on;
    let at = (&*add_on.name, facts.cluster);
    if let Some(metadata) = metadata(add_on, facts.cluster, on, facts.annotations) {
        let body = json!({"metadata": metadata});
        let write = writes::patch_on_cluster(ON_CLUSTER, at, on, None, body);
        return Due::Plan(write.into());
    }
    let (conditions, again) = match deployment.map(|it| deploy::next(it, now)) {
        None => (on.conditions.clone(), None),
        Some(Next::Make(part)) => return Due::Make(part),
        Some(Next::Write(write)) => return Due::Plan((*write).into()),
        Some(Next::Report(conditions, again)) => (conditions, again),
    };
    let reported = OnCluster {
        conditions,
        ..on.clone()
    };
    let progress = progress(&reported, works);
    let references = match progress.is_completed() {
        true => applied(&on.references),
        false => on.references.clone(),
    };
    let conditions = with_condition(&reported.conditions, progressing(&progress, now));
    let conditions = conditions.unwrap_or(reported.conditions);
    Due::Plan(planned(status(at, on, &references, conditions), again, now))
}

/// The patch of the status; `None` if it is like this.
fn status(
    at: (&str, &str),
    on: &OnCluster,
    references: &[ConfigReference],
    conditions: Vec<Condition>,
) -> Option<Write> {
    let mut status = Map::new();
    if conditions != on.conditions {
        status.insert("conditions".to_owned(), json!(conditions));
    }
    if references != on.references {
        status.insert("configReferences".to_owned(), json!(references));
    }
    (!status.is_empty()).then(|| {
        let body = json!({"status": status});
        writes::patch_on_cluster(ON_CLUSTER, at, on, Some("status"), body)
    })
}

/// The condition Progressing, since now.
pub(crate) fn progressing(progress: &Progress, now: Now) -> Condition {
    let result = (progress.status, progress.reason);
    condition(
        conditions::addon::PROGRESSING,
        result,
        &progress.message,
        now,
    )
}

fn of(facts: &Facts<'_>, action: Action) -> Write {
    writes::on_cluster(&facts.add_on.name, facts.cluster, ON_CLUSTER, action)
}

#[cfg(test)]
mod tests;
