//! What is reported of an add-on that is deployed: whether its manifests are applied, whether another cluster can host its agent, and its
//! health.

use berth_api::conditions::{FALSE, TRUE, addon, condition_of, manifest_work};
use berth_api::{ManifestWork, Now};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{Facts, Hosting, Made, Part};
use crate::condition::condition;
use crate::facts::Cluster;
use crate::health;

/// The conditions of an add-on whose works are as they should be.
pub(super) fn deployed(
    facts: &Facts<'_>,
    managed: &Cluster,
    made: &Made,
    now: Now,
) -> Vec<Condition> {
    let mut all = Vec::new();
    let mut unknown = Vec::new();
    for (part, type_) in [
        (Part::Deploy, addon::MANIFEST_APPLIED),
        (Part::HostedDeploy, addon::HOSTING_MANIFEST_APPLIED),
    ] {
        if part.namespace(facts.cluster, facts.hosting).is_none() {
            continue;
        }
        let works: Vec<_> = facts.reported(part).collect();
        match applied(type_, &works, now) {
            Some(applied) => all.push(applied),
            None => unknown.push(type_),
        }
    }
    let works: Vec<_> = (facts.reported(Part::Deploy))
        .chain(facts.reported(Part::HostedDeploy))
        .collect();
    all.extend(health::available(&health::Facts {
        addon: facts.addon,
        cluster_available: managed.available.as_deref(),
        workloads: &made.workloads,
        works: &works,
        generation: facts.on.generation,
        now: now.wall,
    }));
    all.extend(hosting(facts.hosting, now));
    let mut all = facts.conditions_with(all);
    // The agent has not reported yet: what an earlier work said does not count any more.
    all.retain(|it| !(unknown.contains(&&*it.type_) && it.status == FALSE));
    if !facts.hosting.is_other() {
        let of_hosting = [
            addon::HOSTING_MANIFEST_APPLIED,
            addon::HOSTING_CLUSTER_VALIDITY,
        ];
        all.retain(|it| !of_hosting.contains(&&*it.type_));
    }
    all
}

/// Whether the manifests of works are applied; `None` while a work has not been reported about.
fn applied(type_: &str, works: &[&ManifestWork], now: Now) -> Option<Condition> {
    let of = |work: &&ManifestWork| {
        let conditions = &work.status.as_ref()?.conditions;
        condition_of(conditions, manifest_work::APPLIED).map(|it| it.status == TRUE)
    };
    let all: Vec<_> = works.iter().map(of).collect();
    if all.contains(&Some(false)) {
        let message = "failed to apply the manifests of addon";
        let result = (FALSE, addon::ADDON_MANIFEST_APPLIED_FAILED);
        return Some(condition(type_, result, message, now));
    }
    if all.contains(&None) {
        return None;
    }
    let message = if all.is_empty() {
        "no manifest need to apply"
    } else {
        "manifests of addon are applied successfully"
    };
    let result = (TRUE, addon::ADDON_MANIFEST_APPLIED);
    Some(condition(type_, result, message, now))
}

/// Whether another cluster can host the agent.
fn hosting(hosting: Hosting<'_>, now: Now) -> Option<Condition> {
    let (name, result, verb) = match hosting {
        Hosting::Own => return None,
        Hosting::By(name) => (name, (TRUE, addon::HOSTING_CLUSTER_VALID), "is"),
        Hosting::Missing(name) => (name, (FALSE, addon::HOSTING_CLUSTER_INVALID), "is not"),
    };
    let message = format!("hosting cluster {name} {verb} a managed cluster of the hub");
    let type_ = addon::HOSTING_CLUSTER_VALIDITY;
    Some(condition(type_, result, &message, now))
}

/// The works of a part cannot be made or written.
pub(super) fn failed(part: Part, message: &str, now: Now) -> Condition {
    let type_ = match part.is_hosted() {
        true => addon::HOSTING_MANIFEST_APPLIED,
        false => addon::MANIFEST_APPLIED,
    };
    let result = (FALSE, addon::MANIFEST_WORK_APPLY_FAILED);
    condition(type_, result, message, now)
}
