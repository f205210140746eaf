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

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use berth_api::reserved::Reservation;
use berth_api::{conditions, labels};
use serde_json::json;

use crate::acceptance;
use crate::cluster_plan::ClusterPlan;
use crate::facts::{Cluster, ClusterFacts, Now, Owned, OwnedObjects, Remaining, RemainingObject};
use crate::failures::is_told_after;
use crate::names::managers;
use crate::roles;
use crate::status::{self, Owner, Wanted};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Event, Target, Write, WriteFailure};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "removal";

const OWNER: Owner = Owner {
    manager: managers::REMOVAL,
    reconciler: NAME,
};

/// When to look whether something has gone that is not watched.
const AGAIN: Duration = Duration::from_secs(2);
/// The same for what may never go: it waits for an agent whose cluster is gone, or for a namespace.
const SELDOM: Duration = Duration::from_secs(30);

/// So many objects are deleted at once. The next ones follow when the hub has taken these.
const AT_ONCE: usize = 500;

const DELETING: &str = conditions::cluster::DELETING;

/// How many ManifestWorks are left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Works<'a> {
    NotAsked,
    Left(usize),
    Unknown(&'a str),
}

/// How far the clean-up of the namespace is.
#[derive(PartialEq)]
enum Collected {
    /// Not all answers are there.
    NotAsked,
    /// Something is left, or it is unknown whether something is.
    No(Wanted<'static>),
    Yes,
}

/// What must be listed in the cluster's namespace before anything can be decided: the answers become
/// [`ClusterFacts::remaining`], in this order. Empty for a cluster that stays, unless its work binding is being deleted.
///
/// An answer is good for one decision: after the writes that it led to, the hub must be asked again.
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

/// What is due: the finalizer of a cluster that is there; the removal of one that is deleted or gone.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let gate = facts.config.gates.resource_cleanup;
    match facts.cluster {
        Some(cluster) if cluster.deleting => remove(facts, cluster, now, plan),
        Some(cluster) if gate && !cluster.has_finalizer(labels::RESOURCE_CLEANUP) => {
            plan.changes.add_finalizers.push(labels::RESOURCE_CLEANUP);
        }
        // Of a cluster that is gone only the names are left to go by: in a reserved namespace they are others'.
        None if has_permissions(facts.owned)
            && facts.config.reservation(facts.name) != Some(Reservation::Namespace) =>
        {
            let collected = collect(facts, now, plan);
            // The work binding is what remembers, after a restart, that something is left to be done.
            take_back(facts, NAME, collected != Collected::Yes, now, plan);
        }
        _ => {}
    }
}

/// Tells, by the condition `Deleting`, what of the last plan's writes failed.
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

/// Whether nothing of the two role bindings is left that we could still wait for.
pub(crate) fn bindings_are_gone(owned: &OwnedObjects) -> bool {
    is_gone(owned.registration_binding.as_ref()) && is_gone(owned.work_binding.as_ref())
}

/// Deletes the two role bindings; that of the work agent keeps its finalizer while there are ManifestWorks, or while
/// `held`, unless the cluster is denied now.
pub(crate) fn take_back_bindings(
    facts: &ClusterFacts<'_>,
    reconciler: &'static str,
    held: bool,
    now: Now,
    plan: &mut ClusterPlan,
) {
    let ClusterFacts {
        config,
        name,
        owned,
        ..
    } = *facts;
    for (there, body) in [
        (
            &owned.registration_binding,
            roles::registration_binding(config, name),
        ),
        (&owned.work_binding, roles::work_binding(config, name)),
    ] {
        let Some(there) = there.as_ref().filter(|there| !there.deleting) else {
            continue;
        };
        let is_work = body["metadata"]["finalizers"].is_array();
        if is_work && there.work_finalizer && is_denied_now(facts) {
            // The finalizer first: from here on the binding goes at once, whatever becomes of the annotation.
            plan.writes
                .push(without_work_finalizer(facts, there, reconciler));
        } else {
            plan.writes
                .push(roles::delete(&body, &there.uid, reconciler, why(facts)));
        }
    }
    if !held {
        release_work_binding(facts, reconciler, now, plan);
    }
}

/// Lets the work binding go if it is being deleted, and no ManifestWorks are left or the cluster is denied now.
pub(crate) fn release_work_binding(
    facts: &ClusterFacts<'_>,
    reconciler: &'static str,
    now: Now,
    plan: &mut ClusterPlan,
) {
    let Some(binding) = &facts.owned.work_binding else {
        return;
    };
    if !binding.deleting || !binding.work_finalizer {
        return;
    }
    if acceptance::is_all_agents(facts) {
        // It gives rights to all agents: no work of one cluster is worth the wait.
        plan.writes
            .push(without_work_finalizer(facts, binding, reconciler));
        return;
    }
    match works(facts) {
        _ if is_denied_now(facts) => plan
            .writes
            .push(without_work_finalizer(facts, binding, reconciler)),
        Works::NotAsked => {}
        Works::Left(0) => plan
            .writes
            .push(without_work_finalizer(facts, binding, reconciler)),
        Works::Left(_) | Works::Unknown(_) => look_again(facts, now, plan),
    }
}

/// Whether the agent may not even take down its work.
fn is_denied_now(facts: &ClusterFacts<'_>) -> bool {
    facts.cluster.is_some_and(|cluster| cluster.denied_now)
}

/// The write that takes our finalizer from the work binding.
pub(crate) fn without_work_finalizer(
    facts: &ClusterFacts<'_>,
    binding: &Owned,
    reconciler: &'static str,
) -> Write {
    let others = &binding.other_finalizers;
    let finalizers = (!others.is_empty()).then_some(others);
    Write {
        target: roles::target(&roles::work_binding(facts.config, facts.name)),
        action: Action::Patch {
            subresource: None,
            body: json!({
                "metadata": {
                    "uid": binding.uid,
                    "resourceVersion": binding.resource_version,
                    "finalizers": finalizers,
                },
            }),
        },
        reconciler,
        events: Vec::new(),
    }
}

/// How many ManifestWorks are left in the cluster's namespace.
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
    // What failed stays told until it succeeds: while there is something to be deleted, nobody knows whether it can be.
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
        // After the finalizers there may be no object to tell anything by. One that takes nothing more is told nothing.
        if plan.writes.len() > writes && !facts.full {
            return;
        }
    }
    // Either finalizer alone can be what holds the cluster: one that was deleted while the gate was off has only the
    // other. Gone too early, it would leave the rest of its namespace to nobody.
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

/// Deletes the RBAC objects of a cluster.
pub(crate) fn take_back(
    facts: &ClusterFacts<'_>,
    reconciler: &'static str,
    held: bool,
    now: Now,
    plan: &mut ClusterPlan,
) {
    take_back_roles(facts, reconciler, plan);
    take_back_bindings(facts, reconciler, held, now, plan);
}

/// Deletes the cluster's ClusterRole and ClusterRoleBinding.
pub(crate) fn take_back_roles(
    facts: &ClusterFacts<'_>,
    reconciler: &'static str,
    plan: &mut ClusterPlan,
) {
    let ClusterFacts {
        config,
        name,
        owned,
        ..
    } = *facts;
    for (there, body) in [
        (&owned.cluster_role, roles::cluster_role(config, name, true)),
        (
            &owned.cluster_role_binding,
            roles::cluster_role_binding(config, name),
        ),
    ] {
        if let Some(there) = there
            && !there.deleting
        {
            plan.writes
                .push(roles::delete(&body, &there.uid, reconciler, why(facts)));
        }
    }
}

/// Deletes, of the first kind of which something is left, the objects whose turn it is.
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

/// Whether the cluster's namespace is to be cleaned up. If it does not bear the cluster's label, nothing in it is ours.
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

/// Why something of the cluster is deleted.
fn why(facts: &ClusterFacts<'_>) -> &'static str {
    match facts.cluster {
        None => "there is no such ManagedCluster any more",
        Some(cluster) if cluster.deleting => "the ManagedCluster is being deleted",
        Some(_) => "the ManagedCluster is denied",
    }
}

fn has_permissions(owned: &OwnedObjects) -> bool {
    [
        &owned.cluster_role,
        &owned.cluster_role_binding,
        &owned.registration_binding,
        &owned.work_binding,
    ]
    .into_iter()
    .any(|there| !is_gone(there.as_ref()))
}

/// Gone, or kept only by finalizers that are not ours: we do not wait for those.
fn is_gone(there: Option<&Owned>) -> bool {
    there.is_none_or(|there| there.deleting && !there.work_finalizer)
}

fn answer<'a>(facts: &ClusterFacts<'a>, kind: &GroupVersionResource) -> Option<&'a Remaining> {
    facts
        .remaining?
        .iter()
        .find(|remaining| remaining.resource == *kind)
}

/// When its turn is: low ones go first.
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
