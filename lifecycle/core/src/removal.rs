//! Removal of a deleted cluster: first the content of its namespace in order, then its permissions, then the finalizers.
//!
//! Follows OCM's GCController, and the removing half of its ManagedClusterController.
//!
//! # Guarantees
//! - Only a namespace with the cluster's label is cleaned up, and only the kinds that an admin listed are deleted. The
//!   namespace itself stays.
//! - Each deletion names the uid that was seen: a new object of the same name is not deleted.
//! - The agent may work until the last ManifestWork is gone, unless the cluster is denied now ([`labels::DENY_NOW`]).
//! - Each of the two finalizers alone keeps the cluster until its namespace is clean: to force the removal, remove both.
//! - Our finalizers always go in the end: also when the gate `ResourceCleanup` is turned off, and when other finalizers keep
//!   our RBAC objects.

mod permissions;
#[cfg(test)]
mod tests;

pub(crate) use permissions::{
    bindings_are_gone, release_work_binding, take_back, take_back_bindings, take_back_roles,
    without_work_finalizer,
};

use std::time::{Duration, Instant};

use berth_api::reserved::Reservation;
use berth_api::{conditions, labels};

use self::permissions::{has_permissions, is_denied_now, is_gone};
use crate::cluster_plan::ClusterPlan;
use crate::facts::{Cluster, ClusterFacts, Now, Remaining, RemainingObject};
use crate::failures::is_told_after;
use crate::names::managers;
use crate::status::{self, Owner, Wanted};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Event, Target, Write, WriteFailure};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "removal";

const OWNER: Owner = Owner {
    manager: managers::REMOVAL,
    reconciler: NAME,
};

/// When to check again whether objects that are not watched are gone.
const AGAIN: Duration = Duration::from_secs(2);
/// The same for objects that may stay: their agent or namespace may be gone.
const SELDOM: Duration = Duration::from_secs(30);

/// Upper bound on the deletions of one plan. The next objects follow after these.
const AT_ONCE: usize = 500;

const DELETING: &str = conditions::cluster::DELETING;

/// The number of ManifestWorks in the cluster's namespace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Works<'a> {
    NotAsked,
    Left(usize),
    Unknown(&'a str),
}

/// Progress of the clean-up of the namespace.
#[derive(PartialEq)]
enum Collected {
    /// An answer is missing.
    NotAsked,
    /// Objects are left, or may be left.
    No(Wanted<'static>),
    Yes,
}

/// The kinds that must be listed in the cluster's namespace before a decision. The answers become
/// [`ClusterFacts::remaining`], in this order. Empty for a cluster that stays, unless its work binding is being deleted.
///
/// An answer is valid for one decision: after the writes of that decision, ask the hub again.
pub fn questions(facts: &ClusterFacts<'_>) -> Vec<GroupVersionResource> {
    let mut kinds = if is_collected(facts) {
        facts.config.gc_resources.clone()
    } else {
        Vec::new()
    };
    let works = manifest_works();
    let waits = !is_denied_now(facts)
        && (facts.owned.work_binding.as_ref())
            .is_some_and(|binding| binding.deleting && binding.work_finalizer);
    if waits && !kinds.contains(&works) {
        kinds.push(works);
    }
    kinds
}

/// Plans the finalizer of a cluster that exists, or the removal of a cluster that is being deleted or gone.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let gate = facts.config.gates.resource_cleanup;
    match facts.cluster {
        Some(cluster) if cluster.deleting => remove(facts, cluster, now, plan),
        Some(cluster) if gate && !cluster.has_finalizer(labels::RESOURCE_CLEANUP) => {
            plan.changes.add_finalizers.push(labels::RESOURCE_CLEANUP);
        }
        // A cluster that is gone is known by the names of its objects only: in a reserved namespace they belong to others.
        None if has_permissions(facts.owned)
            && facts.config.reservation(facts.name) != Some(Reservation::Namespace) =>
        {
            let collected = collect(facts, now, plan);
            // After a restart, the work binding is the only record that the clean-up is not finished.
            take_back(facts, NAME, collected != Collected::Yes, now, plan);
        }
        _ => {}
    }
}

/// Reports the failed writes of the last plan in the condition `Deleting`.
///
/// `lasted`: how long this cluster's writes have failed in a row.
pub fn report(
    facts: &ClusterFacts<'_>,
    failures: &[WriteFailure],
    lasted: Duration,
    now: Now,
    plan: &mut ClusterPlan,
) {
    if !facts.cluster.is_some_and(|cluster| cluster.deleting) {
        return;
    }
    let told: Vec<&WriteFailure> = failures
        .iter()
        .filter(|failure| failure.reconciler == NAME && is_told_after(failure, lasted))
        .collect();
    if !told.is_empty() {
        let wanted = failed(format!("failed to clean up: {}", status::describe(&told)));
        set(facts, wanted, now, plan);
    }
}

/// Counts the ManifestWorks in the cluster's namespace.
pub(crate) fn works<'a>(facts: &ClusterFacts<'a>) -> Works<'a> {
    match answer(facts, &manifest_works()).map(|remaining| &remaining.objects) {
        None => Works::NotAsked,
        Some(Ok(objects)) => Works::Left(objects.len()),
        Some(Err(why)) => Works::Unknown(why),
    }
}

/// Removes what a deleted cluster has on the hub.
fn remove(facts: &ClusterFacts<'_>, cluster: &Cluster, now: Now, plan: &mut ClusterPlan) {
    let before = plan.writes.len();
    let collected = collect(facts, now, plan);
    take_back(facts, NAME, false, now, plan);
    // An error stays in the condition until the deletion succeeds: before that, it is not known whether it can.
    let failed_before = cluster
        .condition(DELETING)
        .is_some_and(|condition| condition.reason == conditions::cluster::DELETING_ERROR);
    let keeps_condition = failed_before && plan.writes.len() > before;
    let is_collected = collected == Collected::Yes;
    let wanted = match collected {
        Collected::NotAsked => None,
        Collected::No(wanted) => Some(wanted),
        Collected::Yes => facts.config.gates.resource_cleanup.then(nothing_left),
    };
    if let Some(wanted) = wanted.filter(|_| !keeps_condition) {
        let writes = plan.writes.len();
        set(facts, wanted, now, plan);
        // The condition is written before the finalizers go, since the object may go with them. A full object gets no
        // condition.
        if plan.writes.len() > writes && !facts.full {
            return;
        }
    }
    // Each finalizer alone may keep the cluster: one that was deleted while the gate was off has only the other. If it went
    // too early, the rest of the namespace would never be cleaned up.
    if !is_collected {
        return;
    }
    if cluster.has_finalizer(labels::RESOURCE_CLEANUP) {
        plan.changes
            .remove_finalizers
            .push(labels::RESOURCE_CLEANUP);
    }
    let owned = facts.owned;
    let all_gone = is_gone(owned.cluster_role.as_ref())
        && is_gone(owned.cluster_role_binding.as_ref())
        && bindings_are_gone(owned);
    if all_gone && cluster.has_finalizer(labels::API_RESOURCE_CLEANUP) {
        plan.changes
            .remove_finalizers
            .push(labels::API_RESOURCE_CLEANUP);
    }
}

/// Deletes, of the first kind that has objects left, those with the lowest priority.
fn collect(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) -> Collected {
    if !is_collected(facts) {
        return Collected::Yes;
    }
    for kind in &facts.config.gc_resources {
        let Some(remaining) = answer(facts, kind) else {
            return Collected::NotAsked;
        };
        let objects = match &remaining.objects {
            Ok(objects) if objects.is_empty() => continue,
            Ok(objects) => objects,
            Err(why) => {
                look_again(facts, now, plan);
                let resource = &kind.resource;
                return Collected::No(failed(format!(
                    "failed to list resource {resource}. err:{why}"
                )));
            }
        };
        let first = objects.iter().map(priority).min();
        let due = objects
            .iter()
            .filter(|object| Some(priority(object)) == first && !object.deleting)
            .take(AT_ONCE);
        for object in due {
            plan.writes.push(Write {
                target: Target {
                    resource: kind.clone(),
                    namespace: Some(facts.name.to_owned()),
                    name: object.name.clone(),
                },
                action: Action::Delete {
                    uid: object.uid.clone(),
                    resource_version: None,
                    why: why(facts),
                },
                reconciler: NAME,
                events: Vec::new(),
            });
        }
        look_again(facts, now, plan);
        return Collected::No(left(kind, objects));
    }
    Collected::Yes
}

/// Returns true if the cluster's namespace is to be cleaned up. Without the cluster's label, nothing in it is ours.
fn is_collected(facts: &ClusterFacts<'_>) -> bool {
    if !facts.config.gates.resource_cleanup || facts.owned.namespace.is_none() {
        return false;
    }
    match facts.cluster {
        Some(cluster) => {
            let is_done = cluster
                .condition(DELETING)
                .is_some_and(|condition| condition.status == conditions::TRUE);
            cluster.deleting && (cluster.has_finalizer(labels::RESOURCE_CLEANUP) || !is_done)
        }
        None => facts.was_there && has_permissions(facts.owned),
    }
}

/// The reason for a deletion, for the log.
fn why(facts: &ClusterFacts<'_>) -> &'static str {
    match facts.cluster {
        None => "the ManagedCluster is gone",
        Some(cluster) if cluster.deleting => "the ManagedCluster is being deleted",
        Some(_) => "the ManagedCluster is denied",
    }
}

fn answer<'a>(facts: &ClusterFacts<'a>, kind: &GroupVersionResource) -> Option<&'a Remaining> {
    facts
        .remaining?
        .iter()
        .find(|remaining| remaining.resource == *kind)
}

/// The priority of a deletion, from 0 to 100: objects with a low one are deleted first. 0 without a valid annotation.
pub fn priority(object: &RemainingObject) -> u8 {
    object
        .cleanup_priority
        .as_deref()
        .and_then(|value| value.parse().ok())
        .filter(|priority| *priority <= 100)
        .unwrap_or(0)
}

fn manifest_works() -> GroupVersionResource {
    GroupVersionResource {
        group: "work.open-cluster-management.io".to_owned(),
        version: "v1".to_owned(),
        resource: "manifestworks".to_owned(),
    }
}

fn look_again(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let stays = facts
        .cluster
        .is_some_and(|cluster| !cluster.deleting && cluster.accepted);
    let after = if facts.cluster.is_none() || stays {
        SELDOM
    } else {
        AGAIN
    };
    if let Some(at) = Instant::checked_add(&now.instant, after) {
        plan.look_again(at);
    }
}

/// OCM's words, with its spelling: scripts match on them.
fn left(kind: &GroupVersionResource, objects: &[RemainingObject]) -> Wanted<'static> {
    let pending = objects.iter().filter(|object| object.deleting).count();
    Wanted {
        type_: DELETING,
        status: conditions::FALSE,
        reason: conditions::cluster::RESOURCE_REMAINING,
        message: format!(
            "The resource {} is remaning, the remaining count is {}, the finalizer pending count is {pending}",
            kind.resource,
            objects.len()
        ),
    }
}

fn failed(message: String) -> Wanted<'static> {
    Wanted {
        type_: DELETING,
        status: conditions::FALSE,
        reason: conditions::cluster::DELETING_ERROR,
        message,
    }
}

fn nothing_left() -> Wanted<'static> {
    Wanted {
        type_: DELETING,
        status: conditions::TRUE,
        reason: conditions::cluster::NO_RESOURCE,
        message: "No cleaned resource in cluster ns.".to_owned(),
    }
}

fn set(facts: &ClusterFacts<'_>, wanted: Wanted<'_>, now: Now, plan: &mut ClusterPlan) {
    let name = facts.name;
    let event = match wanted.reason {
        conditions::cluster::NO_RESOURCE => Some(Event {
            warning: false,
            reason: "ResourceCleanupCompleted",
            note: format!("resources in cluster {name} are cleaned up"),
            namespace: None,
        }),
        conditions::cluster::DELETING_ERROR => Some(Event {
            warning: true,
            reason: "ResourceCleanupFail",
            note: format!(
                "failed to cleanup resources in cluster {name}:{}",
                wanted.message
            ),
            namespace: None,
        }),
        _ => None,
    };
    status::set(
        facts,
        wanted,
        &OWNER,
        event.into_iter().collect(),
        now,
        plan,
    );
}
