//! Acceptance (`spec.hubAcceptsClient`): what an accepted cluster gets, and what a denied one loses.
//!
//! Follows OCM's ManagedClusterController, but writes in an order of its own: namespace and finalizer, then the role and the
//! role bindings, then the role's binding, then the condition. So the condition is true only when everything exists, and no
//! write fails because another one of ours is missing. (An API server looks up a role before it accepts a binding to it.)
//!
//! # Guarantees
//! - A cluster gets nothing if its name is reserved or its namespace belongs to another owner. Its condition says why.
//! - The agent of a denied cluster keeps the permission to work until the last ManifestWork is gone, and loses all other
//!   permissions at once, however far the acceptance had got. With [`labels::DENY_NOW`] it loses that permission at once, too.
//! - The hub accepts a cluster automatically at most once: a later denial stands.

mod obstacle;
#[cfg(test)]
mod tests;

pub(crate) use obstacle::{is_all_agents, obstacle, refusal};

use std::time::Duration;

use berth_api::reserved::Reservation;
use berth_api::{conditions, labels};
use jiff::Timestamp;

use self::obstacle::RENAME;
use crate::automatic;
use crate::cluster_plan::ClusterPlan;
use crate::facts::{Cluster, ClusterFacts, Now, Owned};
use crate::failures::{is_told_after, is_transient};
use crate::names::{self, managers};
use crate::removal::{self, Works};
use crate::roles::{self, ClusterObject};
use crate::status::{self, Owner, Wanted};
use berth_api::plan::{Action, Event, Write, WriteFailure};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "acceptance";

const OWNER: Owner = Owner {
    manager: managers::ACCEPTANCE,
    reconciler: NAME,
};

/// The condition's message for a denied cluster. While its agent removes its work, the message only begins so.
const DENIED: &str = "Denied by hub cluster admin";

const HUB_ACCEPTED: &str = conditions::cluster::HUB_ACCEPTED;

/// The condition's message for an accepted cluster.
const ACCEPTED: &str = "Accepted by hub cluster admin";

/// Plans the writes for a cluster that is not being deleted.
pub fn decide(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let Some(cluster) = facts.cluster.filter(|cluster| !cluster.deleting) else {
        return;
    };
    if accept_automatically(facts, cluster, now, plan) {
        return;
    }
    let before = plan.writes.len();
    if cluster.accepted {
        provide(facts, cluster, now, plan);
    } else {
        deny(facts, cluster, now, plan);
    }
    // Permissions come first: while the role exists, it records the denial.
    let has_role = facts.owned.cluster_role.is_some() || facts.owned.cluster_role_binding.is_some();
    if !has_role || plan.writes.len() == before {
        automatic::remember(facts, cluster, now, plan);
    }
}

/// Reports the failed writes of the last plan in the condition `HubAcceptedManagedCluster`.
///
/// A failure that may pass by itself is reported when it has lasted (`lasted`: how long this cluster's writes have failed in
/// a row), but not for a cluster that was accepted before: its agent would stop because of the condition.
pub fn report(
    facts: &ClusterFacts<'_>,
    failures: &[WriteFailure],
    lasted: Duration,
    now: Now,
    plan: &mut ClusterPlan,
) {
    let Some(cluster) = facts.cluster else {
        return;
    };
    if cluster.deleting || !cluster.accepted || obstacle(facts).is_some() {
        return;
    }
    let was_accepted = cluster.condition_status(HUB_ACCEPTED) == Some(conditions::TRUE);
    let told: Vec<&WriteFailure> = failures
        .iter()
        .filter(|failure| failure.reconciler == NAME && is_told_after(failure, lasted))
        .filter(|failure| !was_accepted || !is_transient(failure))
        .collect();
    if !told.is_empty() {
        let message = status::describe(&told);
        set(
            facts,
            conditions::FALSE,
            conditions::cluster::ERROR,
            message,
            Vec::new(),
            now,
            plan,
        );
    }
    // The role of a binding cannot be changed: delete the binding, so that it is created again.
    for failure in told {
        if failure.code == 422 && failure.message.contains("roleRef") {
            let own = [
                (
                    ClusterObject::ClusterRoleBinding,
                    &facts.owned.cluster_role_binding,
                ),
                (
                    ClusterObject::RegistrationBinding,
                    &facts.owned.registration_binding,
                ),
                (ClusterObject::WorkBinding, &facts.owned.work_binding),
            ];
            for (object, there) in own {
                let target = object.target(facts.name);
                if let Some(there) = there
                    && !there.deleting
                    && target == failure.target
                {
                    let why =
                        "it refers to another role, which cannot be changed: it is created again";
                    plan.writes
                        .push(roles::delete(target, &there.uid, NAME, why));
                }
            }
        }
    }
}

/// OCM's ManagedClusterAutoApproval, but only for requests of listed users ([`automatic`]). Returns true if something is to be
/// written.
///
/// The annotation makes a later denial final. So a cluster that an admin accepted gets it, too.
fn accept_automatically(
    facts: &ClusterFacts<'_>,
    cluster: &Cluster,
    now: Now,
    plan: &mut ClusterPlan,
) -> bool {
    if !facts.config.gates.auto_approval || cluster.auto_accepted_on.is_some() {
        return false;
    }
    if !cluster.accepted && !automatic::may_accept(facts, plan) {
        return !plan.writes.is_empty();
    }
    plan.changes
        .annotations
        .insert(labels::AUTO_ACCEPTED_ON.to_owned(), written(now));
    plan.changes.accept |= !cluster.accepted;
    !cluster.accepted
}

/// The current time, to the second, in the format of Kubernetes.
pub(crate) fn written(now: Now) -> String {
    let time = Timestamp::from_second(now.wall.as_second()).unwrap_or(now.wall);
    time.to_string()
}

/// Gives an accepted cluster what it needs.
fn provide(facts: &ClusterFacts<'_>, cluster: &Cluster, now: Now, plan: &mut ClusterPlan) {
    let ClusterFacts {
        config,
        name,
        owned,
        ..
    } = *facts;
    if let Some(message) = obstacle(facts) {
        if is_all_agents(facts) {
            removal::take_back(facts, NAME, false, now, plan);
        }
        // The finalizer of the work binding would keep the namespace.
        if refusal(facts).is_none() {
            removal::release_work_binding(facts, NAME, now, plan);
        }
        set(
            facts,
            conditions::FALSE,
            conditions::cluster::ERROR,
            message,
            Vec::new(),
            now,
            plan,
        );
        return;
    }
    if config.reservation(name) == Some(Reservation::SharedRole) {
        // Its ClusterRole has the name of one that all agents share, which is not written for one cluster.
        accepted(facts, now, plan);
        return;
    }
    let has_finalizer = cluster.has_finalizer(labels::API_RESOURCE_CLEANUP);
    if !has_finalizer {
        plan.changes
            .add_finalizers
            .push(labels::API_RESOURCE_CLEANUP);
    }
    let mut ready = has_finalizer;
    let namespace = ClusterObject::Namespace;
    if !is_right(facts, owned.namespace.as_ref(), namespace) {
        ready = false;
        let body = namespace.body(config, name);
        plan.writes.push(Write {
            target: namespace.target(name),
            action: Action::CreateOrUpdate { body },
            reconciler: NAME,
            events: Vec::new(),
        });
    }
    if !has_finalizer || owned.namespace.is_none() {
        return;
    }
    let mut waits_for = Vec::new();
    let rbac = [
        (
            &owned.cluster_role,
            ClusterObject::ClusterRole { accepted: true },
        ),
        (
            &owned.cluster_role_binding,
            ClusterObject::ClusterRoleBinding,
        ),
        (
            &owned.registration_binding,
            ClusterObject::RegistrationBinding,
        ),
        (&owned.work_binding, ClusterObject::WorkBinding),
    ]
    .map(|(there, object)| (there, object, is_right(facts, there.as_ref(), object)));
    let (.., has_cluster_role) = rbac[0];
    for (there, object, right) in rbac {
        let is_work = object == ClusterObject::WorkBinding;
        let has_role = match object {
            ClusterObject::Namespace | ClusterObject::ClusterRole { .. } => true,
            ClusterObject::ClusterRoleBinding => has_cluster_role,
            ClusterObject::RegistrationBinding | ClusterObject::WorkBinding => facts.common_roles,
        };
        match there {
            Some(there) if there.deleting && there.work_finalizer => {
                // A binding that a denial deleted, before the denial was taken back. A correct one still works: it is
                // released when no ManifestWork is left. A wrong one is released at once.
                if !right || matches!(removal::works(facts), Works::Left(0)) {
                    plan.writes
                        .push(removal::without_work_finalizer(facts, there, NAME));
                    ready = false;
                }
            }
            Some(there) if there.deleting => {
                ready = false;
                let target = object.target(name);
                waits_for.push(format!("{} {:?}", target.resource.resource, target.name));
            }
            Some(there) if right && (there.work_finalizer || !is_work) => {}
            _ if !has_role => ready = false,
            _ => {
                ready = false;
                let body = object.body(config, name);
                plan.writes
                    .push(roles::apply(body, managers::ACCEPTANCE, NAME));
            }
        }
    }
    if ready {
        accepted(facts, now, plan);
        return;
    }
    // Report only what the controller itself cannot change, and only for a cluster that has not been accepted before.
    if !plan.writes.is_empty() || cluster.condition_status(HUB_ACCEPTED) == Some(conditions::TRUE) {
        return;
    }
    let message = if !waits_for.is_empty() {
        Some(format!(
            "Waits for the deletion of objects that will be created again: {}",
            waits_for.join(", ")
        ))
    } else {
        let why = facts.common_roles_failure.filter(|_| !facts.common_roles);
        why.map(|why| {
            format!(
                "Waits for the ClusterRoles that all agents share: {why}; if they cannot be granted here: kubectl apply -f \
                 {}",
                names::AGENT_ROLES_MANIFEST
            )
        })
    };
    if let Some(message) = message {
        set(
            facts,
            conditions::FALSE,
            conditions::cluster::ERROR,
            message,
            Vec::new(),
            now,
            plan,
        );
    }
}

/// Reports that the cluster has what it needs, with a warning if its name is reserved.
fn accepted(facts: &ClusterFacts<'_>, now: Now, plan: &mut ClusterPlan) {
    let name = facts.name;
    let reservation = facts.config.reservation(name);
    let kept = reservation.filter(Reservation::is_exact);
    let (message, event) = match kept {
        None => {
            let event = Event {
                warning: false,
                reason: "ManagedClusterAccepted",
                note: format!("managed cluster {name} is accepted by hub cluster admin"),
                namespace: None,
            };
            (ACCEPTED.to_owned(), event)
        }
        Some(reservation) => {
            let warning = format!(
                "the name {name:?} {reservation}; the cluster stays accepted, because it was accepted before; to be safe, {RENAME}"
            );
            let event = Event {
                warning: true,
                reason: "ManagedClusterNameReserved",
                note: warning.clone(),
                namespace: None,
            };
            (format!("{ACCEPTED}. Warning: {warning}"), event)
        }
    };
    set(
        facts,
        conditions::TRUE,
        conditions::cluster::HUB_CLUSTER_ADMIN_ACCEPTED,
        message,
        vec![event],
        now,
        plan,
    );
}

/// Takes from a cluster what its acceptance gave it.
fn deny(facts: &ClusterFacts<'_>, cluster: &Cluster, now: Now, plan: &mut ClusterPlan) {
    let ClusterFacts {
        config,
        name,
        owned,
        ..
    } = *facts;
    let condition = cluster.condition(HUB_ACCEPTED);
    let is_accepted = condition.is_some_and(|condition| condition.status == conditions::TRUE);
    // A denial keeps these two, so that a restarted process knows about it.
    let has_role = owned.cluster_role.is_some() || owned.cluster_role_binding.is_some();
    let before = plan.writes.len();
    if matches!(
        config.reservation(name),
        Some(Reservation::AllAgents | Reservation::SharedRole)
    ) {
        // OCM accepts such a name. Delete what OCM created for the cluster; write nothing to the shared roles.
        removal::take_back_roles(facts, NAME, plan);
    } else if is_accepted || has_role {
        // A cluster that was never accepted has no permissions, and gets none.
        let role = ClusterObject::ClusterRole { accepted: false };
        let binding = ClusterObject::ClusterRoleBinding;
        // Also if it is being deleted: it grants its rules until its last finalizer is removed.
        let mut make = |object: ClusterObject| {
            let body = object.body(config, name);
            plan.writes
                .push(roles::apply(body, managers::ACCEPTANCE, NAME));
        };
        if !is_right(facts, owned.cluster_role.as_ref(), role) {
            make(role);
        } else if !is_right(facts, owned.cluster_role_binding.as_ref(), binding) {
            make(binding);
        }
    }
    removal::take_back_bindings(facts, NAME, false, now, plan);
    if plan.writes.len() > before {
        return;
    }
    // One Event for each denial: with the first condition that reports it.
    let told = condition.is_some_and(|condition| condition.message.starts_with(DENIED));
    let event = Event {
        warning: false,
        reason: "ManagedClusterDenied",
        note: format!("managed cluster {name} is denied by hub cluster admin"),
        namespace: None,
    };
    let events = if told { Vec::new() } else { vec![event] };
    if !removal::bindings_are_gone(owned) {
        // Agents and scripts read the status: it stays True while the agent still has work to remove.
        let waits_for = match removal::works(facts) {
            Works::NotAsked | Works::Left(0) => return,
            Works::Left(1) => "1 ManifestWork is left".to_owned(),
            Works::Left(count) => format!("{count} ManifestWorks are left"),
            Works::Unknown(why) => format!("ManifestWorks cannot be listed ({why})"),
        };
        if let Some(condition) = condition.filter(|_| is_accepted) {
            let message = format!(
                "{DENIED}; takes effect when the cluster's agent has removed its work: {waits_for} \
                 in namespace {name:?}"
            );
            set(
                facts,
                conditions::TRUE,
                &condition.reason,
                message,
                events,
                now,
                plan,
            );
        }
        return;
    }
    if condition.is_some() || has_role {
        let reason = conditions::cluster::HUB_CLUSTER_ADMIN_DENIED;
        set(
            facts,
            conditions::FALSE,
            reason,
            DENIED.to_owned(),
            events,
            now,
            plan,
        );
    }
}

fn is_right(facts: &ClusterFacts<'_>, there: Option<&Owned>, object: ClusterObject) -> bool {
    there.is_some_and(|there| there.fingerprint == object.fingerprint(facts.config, facts.name))
}

fn set(
    facts: &ClusterFacts<'_>,
    status: &str,
    reason: &str,
    message: String,
    events: Vec<Event>,
    now: Now,
    plan: &mut ClusterPlan,
) {
    let wanted = Wanted {
        type_: HUB_ACCEPTED,
        status,
        reason,
        message,
    };
    status::set(facts, wanted, &OWNER, events, now, plan);
}
