//! The RBAC objects of a cluster: how a denial and a removal delete them.

use berth_api::plan::{Action, Write};
use serde_json::json;

use super::{Works, look_again, why, works};
use crate::acceptance;
use crate::cluster_plan::ClusterPlan;
use crate::facts::{ClusterFacts, Now, Owned, OwnedObjects};
use crate::roles::{self, ClusterObject};

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
    let owned = facts.owned;
    for (there, object) in [
        (
            &owned.cluster_role,
            ClusterObject::ClusterRole { accepted: true },
        ),
        (
            &owned.cluster_role_binding,
            ClusterObject::ClusterRoleBinding,
        ),
    ] {
        if let Some(there) = there
            && !there.deleting
        {
            let target = object.target(facts.name);
            plan.writes
                .push(roles::delete(target, &there.uid, reconciler, why(facts)));
        }
    }
}

/// Returns true if both role bindings are gone, or kept only by finalizers of others.
pub(crate) fn bindings_are_gone(owned: &OwnedObjects) -> bool {
    is_gone(owned.registration_binding.as_ref()) && is_gone(owned.work_binding.as_ref())
}

/// Deletes the two role bindings. The binding of the work agent keeps its finalizer while ManifestWorks are left, or while
/// `held`, unless the cluster is denied now ([`berth_api::labels::DENY_NOW`]).
pub(crate) fn take_back_bindings(
    facts: &ClusterFacts<'_>,
    reconciler: &'static str,
    held: bool,
    now: Now,
    plan: &mut ClusterPlan,
) {
    let owned = facts.owned;
    for (there, object) in [
        (
            &owned.registration_binding,
            ClusterObject::RegistrationBinding,
        ),
        (&owned.work_binding, ClusterObject::WorkBinding),
    ] {
        let Some(there) = there.as_ref().filter(|there| !there.deleting) else {
            continue;
        };
        let is_work = object == ClusterObject::WorkBinding;
        if is_work && there.work_finalizer && is_denied_now(facts) {
            // The finalizer first: then the deletion takes effect at once, even if the annotation is removed.
            plan.writes
                .push(without_work_finalizer(facts, there, reconciler));
        } else {
            let target = object.target(facts.name);
            plan.writes
                .push(roles::delete(target, &there.uid, reconciler, why(facts)));
        }
    }
    if !held {
        release_work_binding(facts, reconciler, now, plan);
    }
}

/// Removes our finalizer from a work binding that is being deleted, if no ManifestWorks are left or the cluster is denied
/// now.
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
        // It gives permissions to all agents: do not wait for the work of one cluster.
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

/// Returns true if the agent may not even remove its work.
pub(super) fn is_denied_now(facts: &ClusterFacts<'_>) -> bool {
    facts.cluster.is_some_and(|cluster| cluster.denied_now)
}

/// The write that removes our finalizer from the work binding.
pub(crate) fn without_work_finalizer(
    facts: &ClusterFacts<'_>,
    binding: &Owned,
    reconciler: &'static str,
) -> Write {
    let others = &binding.other_finalizers;
    let finalizers = (!others.is_empty()).then_some(others);
    Write {
        target: ClusterObject::WorkBinding.target(facts.name),
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

pub(super) fn has_permissions(owned: &OwnedObjects) -> bool {
    [
        &owned.cluster_role,
        &owned.cluster_role_binding,
        &owned.registration_binding,
        &owned.work_binding,
    ]
    .into_iter()
    .any(|there| !is_gone(there.as_ref()))
}

/// Returns true if the object is gone, or kept only by finalizers of others, which we do not wait for.
pub(super) fn is_gone(there: Option<&Owned>) -> bool {
    there.is_none_or(|there| there.deleting && !there.work_finalizer)
}
